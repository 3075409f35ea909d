/* Sorting along an axis: checks, and contiguous rows of the operands. */
#include "c/sort/sort_task.h"

#include "c/scan/scan.h"
#include <gpuarray/sort.h>

/* An operand with the sorted axis last, and its contiguous rows: the same memory where
 * possible, else a copy. */
typedef struct operand {
  GpuArray view, rows;
} operand;

static void close_operand(operand *o) {
  GpuArray_clear(&o->view);
  GpuArray_clear(&o->rows);
}

/* ---- checks ---- */

static int check_array(const GpuArray *a, const GpuArray *like, int typecode,
                       const char *operation, const char *role) {
  GA_TRY(ga__array_fits(a, GpuArray_context(like), typecode, operation, role));
  return ga__context_supports(GpuArray_context(a), typecode, operation);
}

/* Checks an output: `like`, but with `n` elements along the axis. */
static int check_result(const GpuArray *out, const GpuArray *like, int typecode,
                        unsigned int axis, size_t n, const char *operation,
                        const char *role) {
  char given[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT];
  size_t dims[GA_MAX_NDIM];
  GA_TRY(check_array(out, like, typecode, operation, role));
  GA_TRY(ga__array_writeable(out, operation));
  bool fits = out->nd == like->nd;
  for (unsigned int k = 0; k < like->nd; k++) {
    dims[k] = k == axis ? n : like->dimensions[k];
    fits = fits && out->dimensions[k] == dims[k];
  }
  if (!fits)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the %s is %s, expected the shape %s", operation,
                   role, ga__array_text(given, out),
                   ga__shape_text(expected, like->nd, dims));
  return GA_NO_ERROR;
}

static int check_keys(unsigned int *at, const GpuArray *a, int axis,
                      const char *operation) {
  if (a == NULL)
    return ga__fail_null(operation, "array");
  GA_TRY(ga__array_check(a, operation));
  GA_TRY(ga__context_check(GpuArray_context(a)));
  GA_TRY(check_array(a, a, a->typecode, operation, "array"));
  GA_TRY(ga__axis_check(at, a, axis, operation));
  if (a->dimensions[*at] > GA_SORT_LONGEST)
    return GA_FAIL(GA_XLARGE_ERROR,
                   "%s: %zu elements along axis %u, expected %zu at "
                   "most",
                   operation, a->dimensions[*at], *at, GA_SORT_LONGEST);
  return GA_NO_ERROR;
}

static int check_not_null(const void *p, const char *operation, const char *role) {
  return p ? GA_NO_ERROR : ga__fail_null(operation, role);
}

static int check_flags(int flags, const char *operation) {
  if (flags & ~GA_SORT_DESCENDING)
    return GA_FAIL(GA_INVALID_ERROR, "%s: flags 0x%x, expected 0 or 0x%x", operation,
                   (unsigned int)flags, GA_SORT_DESCENDING);
  return GA_NO_ERROR;
}

static int check_random(const GpuArray *a, int flags) {
  if (!(flags & GA_SORT_RANDOM))
    return check_flags(flags, "argsort");
  if (flags != GA_SORT_RANDOM || a->typecode != GA_ULONG)
    return GA_FAIL(GA_INVALID_ERROR,
                   "argsort: flags 0x%x for %s, expected GA_SORT_RANDOM alone, and for "
                   "uint64",
                   (unsigned int)flags, ga__dtype_name(a->typecode));
  return GA_NO_ERROR;
}

/* ---- contiguous rows ---- */

static int move_axis(GpuArray *view, const GpuArray *a, unsigned int axis) {
  unsigned int order[GA_MAX_NDIM], n = 0;
  for (unsigned int k = 0; k < a->nd; k++)
    if (k != axis)
      order[n++] = k;
  order[n] = axis;
  return GpuArray_transpose(view, a, order);
}

/* Rows to be written; finish_result copies them back where needed. */
static int open_result(operand *o, const GpuArray *out, unsigned int axis) {
  GA_TRY(move_axis(&o->view, out, axis));
  int status = GpuArray_IS_C_CONTIGUOUS(&o->view)
                   ? GpuArray_view(&o->rows, &o->view)
                   : GpuArray_empty(&o->rows, GpuArray_context(out), out->typecode,
                                    out->nd, o->view.dimensions, GA_C_ORDER);
  if (status != GA_NO_ERROR)
    GpuArray_clear(&o->view);
  return status;
}

static int finish_result(operand *o) {
  if (o->rows.data == NULL || o->rows.data == o->view.data)
    return GA_NO_ERROR;
  return GpuArray_move(&o->view, &o->rows);
}

/* Rows to be read; copied if strided or aliasing an output. `in_place`: output 0 may be
 * the same rows. */
