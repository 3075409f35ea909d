/* Gather and scatter by index arrays: take, put. */
#include <string.h>

#include "c/index/index_walk.h"
#include "c/index/kernels/index_last.inc"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"
#include "c/sort/sort_task.h"

/* ---- operands ---- */

int ga__index_check_mode(int mode, const char *operation) {
  if (mode == GA_INDEX_RAISE || mode == GA_INDEX_WRAP || mode == GA_INDEX_CLIP)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: got mode %d, expected GA_INDEX_RAISE, GA_INDEX_WRAP or "
                 "GA_INDEX_CLIP",
                 operation, mode);
}

int ga__index_check_target(const GpuArray *a, const GpuArray *v,
                           const char *operation) {
  GA_TRY(ga__array_check(a, operation));
  GA_TRY(ga__array_check(v, operation));
  GA_TRY(ga__array_same_context(a, v, operation));
  GA_TRY(ga__context_check(a->data->context));
  return ga__array_writeable(a, operation);
}

int ga__index_values(const GpuArray **out, GpuArray *result, const GpuArray *a,
                     const GpuArray *v) {
  memset(result, 0, sizeof *result);
  *out = v;
  if (v->typecode == a->typecode && !GpuArray_share(a, v))
    return GA_NO_ERROR;
  *out = result;
  return GpuArray_astype(result, v, a->typecode, GA_C_ORDER);
}

int ga__index_part(ga_index_copies *copies, ga_indices *ix, const GpuArray *a,
                   const GpuArray *v) {
  copies->n = 0;
  copies->converted = (GpuArray){0};
  for (unsigned int k = 0; k < ix->n; k++)
    copies->list[k] = ix->arrays[k];
  for (unsigned int k = 0; k < ix->n; k++) {
    if (!GpuArray_share(a, ix->arrays[k]))
      continue;
    GA_TRY(GpuArray_copy(&copies->copies[copies->n], ix->arrays[k], GA_C_ORDER));
    copies->list[k] = &copies->copies[copies->n++];
  }
  ix->arrays = copies->list;
  return ga__index_values(&copies->values, &copies->converted, a, v);
}

void ga__index_copies_clear(ga_index_copies *copies) {
  GpuArray_clear(&copies->converted);
  while (copies->n > 0)
    GpuArray_clear(&copies->copies[--copies->n]);
}

/* ---- take (gather) ---- */

int ga__index_take(const GpuArray *out, const GpuArray *a, const ga_indices *ix,
                   gpudata *word) {
  ga_index_walk w;
  GA_TRY(ga__index_begin(&w, &w.src, a, ix));
  w.op = GA_INDEX_TAKE;
  w.word = word;
  ga_index_operand src = w.src;
  GA_TRY(ga__index_operand(&w.dst, &w, out));
  w.src = src;
  return ga__index_run(&w);
}

int GpuArray_take(GpuArray *out, const GpuArray *a, unsigned int n,
                  const GpuArray *const *indices, unsigned int first_axis, int mode) {
  const ga_indices ix = {n, first_axis, indices, mode, "take"};
  if (out == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "take: got no output array");
  GA_TRY(ga__array_check(a, "take"));
  GA_TRY(ga__context_check(a->data->context));
  GA_TRY(ga__index_check_mode(mode, "take"));
  ga_index_walk w;
  ga_index_operand src;
  GA_TRY(ga__index_begin(&w, &src, a, &ix));
  GpuArray result;
  GA_TRY(GpuArray_empty(&result, w.context, a->typecode, w.nd, w.dims, GA_C_ORDER));
  w.op = GA_INDEX_TAKE;
  w.src = src;
  ga__index_block(&w.dst, &w, result.data, gpuarray_get_elsize(a->typecode));
  int status = ga__index_run(&w);
  return ga__array_return(out, &result, status);
}

/* ---- duplicate indices: the last one wins ---- */

