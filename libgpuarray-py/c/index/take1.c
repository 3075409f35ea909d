/* GpuArray_take1: libgpuarray 0.7's take along the first axis, into an existing
 * array. */
#include <string.h>

#include "c/index/index_walk.h"

enum { WORD_SIZE = 6 * sizeof(uint32_t) }; /* error word of ga_report_index */

static int check_shapes(const GpuArray *a, const GpuArray *v, const GpuArray *i) {
  char to[GA_ARRAY_TEXT], from[GA_ARRAY_TEXT], by[GA_ARRAY_TEXT];
  bool fits =
      a->nd > 0 && a->nd == v->nd && i->nd == 1 && a->dimensions[0] == i->dimensions[0];
  for (unsigned int k = 1; fits && k < a->nd; k++)
    fits = a->dimensions[k] == v->dimensions[k];
  if (fits)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR,
                 "take1: %s from %s by %s: expected indices in one axis, as long as "
                 "the first axis of the output, and all other axes as in the source",
                 ga__array_text(to, a), ga__array_text(from, v), ga__array_text(by, i));
}

static int check_layouts(const GpuArray *a, const GpuArray *v, const GpuArray *i) {
  const GpuArray *all[] = {a, v, i};
  char text[GA_ARRAY_TEXT];
  for (unsigned int k = 0; k < 3; k++) {
    if (k != 1 && !GpuArray_IS_C_CONTIGUOUS(all[k]))
      return GA_FAIL(GA_INVALID_ERROR,
                     "take1: %s is not C-contiguous; copy it first (GpuArray_copy)",
                     ga__array_text(text, all[k]));
    if (!GpuArray_ISALIGNED(all[k]))
      return GA_FAIL(GA_UNALIGNED_ERROR,
                     "take1: %s is not aligned to its type; copy it first "
                     "(GpuArray_copy)",
                     ga__array_text(text, all[k]));
  }
  const char kind = ga__dtype_kind(i->typecode);
  if (kind != 'i' && kind != 'u')
    return GA_FAIL(GA_INVALID_ERROR, "take1: the indices are %s, expected integers",
                   ga__array_text(text, i));
  return GA_NO_ERROR;
}

static int check_arguments(const GpuArray *a, const GpuArray *v, const GpuArray *i) {
  GA_TRY(ga__index_check_target(a, v, "take1"));
  GA_TRY(ga__array_check(i, "take1"));
  GA_TRY(ga__array_same_context(a, i, "take1"));
  GA_TRY(check_layouts(a, v, i));
  return check_shapes(a, v, i);
}

/* Casts and copies aliased operands first; skipped elements keep their value. */
static int take(const GpuArray *a, const GpuArray *v, ga_indices ix, gpudata *word) {
  ga_index_copies copies;
  int status = ga__index_part(&copies, &ix, a, v);
  GA_THEN(status, ga__index_take(a, copies.values, &ix, word));
  ga__index_copies_clear(&copies);
  return status;
}

/* Waits and checks the launch's own error word, apart from those of other
 * operations. */
static int read_word(gpudata *word, size_t length) {
  uint32_t report[WORD_SIZE / sizeof(uint32_t)];
  GA_TRY(ga__buffer_read(report, word, 0, sizeof report));
  if (report[0] == 0)
    return GA_NO_ERROR;
  const int64_t index = (int64_t)(report[2] | (uint64_t)report[3] << 32);
  return GA_FAIL(GA_VALUE_ERROR,
                 "take1: Index out of bounds: %lld for an axis of length %zu",
                 (long long)index, length);
}

static int take_checked(const GpuArray *a, const GpuArray *v, const ga_indices *ix) {
  if (a->data->tape != NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "take1: a plan that is being bound cannot wait for the check of "
                   "indices; pass check_error 0");
  gpudata *word;
  GA_TRY(ga__buffer_new(&word, a->data->context, WORD_SIZE));
  int status = ga__buffer_fill(word, 0, 0, WORD_SIZE);
  GA_THEN(status, take(a, v, *ix, word));
  GA_THEN(status, read_word(word, v->dimensions[0]));
  gpudata_release(word);
  return status;
}

int GpuArray_take1(GpuArray *a, const GpuArray *v, const GpuArray *i, int check_error) {
  GA_TRY(check_arguments(a, v, i));
  const ga_indices ix = {1, 0, &i, GA_INDEX_RAISE, "take1"};
  int status = check_error ? take_checked(a, v, &ix) : take(a, v, ix, NULL);
  if (status == GA_INDEX_ERROR) /* an empty axis */
    return GA_FAIL(GA_VALUE_ERROR,
                   "take1: Index out of bounds: the source has no elements along its "
                   "first axis");
  return status;
}