static int open_input(operand *o, const GpuArray *a, unsigned int axis,
                      const operand *results, unsigned int n, bool in_place) {
  GA_TRY(move_axis(&o->view, a, axis));
  bool copies = !GpuArray_IS_C_CONTIGUOUS(&o->view);
  for (unsigned int i = 0; i < n; i++)
    if (results[i].rows.data != NULL && GpuArray_share(&results[i].rows, &o->view))
      copies = copies || !(in_place && i == 0 && results[i].rows.data == o->view.data &&
                           results[i].rows.offset == o->view.offset);
  int status = copies ? GpuArray_copy(&o->rows, &o->view, GA_C_ORDER)
                      : GpuArray_view(&o->rows, &o->view);
  if (status != GA_NO_ERROR)
    GpuArray_clear(&o->view);
  return status;
}

static ga_sort_place location_of(const operand *o) {
  return (ga_sort_place){o->rows.data, o->rows.offset};
}

static ga_sort_task task_of(const GpuArray *a, unsigned int axis, bool descending) {
  const size_t n = a->dimensions[axis];
  return (ga_sort_task){.context = GpuArray_context(a),
                        .typecode = a->typecode,
                        .rows = n ? ga__array_count(a) / n : 0,
                        .n = n,
                        .descending = descending};
}

/* A sort request; anything but the keys may be NULL. Checked and not empty. */
typedef struct request {
  const GpuArray *keys, *values;
  const GpuArray *out_keys, *out_values, *out_indices;
} request;

enum { KEYS, VALUES, INDICES, N_RESULTS };

static int open_all(operand *in, operand *out, const request *r, unsigned int axis) {
  const GpuArray *const results[] = {r->out_keys, r->out_values, r->out_indices};
  for (int i = 0; i < N_RESULTS; i++)
    if (results[i] != NULL)
      GA_TRY(open_result(&out[i], results[i], axis));
  const bool in_place = gpuarray_get_elsize(r->keys->typecode) > 1;
  GA_TRY(open_input(&in[KEYS], r->keys, axis, out, N_RESULTS, in_place));
  if (r->values != NULL)
    GA_TRY(open_input(&in[VALUES], r->values, axis, out, N_RESULTS, false));
  return GA_NO_ERROR;
}

static int run(const request *r, unsigned int axis, int flags) {
  operand in[2] = {0}, out[N_RESULTS] = {0};
  ga_sort_task task = task_of(r->keys, axis, (flags & GA_SORT_DESCENDING) != 0);
  int status = open_all(in, out, r, axis);
  if (status == GA_NO_ERROR) {
    task.keys = location_of(&in[KEYS]);
    task.values = location_of(&in[VALUES]);
    task.value_size = r->values ? (int)GpuArray_ITEMSIZE(r->values) : 0;
    task.out_keys = location_of(&out[KEYS]);
    task.out_values = location_of(&out[VALUES]);
    task.out_indices = location_of(&out[INDICES]);
    status =
        flags & GA_SORT_RANDOM ? ga__sort_random_keys(&task) : ga__sort_rows(&task);
  }
  for (int i = 0; i < N_RESULTS && status == GA_NO_ERROR; i++)
    status = finish_result(&out[i]);
  for (int i = 0; i < N_RESULTS; i++)
    close_operand(&out[i]);
  close_operand(&in[KEYS]);
  close_operand(&in[VALUES]);
  return status;
}

/* ---- public functions ---- */

int GpuArray_sort(GpuArray *out, const GpuArray *a, int axis, int flags) {
  unsigned int at = 0;
  GA_TRY(check_keys(&at, a, axis, "sort"));
  GA_TRY(check_not_null(out, "sort", "result"));
  GA_TRY(check_result(out, a, a->typecode, at, a->dimensions[at], "sort", "result"));
  GA_TRY(check_flags(flags, "sort"));
  if (ga__array_count(a) == 0)
    return GA_NO_ERROR;
  const request r = {.keys = a, .out_keys = out};
  return run(&r, at, flags);
}

int GpuArray_argsort(GpuArray *out, const GpuArray *a, int axis, int flags) {
  unsigned int at = 0;
  GA_TRY(check_keys(&at, a, axis, "argsort"));
  GA_TRY(check_not_null(out, "argsort", "result"));
  GA_TRY(check_result(out, a, GA_LONG, at, a->dimensions[at], "argsort", "result"));
  GA_TRY(check_random(a, flags));
  if (ga__array_count(a) == 0)
    return GA_NO_ERROR;
  const request r = {.keys = a, .out_indices = out};
  return run(&r, at, flags);
}