/* `spec`: typecode of the slots. */
static int make_last(ga_source *out, const gpucontext *ctx, const void *spec) {
  (void)ctx;
  ga_strbuf text = {0};
  ga__strbuf_addf(&text, "#define INDEX_SLOT %s\n",
                  ga__dtype_ctype(*(const int *)spec));
  ga__strbuf_add(&text, index_last_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "index_last", NULL, "#define INDEX_NAME %\n",
                               &text);
}

static int queue_last(const GpuArray *out, const GpuArray *slot) {
  gpukernel *kernel;
  GA_TRY(ga__kernel_kept(&kernel, slot->data->context, make_last, &slot->typecode,
                         sizeof slot->typecode));
  const size_t count = slot->dimensions[0], most = ga__kernel_threads(kernel);
  const size_t threads = most < 64 ? most : 64;
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, out->data, 0, false);
  ga__args_pointer(&args, slot->data, 0, true);
  ga__args_u32(&args, (uint32_t)count);
  const ga_launch l = {.nd = 1,
                       .grid = {(count + threads - 1) / threads, 1, 1},
                       .block = {threads, 1, 1},
                       .n_args = args.n,
                       .args = args.list};
  return ga__kernel_launch(kernel, &l);
}

static int compare_all(const GpuArray *out, const GpuArray *a, const ga_indices *ix) {
  GpuArray slot;
  GA_TRY(ga__index_slots(&slot, a, ix));
  int status = queue_last(out, &slot);
  GpuArray_clear(&slot);
  return status;
}

/* Winner table over all slots: the largest index number, from 1, that leads there, or
 * 0, by atomic maximum. *claim: a walk over it. The caller releases it. */
static int make_table(gpudata **out, ga_index_walk *claim, const GpuArray *a,
                      const ga_indices *ix) {
  ga_index_walk own;
  gpudata *table;
  size_t slots;
  GA_TRY(ga__index_begin_table(&own, &slots, a, ix, sizeof(uint32_t)));
  GA_TRY(ga__buffer_new(&table, own.context, slots * sizeof(uint32_t)));
  own.op = GA_INDEX_OWN;
  own.dst = (ga_index_operand){.data = table, .unit = sizeof(uint32_t)};
  *claim = own;
  int status = ga__buffer_fill(table, 0, 0, slots * sizeof(uint32_t));
  GA_THEN(status, ga__index_run(&own));
  if (status == GA_NO_ERROR)
    *out = table;
  else
    gpudata_release(table);
  return status;
}

static int use_table(const GpuArray *out, const GpuArray *a, const ga_indices *ix) {
  ga_index_walk claim;
  gpudata *table;
  GA_TRY(make_table(&table, &claim, a, ix));
  claim.op = GA_INDEX_CLAIM;
  claim.src = claim.dst;
  ga__index_block(&claim.dst, &claim, out->data, 1);
  int status = ga__index_run(&claim);
  gpudata_release(table);
  return status;
}

/* Number of slots in the indexed axes. */
static double count_slots(const GpuArray *a, const ga_indices *ix) {
  double places = 1;
  for (unsigned int k = 0; k < ix->n; k++)
    places *= (double)a->dimensions[ix->first_axis + k];
  return places;
}

static int check_count(size_t count, const char *operation) {
  if (count < (size_t)INT32_MAX)
    return GA_NO_ERROR;
  return GA_FAIL(GA_XLARGE_ERROR,
                 "%s: %zu indices at once, expected at most %d; split the call",
                 operation, count, INT32_MAX - 1);
}

/* All-pairs comparison costs a load per pair, the table a store and more per slot. */
static bool compares_all(size_t count, const GpuArray *a, const ga_indices *ix) {
  return (double)count * (double)count < count_slots(a, ix);
}

/* Winner mask: a new bool array of the indices' broadcast shape, true where no later
 * index leads to the same slot. GA_XLARGE_ERROR from 2^31 on. */
