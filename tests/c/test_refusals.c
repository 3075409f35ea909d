/* What single functions refuse, each with its text; what all functions refuse is
 * test_bad_input.c's. On the null backend. */
#include "float_sum.h"
#include "null_context.h"

#include <gpuarray/blas.h>
#include <gpuarray/buffer_blas.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>
#include <gpuarray/reduction.h>
#include <gpuarray/scan.h>
#include <gpuarray/sort.h>

static gpucontext *ctx, *other;

static GpuArray zeros(int typecode, unsigned int nd, size_t rows, size_t columns) {
  GpuArray a = {0};
  const size_t dims[3] = {rows, columns, columns};
  CHECK_OK(GpuArray_zeros(&a, ctx, typecode, nd, dims, GA_C_ORDER));
  return a;
}

#define REFUSED(status, text, call)                                                    \
  do {                                                                                 \
    CHECK_STATUS(GA_##status##_ERROR, call);                                           \
    CHECK_TEXT(text);                                                                  \
  } while (0)

static void test_contexts(void) {
  gpucontext *made = NULL;
  gpucontext_props *p = NULL;
  CHECK_OK(gpucontext_props_new(&p));
  CHECK_OK(gpucontext_props_opencl_dev(p, -3, 0));
  REFUSED(VALUE, "there is no platform -3", gpucontext_init(&made, "opencl", p));
  CHECK(made == NULL);
}

static void test_views(void) {
  GpuArray a = zeros(GA_FLOAT, 2, 4, 4), out = {.nd = 77};
  const size_t dims[1] = {16};
  const int pattern[2] = {0, 2};
  REFUSED(VALUE, "got order 5", GpuArray_reshape(&out, &a, 1, dims, (ga_order)5, 0));
  REFUSED(VALUE, "axis 2 is out of range", GpuArray_dimshuffle(&out, &a, 2, pattern));
  CHECK(out.nd == 77);
  GpuArray_clear(&a);
}

static void test_products(void) {
  GpuArray four = zeros(GA_FLOAT, 1, 4, 0), three = zeros(GA_FLOAT, 1, 3, 0);
  GpuArray number = zeros(GA_FLOAT, 0, 0, 0), m = zeros(GA_FLOAT, 2, 4, 4);
  GpuArray two = zeros(GA_FLOAT, 3, 2, 4), five = zeros(GA_FLOAT, 3, 5, 4);
  GpuArray c = zeros(GA_CFLOAT, 2, 4, 4), out = zeros(GA_FLOAT, 2, 4, 4), row = {0};
  const ssize_t starts[2] = {0, 0}, stops[2] = {1, 4}, steps[2] = {0, 1};
  const cb_transpose no = cb_no_trans;
  REFUSED(VALUE, "expected one length", GpuArray_rdot(&four, &three, &number, 0));
  REFUSED(VALUE, "leading axes",
          GpuArray_rgemmBatch_3d(no, no, 1, &two, &two, 0, &five, 0));
  REFUSED(INVALID, "expected a real type",
          GpuArray_gemm_bias(no, no, &c, &c, &four, GA_ACTIVATION_NONE, &c, 0));
  CHECK_OK(GpuArray_index(&row, &out, starts, stops, steps));
  REFUSED(COPY, "bias overlaps the output",
          GpuArray_gemm_bias(no, no, &m, &m, &row, GA_ACTIVATION_NONE, &out, 1));
  REFUSED(VALUE, "whose elements are distinct",
          gpublas_sgemv(cb_row, no, 4, 4, 1, m.data, 0, 4, m.data, 0, 1, 0, out.data, 0,
                        0));
  GpuArray *all[] = {&four, &three, &number, &m, &two, &five, &c, &out, &row};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void test_kernels(void) {
  static int types[300];
  const char *text = "KERNEL void f() {}";
  GpuKernel k = {NULL, NULL};
  for (int i = 0; i < 300; i++)
    types[i] = GA_INT;
  REFUSED(UNSUPPORTED, "300 arguments are more than",
          GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 300, types, 0, NULL));
  CHECK(k.k == NULL);
}

static void test_expressions(void) {
  const gpuelemwise_arg both[2] = {{"x", GA_FLOAT, GE_READ}, {"y", GA_FLOAT, GE_WRITE}};
  const gpuelemwise_arg mixed[3] = {{"y", GA_FLOAT, GE_WRITE},
                                    {"x", GA_FLOAT, GE_READ},
                                    {"z", GA_FLOAT, GE_READ | GE_WRITE}};
  GpuArray a = zeros(GA_FLOAT, 1, 4, 0), out = {.nd = 77};
  GpuArray *outs[1] = {&out};
  void *ins[2] = {&a, &a};
  GpuElemwise *ge = NULL;
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "y = x", 2, both, 0));
  REFUSED(VALUE, "no output to make", GpuElemwise_apply(ge, outs, ins));
  GpuElemwise_free(ge);
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "y = x; z = x", 3, mixed, 0));
  REFUSED(INVALID, "does not lead the arguments", GpuElemwise_apply(ge, outs, ins));
  GpuElemwise_free(ge);
  CHECK(out.nd == 77);
  GpuArray_clear(&a);
}

