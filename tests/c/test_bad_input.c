/* Arguments that make no sense, in every function on arrays: types that no array has,
 * arrays of another context, read-only and unaligned ones, ranks and sizes that are too
 * large. A status and a text, with outputs as they were. On the null backend; NULL is
 * test_null_arguments.c's. */
#include "null_context.h"

#include <gpuarray/blas.h>
#include <gpuarray/buffer_blas.h>
#include <gpuarray/dlpack.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/index.h>
#include <gpuarray/plan.h>
#include <gpuarray/random.h>
#include <gpuarray/reduction.h>
#include <gpuarray/scan.h>
#include <gpuarray/sort.h>

static gpucontext *ctx, *other;
static GpuArray out, untouched;
static const size_t dims[2] = {4, 4};

static GpuArray zeros(gpucontext *c, int typecode, unsigned int nd) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_zeros(&a, c, typecode, nd, dims, GA_C_ORDER));
  return a;
}

/* One of the statuses `first` and `second`, a text of its own, `out` untouched. */
static void check_status(int status, int first, int second, const char *call,
                         int line) {
  bool said = strcmp(gpuarray_error_text(), "unsaid") != 0;
  bool same = memcmp(&out, &untouched, sizeof out) == 0;
  ga__fail(GA_MISC_ERROR, "unsaid");
  if ((status == first || status == second) && said && same)
    return;
  fprintf(stderr, "%s:%d: %s gave %d%s%s\n", __FILE__, line, call, status,
          said ? "" : " and no text", same ? "" : " and changed an output");
  check_failures++;
  out = untouched;
}