static int find_winners(GpuArray *out, const GpuArray *a, const ga_indices *ix) {
  ga_index_walk w;
  size_t slots;
  GA_TRY(ga__index_begin_table(&w, &slots, a, ix, 1));
  const size_t count = ga__index_count(&w);
  GA_TRY(check_count(count, ix->operation));
  GpuArray result;
  GA_TRY(GpuArray_empty(&result, w.context, GA_BOOL, w.nd, w.dims, GA_C_ORDER));
  const bool is_small = compares_all(count, a, ix);
  ga_indices quiet = *ix;
  if (ix->mode == GA_INDEX_RAISE)
    quiet.mode = GA_INDEX_QUIET;
  int status =
      is_small ? compare_all(&result, a, &quiet) : use_table(&result, a, &quiet);
  return ga__array_return(out, &result, status);
}

/* ---- put (scatter) ---- */

/* True if the values vary along one of these axes. */
static bool varies_along(const ga_index_walk *w, unsigned int first,
                         unsigned int last) {
  for (unsigned int k = first; k < last; k++)
    if (w->dims[k] > 1 && w->src.strides[k] != 0)
      return true;
  return false;
}

static void add_keep(ga_index_walk *w, const GpuArray *keep, unsigned int first) {
  w->keep = (ga_index_operand){.data = keep->data, .offset = keep->offset, .unit = 1};
  for (unsigned int k = 0; k < keep->nd; k++)
    w->keep.strides[first + k] = keep->strides[k];
}

/* Duplicate indices: with few slots per index each slot looks up its winning value;
 * else each index gets a flag whether it wins. */
static int put_winners(ga_index_walk *w, const GpuArray *a, const ga_indices *ix,
                       const GpuArray *v, size_t count) {
  GA_TRY(check_count(count, ix->operation));
  if (!compares_all(count, a, ix) && count_slots(a, ix) <= 4 * (double)count &&
      ga__index_may_put_by_place(a, v)) {
    ga_index_walk claim;
    gpudata *table;
    GA_TRY(make_table(&table, &claim, a, ix)); /* reports indices out of bounds */
    int status = ga__index_put_by_place(w, a, ix, table);
    gpudata_release(table);
    return status;
  }
  GpuArray winners;
  GA_TRY(find_winners(&winners, a, ix));
  add_keep(w, &winners, ix->first_axis);
  int status = ga__index_run(w);
  GpuArray_clear(&winners);
  return status;
}

int ga__index_put(const GpuArray *a, const ga_indices *ix, const GpuArray *v,
                  const GpuArray *keep) {
  ga_index_walk w;
  GA_TRY(ga__index_begin_write(&w, a, ix, v, GA_INDEX_PUT));
  const unsigned int first = ix->first_axis;
  const unsigned int n_result =
      w.nd + ix->n - a->nd; /* number of axes of the indices */
  if (keep != NULL) {
    add_keep(&w, keep, first);
  } else if (ix->mode != GA_INDEX_TRUSTED && ga__index_count(&w) > 0 &&
             varies_along(&w, first, first + n_result)) {
    size_t count = 1;
    for (unsigned int k = first; k < first + n_result; k++)
      count *= w.dims[k];
    return put_winners(&w, a, ix, v, count);
  }
  return ga__index_run(&w);
}

int GpuArray_put(GpuArray *a, unsigned int n, const GpuArray *const *indices,
                 unsigned int first_axis, const GpuArray *v, int mode) {
  ga_indices ix = {n, first_axis, indices, mode, "put"};
  GA_TRY(ga__index_check_target(a, v, "put"));
  GA_TRY(ga__index_check_mode(mode, "put"));
  ga_index_walk w; /* fail before anything is copied */
  GA_TRY(ga__index_begin_write(&w, a, &ix, v, GA_INDEX_PUT));
  ga_index_copies copies;
  int status = ga__index_part(&copies, &ix, a, v);
  GA_THEN(status, ga__index_put(a, &ix, copies.values, NULL));
  ga__index_copies_clear(&copies);
  return status;
}