int GpuArray_sort_pairs(GpuArray *out_keys, GpuArray *out_values, const GpuArray *keys,
                        const GpuArray *values, int axis, int flags) {
  const char *name = "sort_pairs";
  unsigned int at = 0;
  GA_TRY(check_keys(&at, keys, axis, name));
  GA_TRY(check_not_null(out_keys, name, "result of keys"));
  GA_TRY(check_not_null(out_values, name, "result of values"));
  GA_TRY(check_not_null(values, name, "array of values"));
  GA_TRY(ga__array_check(values, name));
  const size_t n = keys->dimensions[at];
  GA_TRY(check_array(values, keys, values->typecode, name, "array of values"));
  if (!ga__array_same_shape(keys, values)) {
    char given[GA_ARRAY_TEXT], expected[GA_ARRAY_TEXT];
    return GA_FAIL(GA_VALUE_ERROR, "%s: values are %s, keys %s; expected one shape",
                   name, ga__array_text(given, values), ga__array_text(expected, keys));
  }
  GA_TRY(check_result(out_keys, keys, keys->typecode, at, n, name, "result of keys"));
  GA_TRY(check_result(out_values, keys, values->typecode, at, n, name,
                      "result of values"));
  if (GpuArray_share(out_keys, out_values))
    return GA_FAIL(GA_VALUE_ERROR, "%s: the two results overlap", name);
  GA_TRY(check_flags(flags, name));
  if (ga__array_count(keys) == 0)
    return GA_NO_ERROR;
  const request r = {
      .keys = keys, .values = values, .out_keys = out_keys, .out_values = out_values};
  return run(&r, at, flags);
}

/* ---- top-k ---- */

/* View of the first `k` along the last axis. */
static int head_of(GpuArray *head, const GpuArray *a, size_t k) {
  GA_TRY(GpuArray_view(head, a));
  head->dimensions[a->nd - 1] = k;
  GpuArray_fix_flags(head);
  return GA_NO_ERROR;
}

/* Fallback for large k: full sort, then truncation. */
static int sort_and_cut(ga_sort_task *task, const GpuArray *like, operand *out,
                        size_t k) {
  const int types[2] = {task->typecode, GA_LONG};
  GpuArray whole[2] = {0}, head;
  int status = GA_NO_ERROR;
  for (int i = 0; i < 2 && status == GA_NO_ERROR; i++)
    status = GpuArray_empty(&whole[i], task->context, types[i], like->nd,
                            like->dimensions, GA_C_ORDER);
  if (status == GA_NO_ERROR) {
    task->out_keys = (ga_sort_place){whole[0].data, whole[0].offset};
    task->out_indices = (ga_sort_place){whole[1].data, whole[1].offset};
    status = ga__sort_rows(task);
  }
  for (int i = 0; i < 2 && status == GA_NO_ERROR; i++) {
    if (out[i].rows.data == NULL)
      continue;
    status = head_of(&head, &whole[i], k);
    if (status == GA_NO_ERROR) {
      status = GpuArray_move(&out[i].rows, &head);
      GpuArray_clear(&head);
    }
  }
  GpuArray_clear(&whole[0]);
  GpuArray_clear(&whole[1]);
  return status;
}

static int top(const GpuArray *const *results, const GpuArray *a, size_t k,
               unsigned int axis, bool largest) {
  operand in = {0}, out[2] = {0};
  ga_sort_task task = task_of(a, axis, largest);
  int status = GA_NO_ERROR;
  for (int i = 0; i < 2 && status == GA_NO_ERROR; i++)
    if (results[i] != NULL)
      status = open_result(&out[i], results[i], axis);
  GA_THEN(status, open_input(&in, a, axis, out, 2, false));
  if (status == GA_NO_ERROR) {
    task.keys = location_of(&in);
    task.out_keys = location_of(&out[0]);
    task.out_indices = location_of(&out[1]);
    status = ga__select_serves(&task, k) ? ga__select_rows(&task, k)
                                         : sort_and_cut(&task, &in.rows, out, k);
  }
  for (int i = 0; i < 2 && status == GA_NO_ERROR; i++)
    status = finish_result(&out[i]);
  close_operand(&out[0]);
  close_operand(&out[1]);
  close_operand(&in);
  return status;
}

int GpuArray_topk(GpuArray *values, GpuArray *indices, const GpuArray *a, size_t k,
                  int axis, int largest, int sorted) {
  unsigned int at = 0;
  (void)sorted; /* results always are */
  GA_TRY(check_keys(&at, a, axis, "topk"));
  if (values == NULL && indices == NULL)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "topk: got NULL for values and for indices, expected at least one array");
  if (k > a->dimensions[at])
    return GA_FAIL(GA_VALUE_ERROR, "topk: k is %zu, but axis %u has only %zu elements",
                   k, at, a->dimensions[at]);
  if (values)
    GA_TRY(check_result(values, a, a->typecode, at, k, "topk", "result of values"));
  if (indices)
    GA_TRY(check_result(indices, a, GA_LONG, at, k, "topk", "result of indices"));
  if (values && indices && GpuArray_share(values, indices))
    return GA_FAIL(GA_VALUE_ERROR, "topk: the two results overlap");
  if (k == 0 || ga__array_count(a) == 0)
    return GA_NO_ERROR;
  const GpuArray *const results[2] = {values, indices};
  return top(results, a, k, at, largest != 0);
}
