/* GpuArray_add_at: scatter-add, duplicate indices accumulate.
 *
 * 32 and 64-bit integers use atomics, which are exact in any order; so do floats if the
 * caller allows any order; everything else is deterministic
 * (scatter_deterministic.c). */
#include <string.h>

#include "c/index/index_walk.h"

static bool has_atomics(int typecode, bool any_order) {
  const bool is_exact = typecode == GA_INT || typecode == GA_UINT ||
                        typecode == GA_LONG || typecode == GA_ULONG;
  return is_exact || (any_order && (typecode == GA_FLOAT || typecode == GA_DOUBLE));
}

static int add_atomically(const GpuArray *a, const ga_indices *ix, const GpuArray *v) {
  ga_index_walk w;
  GA_TRY(ga__index_begin_write(&w, a, ix, v, GA_INDEX_ADD));
  return ga__index_run(&w);
}

static int check_add(const GpuArray *a, const GpuArray *v, const ga_indices *ix) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__index_check_target(a, v, "add_at"));
  GA_TRY(ga__index_check_mode(ix->mode, "add_at"));
  if (!GpuArray_ISALIGNED(a) || !GpuArray_ISALIGNED(v))
    return GA_FAIL(GA_UNALIGNED_ERROR,
                   "add_at: %s is not aligned to its type; copy it first "
                   "(GpuArray_copy)",
                   ga__array_text(text, GpuArray_ISALIGNED(a) ? v : a));
  ga_index_walk w; /* fail before anything is copied */
  return ga__index_begin_write(&w, a, ix, v, GA_INDEX_ADD);
}

int GpuArray_add_at(GpuArray *a, unsigned int n, const GpuArray *const *indices,
                    unsigned int first_axis, const GpuArray *v, int mode) {
  const bool any_order = (mode & GA_ADD_AT_ANY_ORDER) != 0;
  ga_indices ix = {n, first_axis, indices, mode & ~GA_ADD_AT_ANY_ORDER, "add_at"};
  GA_TRY(check_add(a, v, &ix));
  ga_index_copies copies;
  int status = ga__index_part(&copies, &ix, a, v);
  GA_THEN(status, has_atomics(a->typecode, any_order)
                      ? add_atomically(a, &ix, copies.values)
                      : ga__index_add_in_order(a, &ix, copies.values));
  ga__index_copies_clear(&copies);
  return status;
}
