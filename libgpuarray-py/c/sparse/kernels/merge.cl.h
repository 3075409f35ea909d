/* Elementwise operations of two sorted matrices, by the scanned matches of the first
 * one's places: SP_FORM 0 their sum, alpha a + beta b, 1 their product. A value goes
 * behind those of its matrix before it, and behind those of the other one before its
 * place that it has not met. */
#include "merge_words.cl.h"

#define SP_READ(type, p)                                                               \
  p = (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)p + p##_off)

#define SP_PARAMETERS                                                                  \
  GLOBAL_MEM SP_VALUE *out, ga_size out_off, GLOBAL_MEM SP_INDEX *out_indices,         \
      ga_size out_indices_off, GLOBAL_MEM SP_INDEX *out_indptr,                        \
      ga_size out_indptr_off, GLOBAL_MEM const SP_INDEX *matches, ga_size matches_off, \
      GLOBAL_MEM const SP_VALUE *a, ga_size a_off, GLOBAL_MEM const SP_INDEX *a_rows,  \
      ga_size a_rows_off, GLOBAL_MEM const SP_INDEX *a_indices, ga_size a_indices_off, \
      GLOBAL_MEM const SP_INDEX *a_indptr, ga_size a_indptr_off,                       \
      GLOBAL_MEM const SP_VALUE *b, ga_size b_off, GLOBAL_MEM const SP_INDEX *b_rows,  \
      ga_size b_rows_off, GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off, \
      GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off, ga_ulong rows,        \
      ga_ulong an, ga_ulong bn, ga_ulong room, SP_REAL alpha, SP_REAL alpha_im,        \
      SP_REAL beta, SP_REAL beta_im

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  out_indices =
      (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indices + out_indices_off);
  out_indptr = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indptr + out_indptr_off);
  SP_READ(SP_INDEX, matches);
  SP_READ(SP_VALUE, a);
  SP_READ(SP_INDEX, a_rows);
  SP_READ(SP_INDEX, a_indices);
  SP_READ(SP_INDEX, a_indptr);
  SP_READ(SP_VALUE, b);
  SP_READ(SP_INDEX, b_rows);
  SP_READ(SP_INDEX, b_indices);
  SP_READ(SP_INDEX, b_indptr);
  SP_WALK(other, stop);
  (void)other_row;
  SP_EACH(k, an) {
    const SP_INDEX column = a_indices[k];
    const ga_int meets = matches[k + 1] != matches[k];
#if SP_FORM
    const ga_ulong place = (ga_ulong)matches[k];
    if (meets && place < room) {
      SP_SEARCH(other, stop, b_indptr, b_indices, bn, a_rows[k], column)
      if (other < stop) {
        out[place] = SP_STORE(SP_MUL(SP_LOAD(a[k]), SP_LOAD(b[other])));
        out_indices[place] = column;
      }
    }
#else
    SP_SEARCH(other, stop, b_indptr, b_indices, bn, a_rows[k], column)
    const ga_ulong place = k + other - (ga_ulong)matches[k];
    SP_WORK sum = SP_MUL(SP_NUMBER(alpha, alpha_im), SP_LOAD(a[k]));
    if (meets && other < stop)
      sum = SP_ADD(sum, SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(b[other])));
    if (place < room) {
      out[place] = SP_STORE(sum);
      out_indices[place] = column;
    }
#endif
  }
#if !SP_FORM
  other_row = ~(ga_ulong)0;
  SP_EACH(k, bn) {
    const SP_INDEX column = b_indices[k];
    SP_SEARCH(other, stop, a_indptr, a_indices, an, b_rows[k], column)
    const ga_ulong place = k + other - (ga_ulong)matches[other];
    if ((other < stop && a_indices[other] == column) || place >= room)
      continue;
    out[place] = SP_STORE(SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(b[k])));
    out_indices[place] = column;
  }
#endif
  SP_EACH(row, rows + 1) {
    const ga_ulong from = (ga_ulong)a_indptr[row], at = from < an ? from : an;
#if SP_FORM
    out_indptr[row] = matches[at];
#else
    out_indptr[row] = (SP_INDEX)(at + (ga_ulong)b_indptr[row]) - matches[at];
#endif
  }
}
