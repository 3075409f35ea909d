/* Sorting and top-k of contiguous rows. */
#ifndef GA_C_SORT_TASK_H
#define GA_C_SORT_TASK_H

#include "c/array/array.h"
#include "c/sort/sort_source.h"

/* A buffer and byte offset; NULL: none. */
typedef struct ga_sort_place {
  gpudata *data;
  size_t offset;
} ga_sort_place;

/* A sort. Outputs may be missing, as may the values. */
typedef struct ga_sort_task {
  gpucontext *context;
  int typecode;
  size_t rows, n;
  bool descending;
  unsigned int key_bits; /* significant low bits of unsigned keys, 0: all; a hint, fewer
                            passes */
  ga_sort_place keys, out_keys;
  int value_size; /* bytes of a value; 0: none */
  ga_sort_place values, out_values;
  ga_sort_place out_indices; /* argsort, GA_LONG; excludes values */
  ga_sort_place out_upper;   /* upper halves of values of 8 bytes; `out_values` are the
                                lower ones, then: only if sweeps serve */
  ga_sort_place upper;       /* the same of the values that are sorted, if there are two
                                digits or more */
} ga_sort_task;

/* Sorts rows of at least one element. Keys of more than one byte may be sorted in
 * place; outputs overlap nothing else. */
int ga__sort_rows(const ga_sort_task *task);

/* True if a sort of many keys is made by sweeps. */
static inline bool ga__sweeps_serve(const ga_sort_task *t) {
  return t->context->info.has_progress && t->n > ga__sort_room(t->typecode);
}

/* The same for the indices of unsigned 64-bit keys, hardly two of which have equal
 * upper halves: others take longer. */
int ga__sort_random_keys(const ga_sort_task *task);

/* True if radix select beats a full sort for the first `k`. */
bool ga__select_serves(const ga_sort_task *task, size_t k);
/* Top-k of each of `rows` rows of `n`, sorted; only if select serves. `out_keys` or
 * `out_indices` may be missing. */
int ga__select_rows(const ga_sort_task *task, size_t k);

/* Maximum length of the sorted axis. */
#define GA_SORT_LONGEST (((size_t)1 << 32) - ((size_t)1 << 20))

#endif