static void test_reductions_and_orders(void) {
  GpuArray a = zeros(GA_FLOAT, 2, 4, 4), max = zeros(GA_LONG, 1, 4, 0), odd = {0};
  GpuArray c = zeros(GA_CFLOAT, 2, 4, 4), i = zeros(GA_LONG, 2, 4, 4), out = {.nd = 77};
  const size_t dims[2] = {4, 4};
  const unsigned int axis[1] = {1};
  int ret = GA_NO_ERROR;
  GpuReduction *gr = GpuReduction_extremum(ctx, GA_FLOAT, 0, GA_EXTREMUM_VALUE, &ret);
  gpudata *bytes = gpudata_alloc(ctx, 128, NULL, 0, NULL);
  void *ins[1] = {&odd};
  CHECK_OK(GpuArray_fromdata(&odd, bytes, 2, GA_FLOAT, 2, dims, NULL, 1));
  REFUSED(UNALIGNED, "not aligned", GpuReduction_apply(gr, &out, ins, 1, 0));
  GpuArray_clear(&odd);
  CHECK_OK(GpuArray_fromdata(&odd, bytes, 2, GA_LONG, 1, dims, NULL, 1));
  GpuArray greatest = zeros(GA_FLOAT, 1, 4, 0);
  REFUSED(UNALIGNED, "not aligned",
          GpuArray_maxandargmax(&greatest, &odd, &a, 1, axis));
  REFUSED(VALUE, "the same memory", GpuArray_maxandargmax(&max, &max, &i, 1, axis));
  REFUSED(UNSUPPORTED, "complex numbers", GpuArray_cummax(&c, &c, 0, 0));
  REFUSED(VALUE, "overlap", GpuArray_topk(&i, &i, &i, 4, 0, 1, 1));
  CHECK(out.nd == 77);
  GpuReduction_free(gr);
  gpudata_release(bytes);
  GpuArray *all[] = {&a, &max, &odd, &c, &i, &greatest};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    GpuArray_clear(all[k]);
}

static int run_plan(GpuPlan *p, const GpuArray *a) {
  GpuArray out = {.nd = 77};
  GpuArray *outs[1] = {&out};
  const GpuArray *ins[1] = {a};
  int status = GpuPlan_run(p, outs, ins, NULL);
  CHECK(status == GA_NO_ERROR || out.nd == 77);
  if (status == GA_NO_ERROR)
    GpuArray_clear(&out);
  return status;
}