#define REFUSED(first, second, call)                                                   \
  check_status((call), GA_##first##_ERROR, GA_##second##_ERROR, #call, __LINE__)

/* ---- types ---- */

static void check_type(int code, GpuArray *a) {
  float memory[16] = {0};
  gpuelemwise_arg args[2] = {{"y", code, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  const GpuArray *list[1] = {a};
  GpuElemwise *ge = NULL;
  GpuPlan *p = NULL;
  unsigned int value = 7;
  int ret = GA_NO_ERROR;
  REFUSED(VALUE, INVALID, GpuArray_empty(&out, ctx, code, 2, dims, GA_C_ORDER));
  REFUSED(VALUE, INVALID, GpuArray_zeros(&out, ctx, code, 2, dims, GA_C_ORDER));
  REFUSED(VALUE, INVALID,
          GpuArray_copy_from_host(&out, ctx, memory, code, 1, dims, NULL));
  REFUSED(VALUE, INVALID, GpuArray_fromdata(&out, a->data, 0, code, 1, dims, NULL, 1));
  REFUSED(VALUE, INVALID, GpuArray_astype(&out, a, code, GA_C_ORDER));
  REFUSED(VALUE, INVALID, GpuArray_concatenate(&out, list, 1, 0, code));
  REFUSED(VALUE, INVALID, GpuElemwise_create(&ge, ctx, NULL, "y = x", 2, args, 0));
  CHECK(ge == NULL);
  CHECK(GpuReduction_extremum(ctx, code, 0, GA_EXTREMUM_VALUE, &ret) == NULL);
  REFUSED(VALUE, INVALID, (ga__fail(ret, "said"), ret));
  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  REFUSED(VALUE, INVALID, GpuPlan_input(p, &value, code, 2, 0));
  CHECK(value == 7);
  GpuPlan_free(p);
}

static void test_types(void) {
  const int codes[] = {
      22,       -1,       -7,        GA_SIZE, GA_SSIZE,         GA_QUAD,
      GA_NBASE, GA_DELIM, GA_FLOAT2, GA_NVEC, GA_ENDVEC + 4000, 1 << 30};
  GpuArray a = zeros(ctx, GA_FLOAT, 2);
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    check_type(codes[i], &a);
  GpuArray_clear(&a);
}

/* ---- what operations demand of their arrays ---- */

/* Operations that read `in` and write `to`. */
#define EACH_OPERATION(first, second)                                                  \
  do {                                                                                 \
    REFUSED(first, second, GpuArray_sort(to, in, 1, 0));                               \
    REFUSED(first, second, GpuArray_argsort(to_places, in, 1, 0));                     \
    REFUSED(first, second, GpuArray_sort_pairs(to, to_places, in, from_places, 1, 0)); \
    REFUSED(first, second, GpuArray_topk(to, NULL, in, 4, 1, 1, 1));                   \
    REFUSED(first, second, GpuArray_cumsum(to, in, 1, 0));                             \
    REFUSED(first, second, GpuArray_cumprod(to, in, 1, 0));                            \
    REFUSED(first, second, GpuArray_cummax(to, in, 1, 0));                             \
    REFUSED(first, second, GpuArray_cummin(to, in, 1, 0));                             \
    REFUSED(first, second,                                                             \
            GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, in, in, 0, to, 0));            \
    REFUSED(first, second, GpuArray_rger(1, in_row, in_row, to, 0));                   \
    REFUSED(first, second, GpuArray_rgemv(cb_no_trans, 1, in, in_row, 0, to_row, 0));  \
    REFUSED(first, second, GpuArray_add_at(to, 1, list, 0, in, GA_INDEX_RAISE));       \
    REFUSED(first, second, GpuElemwise_call(ge, arguments, 0));                        \
  } while (0)

typedef struct arrays {
  GpuArray matrix, row, places, index;
} arrays;

static arrays make_arrays(gpucontext *c) {
  return (arrays){zeros(c, GA_FLOAT, 2), zeros(c, GA_FLOAT, 1), zeros(c, GA_LONG, 2),
                  zeros(c, GA_LONG, 1)};
}

static void clear_arrays(arrays *a) {
  GpuArray_clear(&a->matrix);
  GpuArray_clear(&a->row);
  GpuArray_clear(&a->places);
  GpuArray_clear(&a->index);
}

/* From `from` into `into`, which do not go together, for a reason that the caller has.
 */
static void check_operations(arrays *from, arrays *into, const char *reason) {
  GpuArray *in = &from->matrix, *in_row = &from->row, *from_places = &from->places;
  GpuArray *to = &into->matrix, *to_row = &into->row, *to_places = &into->places;
  const GpuArray *list[1] = {&from->index};
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = x", 2, args, 2, 0);
  void *arguments[2] = {to, in};
  if (strcmp(reason, "unaligned") == 0) {
    EACH_OPERATION(UNALIGNED, UNALIGNED);
    REFUSED(UNALIGNED, UNALIGNED, GpuArray_move(to, from_places));
  } else {
    EACH_OPERATION(VALUE, INVALID);
    REFUSED(VALUE, INVALID, GpuArray_move(to, in));
    REFUSED(VALUE, INVALID, GpuArray_setarray(to, in));
    REFUSED(VALUE, INVALID, GpuArray_put(to, 1, list, 0, in, GA_INDEX_RAISE));
  }
  GpuElemwise_free(ge);
}

static void test_other_contexts(void) {
  arrays here = make_arrays(ctx), there = make_arrays(other);
  const GpuArray *list[1] = {&there.index};
  const GpuArray *both[2] = {&here.matrix, &there.matrix};
  check_operations(&there, &here, "context");
  check_operations(&here, &there, "context");
  REFUSED(VALUE, INVALID, GpuArray_take(&out, &here.matrix, 1, list, 0, 0));
  REFUSED(VALUE, INVALID, GpuArray_take1(&here.matrix, &there.matrix, &here.index, 0));
  REFUSED(VALUE, INVALID, GpuArray_take1(&here.matrix, &here.matrix, &there.index, 0));
  REFUSED(VALUE, INVALID, GpuArray_concatenate(&out, both, 2, 0, GA_FLOAT));
  clear_arrays(&here);
  clear_arrays(&there);
}

static void test_read_only(void) {
  arrays a = make_arrays(ctx), b = make_arrays(ctx);
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  b.matrix.flags &= ~GA_WRITEABLE;
  b.row.flags &= ~GA_WRITEABLE;
  b.places.flags &= ~GA_WRITEABLE;
  check_operations(&a, &b, "read-only");
  REFUSED(VALUE, READONLY, GpuArray_random_uniform(&b.matrix, &g, 0, 1));
  REFUSED(VALUE, READONLY, GpuArray_random_bits(&b.places, &g));
  REFUSED(VALUE, READONLY, GpuArray_memset(&b.matrix, 0));
  REFUSED(VALUE, READONLY, GpuArray_write(&b.matrix, dims, 64));
  REFUSED(VALUE, READONLY, GpuArray_transfer(&b.matrix, &a.matrix));
  REFUSED(VALUE, READONLY, GpuArray_take1(&b.matrix, &a.matrix, &a.index, 0));
  REFUSED(VALUE, READONLY, GpuArray_put_mask(&b.matrix, &a.matrix, &a.matrix));
  clear_arrays(&a);
  clear_arrays(&b);
}

static void test_unaligned(void) {
  const size_t few[2] = {4, 4};
  arrays a = make_arrays(ctx), b = make_arrays(ctx);
  gpudata *bytes = gpudata_alloc(ctx, 256, NULL, 0, NULL);
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  clear_arrays(&b);
  CHECK_OK(GpuArray_fromdata(&b.matrix, bytes, 2, GA_FLOAT, 2, few, NULL, 1));
  CHECK_OK(GpuArray_fromdata(&b.row, bytes, 1, GA_FLOAT, 1, few, NULL, 1));
  CHECK_OK(GpuArray_fromdata(&b.places, bytes, 4, GA_LONG, 2, few, NULL, 1));
  CHECK_OK(GpuArray_fromdata(&b.index, bytes, 4, GA_LONG, 1, few, NULL, 1));
  check_operations(&a, &b, "unaligned");
  REFUSED(UNALIGNED, UNALIGNED, GpuArray_random_uniform(&b.matrix, &g, 0, 1));
  /* Copies to the same type move bytes. */
  CHECK_OK(GpuArray_copy(&out, &b.matrix, GA_F_ORDER));
  GpuArray_clear(&out);
  out = untouched;
  REFUSED(UNALIGNED, UNALIGNED, GpuArray_astype(&out, &b.matrix, GA_INT, GA_C_ORDER));
  REFUSED(UNALIGNED, UNALIGNED, GpuArray_count_nonzero(&(size_t){0}, &b.matrix));
  REFUSED(UNALIGNED, UNALIGNED, GpuArray_take1(&a.matrix, &b.matrix, &a.index, 0));
  REFUSED(UNALIGNED, UNALIGNED, GpuArray_take1(&a.matrix, &a.matrix, &b.index, 0));
  gpudata_release(bytes);
  clear_arrays(&a);
  clear_arrays(&b);
}

/* ---- ranks and sizes ---- */

static void test_ranks(void) {
  size_t ones[GA_MAX_NDIM + 1];
  int pattern[GA_MAX_NDIM + 1];
  GpuArray a = zeros(ctx, GA_FLOAT, 0), most = {0};
  GpuPlan *p = NULL;
  unsigned int value = 7;
  for (int i = 0; i <= GA_MAX_NDIM; i++) {
    ones[i] = 1;
    pattern[i] = -1;
  }
  const unsigned int nd = GA_MAX_NDIM + 1, far = 1u << 31;
  REFUSED(VALUE, XLARGE, GpuArray_empty(&out, ctx, GA_FLOAT, nd, ones, GA_C_ORDER));
  REFUSED(VALUE, XLARGE, GpuArray_zeros(&out, ctx, GA_FLOAT, far, ones, GA_C_ORDER));
  REFUSED(VALUE, XLARGE,
          GpuArray_fromdata(&out, a.data, 0, GA_FLOAT, nd, ones, NULL, 1));
  REFUSED(VALUE, XLARGE,
          GpuArray_copy_from_host(&out, ctx, ones, GA_FLOAT, nd, ones, NULL));
  REFUSED(VALUE, XLARGE, GpuArray_reshape(&out, &a, nd, ones, GA_C_ORDER, 0));
  REFUSED(VALUE, XLARGE, GpuArray_reshape_inplace(&a, far, ones, GA_C_ORDER));
  REFUSED(VALUE, XLARGE, GpuArray_dimshuffle(&out, &a, nd, pattern));
  REFUSED(VALUE, XLARGE, GpuArray_broadcast_to(&out, &a, nd, ones));
  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  REFUSED(VALUE, XLARGE, GpuPlan_input(p, &value, GA_FLOAT, nd, 0));
  GpuPlan_free(p);
  CHECK_OK(GpuArray_reshape(&most, &a, GA_MAX_NDIM, ones, GA_C_ORDER, 1));
  /* What would add an axis to an array that has all. */
  GpuArray index = zeros(ctx, GA_LONG, 2);
  const GpuArray *list[1] = {&index};
  REFUSED(VALUE, XLARGE, GpuArray_take(&out, &most, 1, list, 0, GA_INDEX_RAISE));
  GpuArray_clear(&index);
  GpuArray_clear(&most);
  GpuArray_clear(&a);
}

static void test_sizes(void) {
  const size_t far[3] = {(size_t)1 << 40, (size_t)1 << 40, 0}, most[1] = {SIZE_MAX};
  const size_t wide[2] = {4, SIZE_MAX / 2};
  const ssize_t strides[1] = {PTRDIFF_MAX}, below[1] = {PTRDIFF_MIN};
  GpuArray a = zeros(ctx, GA_FLOAT, 1), single = {0};
  CHECK_OK(GpuArray_index(&single, &a, &(ssize_t){0}, &(ssize_t){1}, &(ssize_t){1}));
  REFUSED(XLARGE, VALUE, GpuArray_empty(&out, ctx, GA_FLOAT, 2, far, GA_C_ORDER));
  REFUSED(XLARGE, MEMORY, GpuArray_empty(&out, ctx, GA_BYTE, 1, most, GA_C_ORDER));
  REFUSED(XLARGE, VALUE, GpuArray_zeros(&out, ctx, GA_CDOUBLE, 1, most, GA_C_ORDER));
  REFUSED(XLARGE, VALUE, GpuArray_copy_from_host(&out, ctx, far, GA_INT, 2, far, NULL));
  REFUSED(XLARGE, VALUE, GpuArray_reshape(&out, &a, 2, far, GA_C_ORDER, 0));
  REFUSED(XLARGE, VALUE, GpuArray_broadcast_to(&out, &single, 2, far));
  REFUSED(XLARGE, VALUE, GpuArray_broadcast_to(&out, &single, 2, wide));
  REFUSED(XLARGE, VALUE, GpuArray_fromdata(&out, a.data, 0, GA_INT, 1, most, NULL, 1));
  REFUSED(XLARGE, VALUE,
          GpuArray_fromdata(&out, a.data, 0, GA_INT, 1, dims, strides, 1));
  REFUSED(XLARGE, VALUE, GpuArray_fromdata(&out, a.data, 0, GA_INT, 1, dims, below, 1));
  REFUSED(XLARGE, VALUE,
          GpuArray_fromdata(&out, a.data, SIZE_MAX, GA_INT, 1, dims, NULL, 1));
  REFUSED(VALUE, VALUE, gpudata_write(a.data, SIZE_MAX, dims, 2));
  REFUSED(VALUE, VALUE, gpudata_memset(a.data, SIZE_MAX, 2));
  REFUSED(VALUE, VALUE, gpudata_transfer(a.data, 1, a.data, 0, SIZE_MAX));
  int ret = GA_NO_ERROR;
  CHECK(gpudata_alloc(ctx, SIZE_MAX, NULL, 0, &ret) == NULL);
  CHECK(ret == GA_MEMORY_ERROR || ret == GA_XLARGE_ERROR);
  /* None of it has elements: nothing is too large. */
  CHECK_OK(GpuArray_empty(&out, ctx, GA_FLOAT, 3, far, GA_C_ORDER));
  GpuArray_clear(&out);
  out = untouched;
  GpuArray_clear(&single);
  GpuArray_clear(&a);
}

/* Numbers of products over raw buffers whose extents cannot be counted in bytes. */
static void test_sizes_of_products(void) {
  const size_t far = (size_t)1 << 62, most = SIZE_MAX;
  GpuArray m = zeros(ctx, GA_FLOAT, 2);
  gpudata *x = m.data, *list[1] = {x};
  size_t none[1] = {0}, wrapped[1] = {far}, last[1] = {most - 3};
  const cb_transpose no = cb_no_trans;
#define PRODUCT(call) REFUSED(VALUE, XLARGE, call)
  PRODUCT(gpublas_sdot(far, x, 0, 1, x, 0, 1, x, 0));
  PRODUCT(gpublas_sdot(2, x, far, 1, x, 0, 1, x, 0)); /* 2^62 floats wrap to byte 0 */
  PRODUCT(gpublas_sdot(2, x, 0, far, x, 0, 1, x, 0));
  PRODUCT(gpublas_sdot(2, x, 0, 1, x, 0, 1, x, far));
  PRODUCT(gpublas_sdot(most, x, 0, most, x, 0, most, x, 0));
  PRODUCT(gpublas_sgemv(cb_row, no, most, most, 1, x, 0, most, x, 0, 1, 0, x, 0, 1));
  PRODUCT(gpublas_sgemv(cb_row, no, 2, far, 1, x, 0, far, x, 0, -7, 0, x, 0, 1));
  PRODUCT(gpublas_sgemv(cb_row, no, 2, 2, 1, x, 0, most, x, 0, 1, 0, x, 0, 1));
  PRODUCT(gpublas_sgemv(cb_row, no, 2, 2, 1, x, 0, 2, x, far, 1, 0, x, 0, 1));
  PRODUCT(gpublas_sger(cb_row, 2, 2, 1, x, far, 1, x, 0, 1, x, 0, 2));
  PRODUCT(gpublas_sger(cb_column, far, 2, 1, x, 0, -3, x, 0, 1, x, 0, far));
  PRODUCT(gpublas_sgemm(cb_row, no, no, far, 2, 2, 1, x, 0, 2, x, 0, 2, 0, x, 0, 2));
  PRODUCT(gpublas_sgemm(cb_row, no, no, 2, 2, 2, 1, x, far, 2, x, 0, 2, 0, x, 0, 2));
  PRODUCT(gpublas_sgemm(cb_row, no, no, 2, 2, 2, 1, x, 0, 2, x, 0, 2, 0, x, 0, far));
  PRODUCT(gpublas_sgemm3D(cb_row, no, no, 2, 2, 2, 1, x, 0, 2, PTRDIFF_MAX, x, 0, 2, 0,
                          0, x, 0, 2, 0, 4, 0));
  PRODUCT(gpublas_sgemm3D(cb_row, no, no, 2, 2, 2, 1, x, 0, 2, 0, x, 0, 2, 0, 0, x, 0,
                          2, 4, most, 0));
  PRODUCT(gpublas_sgemmBatch(cb_row, no, no, 2, 2, 2, 1, list, wrapped, 2, list, none,
                             2, 0, list, none, 2, 1, 0));
  PRODUCT(gpublas_sgemvBatch(cb_row, no, 2, 2, 1, list, wrapped, 2, list, none, 1, 0,
                             list, none, 1, 1, 0));
  PRODUCT(gpublas_sgerBatch(cb_row, 2, 2, 1, list, none, 1, list, last, 1, list, none,
                            2, 1, 0));
  CHECK_OK(gpublas_sgemm(cb_row, no, no, 0, 2, 2, 1, x, 0, 2, x, 0, 2, 0, x, 0,
                         2)); /* none */
  GpuArray_clear(&m);
}

/* ---- no elements, and none but one ---- */

static void test_empty_and_single(void) {
  const size_t hollow[2] = {0, 4};
  GpuArray e = {0}, f = {0}, places = {0}, number = zeros(ctx, GA_FLOAT, 0);
  size_t count = 9;
  CHECK_OK(GpuArray_zeros(&e, ctx, GA_FLOAT, 2, hollow, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f, ctx, GA_FLOAT, 2, hollow, GA_F_ORDER));
  CHECK_OK(GpuArray_zeros(&places, ctx, GA_LONG, 2, hollow, GA_F_ORDER));
  CHECK_OK(GpuArray_move(&e, &f));
  CHECK_OK(GpuArray_setarray(&e, &number));
  CHECK_OK(GpuArray_sort(&e, &f, 0, 0));
  CHECK_OK(GpuArray_argsort(&places, &f, 1, 0));
  CHECK_OK(GpuArray_cumsum(&e, &f, 0, 0));
  CHECK_OK(GpuArray_memset(&e, 1));
  CHECK_OK(GpuArray_write(&e, NULL, 0));
  CHECK_OK(GpuArray_read(NULL, 0, &e));
  CHECK_OK(GpuArray_count_nonzero(&count, &e));
  CHECK(count == 0);
  CHECK_OK(GpuArray_copy(&out, &e, GA_F_ORDER));
  CHECK(out.dimensions[0] == 0 && out.dimensions[1] == 4);
  GpuArray_clear(&out);
  out = untouched;
  REFUSED(VALUE, INVALID, GpuArray_sort(&number, &number, 0, 0));
  REFUSED(VALUE, INVALID, GpuArray_cumsum(&number, &number, 0, 0));
  REFUSED(VALUE, INVALID, GpuArray_sort(&e, &e, 2, 0));
  REFUSED(VALUE, INVALID, GpuArray_cumsum(&e, &e, -3, 0));
  CHECK_OK(GpuArray_move(&number, &number));
  GpuArray_clear(&number);
  GpuArray_clear(&places);
  GpuArray_clear(&e);
  GpuArray_clear(&f);
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  ctx = open_null();
  CHECK_OK(gpucontext_open(&other, "null"));
  memset(&untouched, 0x77, sizeof untouched);
  out = untouched;
  ga__fail(GA_MISC_ERROR, "unsaid");
  test_types();
  test_other_contexts();
  test_read_only();
  test_unaligned();
  test_ranks();
  test_sizes();
  test_sizes_of_products();
  test_empty_and_single();
  gpucontext_deref(other);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