static void test_building_plans(void) {
  const gpuelemwise_arg y = {"y", GA_FLOAT, GE_WRITE}, x = {"x", GA_INT, GE_READ};
  gpureduction_spec spec = float_sum(&x);
  GpuPlan *p = NULL;
  unsigned int in, dim, value = 7;
  int over[1] = {4};
  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  CHECK_OK(GpuPlan_input(p, &in, GA_INT, 2, 0));
  CHECK_OK(GpuPlan_dim(p, &dim, in, 0));
  gpuplan_elemwise step = {.size = sizeof step,
                           .expr = "y = x",
                           .n_out = 1,
                           .out_args = &y,
                           .n_in = 1,
                           .in_args = &x,
                           .ins = &in,
                           .inplace = over};
  REFUSED(INVALID, "expected an array", GpuPlan_copy(p, &value, NULL, dim));
  REFUSED(INVALID, "unknown operation 99", GpuPlan_int_op(p, &value, 99, dim, dim));
  REFUSED(VALUE, "expected 1",
          GpuPlan_gemv(p, &value, NULL, 1, in, cb_no_trans, in, 0, in, 0));
  REFUSED(INVALID, "is to overwrite input 4, but there are 1 inputs",
          GpuPlan_elemwise(p, &value, &step));
  over[0] = 0;
  REFUSED(INVALID, "cannot overwrite an input of", GpuPlan_elemwise(p, &value, &step));
  const gpuelemwise_arg wide = {"x", GA_DOUBLE, GE_READ};
  step.in_args = &wide;
  REFUSED(INVALID, "'x' is int32, expected float64",
          GpuPlan_elemwise(p, &value, &step));
  step.size--;
  REFUSED(INVALID, "gpuplan_elemwise.size", GpuPlan_elemwise(p, &value, &step));
  REFUSED(VALUE, "0x4, is out of range for an array of 2 axes",
          GpuPlan_reduce(p, &value, NULL, &spec, &in, NULL, 4));
  CHECK(value == 7);
  GpuPlan_free(p);
}

static void test_running_plans(void) {
  const size_t dims[2] = {4, 4};
  GpuArray a = zeros(GA_FLOAT, 2, 4, 4), far = {0};
  GpuPlan *p = NULL;
  unsigned int in, rows, none, three, bad, shape[2], reshaped;
  CHECK_OK(GpuArray_zeros(&far, other, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  CHECK_OK(GpuPlan_input(p, &in, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_dim(p, &rows, in, 0));
  CHECK_OK(GpuPlan_int(p, &three, 3));
  shape[0] = three;
  shape[1] = rows;
  CHECK_OK(GpuPlan_reshape(p, &reshaped, "r", in, 2, shape));
  CHECK_OK(GpuPlan_output(p, reshaped));
  REFUSED(VALUE, "is on", run_plan(p, &far));
  CHECK_STATUS(GA_VALUE_ERROR, run_plan(p, &a)); /* 16 elements into (3, 4) */
  GpuPlan_free(p);

  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  CHECK_OK(GpuPlan_input(p, &in, GA_FLOAT, 2, 1)); /* whose first axis has length 1 */
  CHECK_OK(GpuPlan_dim(p, &rows, in, 1));
  CHECK_OK(GpuPlan_int(p, &none, 0));
  CHECK_OK(GpuPlan_int_op(p, &bad, GP_INT_FLOORDIV, rows, none));
  shape[0] = shape[1] = bad;
  CHECK_OK(GpuPlan_reshape(p, &reshaped, "r", in, 1, shape));
  CHECK_OK(GpuPlan_output(p, reshaped));
  REFUSED(VALUE, "declared broadcastable", run_plan(p, &a));
  GpuArray_clear(&a);
  a = zeros(GA_FLOAT, 2, 1, 4);
  REFUSED(VALUE, "// 0", run_plan(p, &a));
  GpuPlan_free(p);
  GpuArray_clear(&far);
  GpuArray_clear(&a);
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  ctx = open_null();
  CHECK_OK(gpucontext_open(&other, "null"));
  test_contexts();
  test_views();
  test_products();
  test_kernels();
  test_expressions();
  test_reductions_and_orders();
  test_building_plans();
  test_running_plans();
  gpucontext_deref(other);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
