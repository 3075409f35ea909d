/* NULL for each pointer of each product, solver and plan;
 * see test_null_arguments.c. */
#include "float_sum.h"
#include "null_arguments.h"

#include <gpuarray/blas.h>
#include <gpuarray/buffer_blas.h>
#include <gpuarray/fft.h>
#include <gpuarray/function.h>
#include <gpuarray/plan.h>
#include <gpuarray/solver.h>

/* ---- buffers ---- */

static gpudata *x, *y, *z;
static gpudata *xs[1], *ys[1], *zs[1], *no_buffers[1];
static size_t offsets[1];

/* The functions of one type: `factor` stands for alpha and beta. */
#define PRODUCTS(letter, factor)                                                       \
  do {                                                                                 \
    REFUSES(gpublas_##letter##dot(2, P(x), 0, 1, P(y), 0, 1, P(z), 0));                \
    REFUSES(gpublas_##letter##gemv(cb_row, cb_no_trans, 2, 2, factor, P(x), 0, 2,      \
                                   P(y), 0, 1, factor, P(z), 0, 1));                   \
    REFUSES(gpublas_##letter##gemm(cb_row, cb_no_trans, cb_no_trans, 2, 2, 2, factor,  \
                                   P(x), 0, 2, P(y), 0, 2, factor, P(z), 0, 2));       \
    REFUSES(gpublas_##letter##ger(cb_row, 2, 2, factor, P(x), 0, 1, P(y), 0, 1, P(z),  \
                                  0, 2));                                              \
    REFUSES(gpublas_##letter##gemm3D(cb_row, cb_no_trans, cb_no_trans, 2, 2, 2,        \
                                     factor, P(x), 0, 2, 4, P(y), 0, 2, 4, factor,     \
                                     P(z), 0, 2, 4, 1, 0));                            \
    REFUSES(gpublas_##letter##gemmBatch(                                               \
        cb_row, cb_no_trans, cb_no_trans, 2, 2, 2, factor, EACH(xs), P(offsets), 2,    \
        EACH(ys), P(offsets), 2, factor, EACH(zs), P(offsets), 2, 1, 0));              \
    REFUSES(gpublas_##letter##gemvBatch(cb_row, cb_no_trans, 2, 2, factor, EACH(xs),   \
                                        P(offsets), 2, EACH(ys), P(offsets), 1,        \
                                        factor, EACH(zs), P(offsets), 1, 1, 0));       \
    REFUSES(gpublas_##letter##gerBatch(cb_row, 2, 2, factor, EACH(xs), P(offsets), 1,  \
                                       EACH(ys), P(offsets), 1, EACH(zs), P(offsets),  \
                                       2, 1, 0));                                      \
  } while (0)

/* A list of buffers, and one in which a buffer is NULL. */
#define EACH(list) EITHER(no_buffers, P(list))

static void test_buffers(void) {
  int status = GA_NO_ERROR;
  const float f[2] = {1, 0};
  const double d[2] = {1, 0};
  xs[0] = x = gpudata_alloc(ctx, 256, NULL, 0, &status);
  ys[0] = y = gpudata_alloc(ctx, 256, NULL, 0, &status);
  zs[0] = z = gpudata_alloc(ctx, 256, NULL, 0, &status);
  CHECK_OK(status);
  REFUSES(gpublas_setup(P(ctx)));
  gpublas_teardown(NULL);
  CHECK(gpublas_error(NULL) != NULL);
  PRODUCTS(h, 1);
  PRODUCTS(b, 1);
  PRODUCTS(s, 1);
  PRODUCTS(d, 1);
  PRODUCTS(c, P(f));
  PRODUCTS(z, P(d));
  gpudata_release(x);
  gpudata_release(y);
  gpudata_release(z);
}

/* ---- arrays ---- */

static void test_arrays(void) {
  const size_t dims[3] = {2, 2, 2};
  const double one[2] = {1, 0};
  GpuArray a, b, c, v, w, dot, m, n, k;
  GpuArray *made[] = {&a, &b, &c, &v, &w, &dot, &m, &n, &k};
  const unsigned int ranks[] = {2, 2, 2, 1, 1, 0, 3, 3, 3};
  const cb_transpose no = cb_no_trans;
  for (int i = 0; i < 9; i++)
    CHECK_OK(GpuArray_zeros(made[i], ctx, GA_FLOAT, ranks[i], dims, GA_C_ORDER));
  REFUSES(GpuArray_rdot(P(&v), P(&w), P(&dot), 0));
  REFUSES(GpuArray_rdotc(P(&v), P(&w), P(&dot), 0));
  REFUSES(GpuArray_rgemv(no, 1, P(&a), P(&v), 0, P(&w), 0));
  REFUSES(GpuArray_rgemm(no, no, 1, P(&a), P(&b), 0, P(&c), 0));
  REFUSES(GpuArray_rger(1, P(&v), P(&w), P(&a), 0));
  REFUSES(GpuArray_rgemmBatch_3d(no, no, 1, P(&m), P(&n), 0, P(&k), 0));
  REFUSES(GpuArray_cgemv(no, P(one), P(&a), P(&v), P(one), P(&w), 0));
  REFUSES(GpuArray_cgemm(no, no, P(one), P(&a), P(&b), P(one), P(&c), 0));
  REFUSES(GpuArray_cgeru(P(one), P(&v), P(&w), P(&a), 0));
  REFUSES(GpuArray_cgerc(P(one), P(&v), P(&w), P(&a), 0));
  REFUSES(GpuArray_cgemmBatch_3d(no, no, P(one), P(&m), P(&n), P(one), P(&k), 0));
  REFUSES(
      GpuArray_gemm_bias(no, no, P(&a), P(&b), P(&v), GA_ACTIVATION_NONE, P(&c), 0));
  for (int i = 0; i < 9; i++)
    GpuArray_clear(made[i]);
}

static void test_solvers(void) {
  const size_t dims[2] = {2, 2};
  GpuArray a, v;
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_CFLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&v, ctx, GA_CFLOAT, 1, dims, GA_C_ORDER));
  CHECK(gpuarray_solves(NULL) == 0 && gpuarray_transforms(NULL) == 0);
  REFUSES(GpuArray_fft(P(&a), P(&a), 1, 0));
  REFUSES(GpuArray_cholesky(P(&a), cb_upper, NULL));
  REFUSES(GpuArray_lu(P(&a), P(&v), NULL));
  REFUSES(GpuArray_lu_solve(cb_no_trans, P(&a), P(&v), P(&a)));
  REFUSES(GpuArray_qr(P(&a), P(&v)));
  REFUSES(GpuArray_qr_vectors(P(&a), P(&v)));
  REFUSES(GpuArray_svd(P(&a), P(&v), NULL, NULL, NULL));
  REFUSES(GpuArray_eigh(P(&a), cb_upper, 0, P(&v), NULL));
  REFUSES(GpuArray_eig(P(&a), P(&v), NULL, NULL));
  GpuArray_clear(&a);
  GpuArray_clear(&v);
}

/* ---- plans ---- */

static gpuelemwise_arg result = {"y", GA_FLOAT, GE_WRITE};
static gpuelemwise_arg input = {"x", GA_FLOAT, GE_READ};
static const gpuelemwise_arg nameless = {NULL, GA_FLOAT, GE_READ};

/* An elementwise step of which each pointer in turn is NULL. */
static int add_elemwise(GpuPlan *p, unsigned int in) {
  unsigned int made = 7;
  gpuplan_elemwise step = {.size = sizeof step,
                           .expr = P("y = x"),
                           .n_out = 1,
                           .out_args = P(&result),
                           .n_in = 1,
                           .in_args = EITHER(&nameless, P(&input)),
                           .ins = P(&in)};
  int status = GpuPlan_elemwise(p, &made, &step);
  CHECK(status == GA_NO_ERROR || made == 7);
  return status;
}

static int own_step(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                    const long long *ints) {
  (void)data, (void)outs, (void)ins, (void)ints;
  return GA_NO_ERROR;
}

static void test_reading(GpuPlan *p) {
  unsigned int value = 7, integers = 0;
  const size_t one = 1;
  GpuArray a = {0};
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_INT, 1, &one, GA_C_ORDER));
  CHECK_OK(GpuPlan_constant(p, &integers, &a));
  REFUSES(GpuPlan_read(P(p), P(&value), "read", integers, 1));
  GpuArray_clear(&a);
}

static void test_building(GpuPlan *p, const GpuArray *a, unsigned int in) {
  unsigned int value = 7, dim = 0, dims[2];
  const int order[2] = {1, 0};
  gpuplan_elemwise step = {.size = sizeof step,
                           .expr = "y = x",
                           .n_out = 1,
                           .out_args = &result,
                           .n_in = 1,
                           .in_args = &input,
                           .ins = &in};
  gpureduction_spec spec = float_sum(&input);
  CHECK_OK(GpuPlan_dim(p, &dim, in, 0));
  dims[0] = dims[1] = dim;
  REFUSES(GpuPlan_input(P(p), P(&value), GA_FLOAT, 2, 0));
  REFUSES(GpuPlan_constant(P(p), P(&value), P(a)));
  REFUSES(GpuPlan_int(P(p), P(&value), 3));
  REFUSES(GpuPlan_dim(P(p), P(&value), in, 0));
  REFUSES(GpuPlan_int_op(P(p), P(&value), GP_INT_ADD, dim, dim));
  REFUSES(GpuPlan_choose(P(p), P(&value), "if", dim, in, in));
  REFUSES(GpuPlan_add_context(P(p), P(&value), P(ctx)));
  REFUSES(GpuPlan_on(P(p), 0));
  REFUSES(GpuPlan_name_context(P(p), 0, P("dev0")));
  REFUSES(GpuPlan_transfer(P(p), P(&value), "move", in));
  test_reading(p);
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_when(NULL, 1, &dim, order));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_when(p, 1, NULL, order));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_when(p, 1, &dim, NULL));
  REFUSES(GpuPlan_elemwise(P(p), P(&value), P(&step)));
  REFUSES(add_elemwise(p, in));
  REFUSES(GpuPlan_reduce(P(p), P(&value), "r", P(&spec), P(&in), NULL, 1));
  REFUSES(GpuPlan_gemv(P(p), P(&value), "v", 1, in, cb_no_trans, in, 0, in, 0));
  REFUSES(GpuPlan_gemm(P(p), P(&value), "m", 1, in, cb_no_trans, in, cb_no_trans, 0, in,
                       0));
  REFUSES(GpuPlan_dimshuffle(P(p), P(&value), "d", in, 2, P(order)));
  REFUSES(GpuPlan_reshape(P(p), P(&value), "r", in, 2, P(dims)));
  REFUSES(GpuPlan_broadcast(P(p), P(&value), "b", in, 2, P(dims)));
  REFUSES(GpuPlan_copy(P(p), P(&value), "c", in));
  REFUSES(GpuPlan_reports(P(p), P(&value), "n"));
  REFUSES(GpuPlan_confirm(P(p)));
  const int form[1] = {GP_INDEX_AT};
  REFUSES(GpuPlan_index(P(p), P(&value), "i", in, 1, P(form), P(&dim)));
  const gpuplan_type type = {GA_FLOAT, 2};
  const gpuplan_routine copied = {.size = sizeof copied,
                                  .name = "contiguous",
                                  .n_in = 1,
                                  .ins = &in,
                                  .n_out = 1,
                                  .results = &type};
  REFUSES(GpuPlan_routine(P(p), P(&value), P(&copied)));
  const gpuplan_loop turns = {.size = sizeof turns,
                              .turns = dim,
                              .takes = "s",
                              .n_in = 1,
                              .ins = &in,
                              .n_out = 1,
                              .results = &type};
  REFUSES(GpuPlan_loop(P(p), P(&value), P(&turns)));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(NULL, in, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, in, NULL)); /* it would own the body */
  REFUSES(GpuPlan_function(P(p), P(&value), "f", own_step, NULL, 1, P(&in), 1, P(&type),
                           NULL));
  GpuArray *filled[1] = {(GpuArray *)(uintptr_t)a};
  const GpuArray *given[1] = {a};
  const long long integers[1] = {0};
  REFUSES(GpuPlan_defer(EITHER(NULL, own_step), NULL, 1, P(filled), 1, P(given),
                        P(integers)));
  GpuArray own = *a;
  filled[0] = &own;
  REFUSES_DAMAGED(&own, GpuPlan_defer(own_step, NULL, 1, filled, 1, given, integers));
  filled[0] = (GpuArray *)(uintptr_t)a;
  given[0] = &own;
  REFUSES_DAMAGED(&own, GpuPlan_defer(own_step, NULL, 1, filled, 1, given, integers));
  REFUSES(GpuPlan_output(P(p), in));
  CHECK(value == 7);
}

/* `p` copies its input, `a` is one. */
static void test_functions(GpuPlan *p, const GpuArray *a) {
  GpuFunction *f = NULL, *other = NULL;
  const gpufunction_value value = {"w", a, 0, -1, 0};
  const gpufunction_spec spec = {.size = sizeof spec, .n_values = 1, .values = &value};
  gpufunction_spec bare = spec, noted = spec, unnamed = spec;
  const gpufunction_value unnamed_value = {NULL, a, 0, -1, 0},
                          empty = {"w", NULL, 0, -1, 0};
  GpuArray *outs[1] = {&out}, *no_outs[1] = {NULL};
  gpufunction_item item;
  gpucontext *where = NULL;
  unsigned int n;
  const void *bytes;
  size_t size;
  REFUSES(GpuFunction_new(P(&other), P(p), P(&spec)));
  bare.values = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_new(&other, p, &bare));
  noted.note_size = 3;
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_new(&other, p, &noted));
  unnamed.values = &unnamed_value;
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_new(&other, p, &unnamed));
  GpuArray own = *a;
  const gpufunction_value kept = {"w", &own, 0, -1, 0};
  gpufunction_spec hurts = spec;
  hurts.values = &kept;
  REFUSES_DAMAGED(&own, GpuFunction_new(&other, p, &hurts));
  unnamed.values = &empty;
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_new(&other, p, &unnamed));
  const gpuplan_context contexts = {"dev0", ctx}, no_context = {"dev0", NULL};
  REFUSES(GpuFunction_load(P(&other), P(ctx), P("/nowhere/at/all")));
  REFUSES(GpuFunction_load_on(P(&other), 1, P(&contexts), P("/nowhere/at/all")));
  REFUSES(GpuFunction_load_on(&other, 1, EITHER(&no_context, &contexts), "/nowhere"));
  CHECK(other == NULL);
  CHECK_OK(GpuFunction_new(&f, p, &spec));
  REFUSES(GpuFunction_save(P(f), P("/nowhere/at/all")));
  REFUSES(GpuFunction_call(P(f), P(outs), NULL, NULL));
  REFUSES(GpuFunction_call(f, EITHER(no_outs, outs), NULL, NULL));
  REFUSES(GpuFunction_get(P(f), P("v"), P(&out)));
  REFUSES(GpuFunction_set(P(f), P("v"), P(a)));
  REFUSES(GpuFunction_count(P(f), GF_VALUES, P(&n)));
  REFUSES(GpuFunction_item(P(f), GF_VALUES, 0, P(&item)));
  REFUSES(GpuFunction_context(P(f), GF_VALUES, 0, P(&where)));
  REFUSES(GpuFunction_note(P(f), P(&bytes), P(&size)));
  CHECK(GpuFunction_plan(NULL) == NULL);
  GpuFunction_free(f);
  GpuFunction_free(NULL);
}

static void test_needs(GpuPlan *p) {
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = x", 2, args, 1, 0);
  GpuReduction *gr = GpuReduction_extremum(ctx, GA_FLOAT, 0, GA_EXTREMUM_VALUE, NULL);
  REFUSES(GpuPlan_needs_kernel(P(p), P("KERNEL void f() {}"), P("f")));
  REFUSES(GpuPlan_needs_elemwise(P(p), P(ge), 2, 0));
  REFUSES(GpuPlan_needs_reduction(P(p), P(gr), 2, 1));
  GpuElemwise_free(ge);
  GpuReduction_free(gr);
}

static void test_plans(void) {
  const size_t dims[2] = {2, 2};
  GpuArray a;
  GpuPlan *p = NULL, *other = NULL;
  unsigned int in, copy, number, nd;
  const long long ints[1] = {3};
  gpuplan_info info;
  GpuArray *outs[1] = {&out}, *no_outs[1] = {NULL};
  const GpuArray *ins[1] = {&a}, *no_ins[1] = {NULL};
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  REFUSES(GpuPlan_new(P(&other), P(ctx), P("p")));
  const gpuplan_context contexts = {"dev0", ctx}, no_context = {"dev0", NULL};
  char name[GPUPLAN_NAME] = "";
  REFUSES(GpuPlan_load(P(&other), P(ctx), P("/nowhere")));
  REFUSES(GpuPlan_load_on(P(&other), 1, P(&contexts), P("/nowhere")));
  REFUSES(GpuPlan_load_on(&other, 1, EITHER(&no_context, &contexts), "/nowhere"));
  REFUSES(GpuPlan_file_context(P("/nowhere"), 0, P(name), P(&number)));
  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  CHECK_OK(GpuPlan_input(p, &in, GA_FLOAT, 2, 0));
  test_building(p, &a, in);
  CHECK_OK(GpuPlan_copy(p, &copy, NULL, in));
  CHECK_OK(GpuPlan_output(p, copy));
  test_needs(p);
  REFUSES(GpuPlan_prepare(P(p)));
  REFUSES(GpuPlan_prepare_ahead(P(p)));
  REFUSES(GpuPlan_run(P(p), P(outs), P(ins), NULL));
  REFUSES(GpuPlan_run(p, EITHER(no_outs, outs), ins, NULL));
  REFUSES(GpuPlan_run(p, outs, EITHER(no_ins, ins), NULL));
  REFUSES_DAMAGED(&a, GpuPlan_run(p, outs, ins, NULL));
  REFUSES_DAMAGED(&a, GpuPlan_bind(p, ins, NULL));
  REFUSES(GpuPlan_bind(P(p), P(ins), NULL));
  REFUSES(GpuPlan_bind(p, EITHER(no_ins, ins), NULL));
  REFUSES(GpuPlan_save(P(p), P("/nowhere/at/all")));
  REFUSES(GpuPlan_input_type(P(p), 0, NULL, &nd, NULL));
  REFUSES(GpuPlan_output_type(P(p), 0, NULL, &nd));
  REFUSES(GpuPlan_info(P(p), P(&info)));
  REFUSES(GpuPlan_keep(P(p), 2));
  REFUSES(GpuPlan_hold(P(p), 1));
  REFUSES(GpuPlan_device(P(p), P(&number), GP_DEVICE_PROCESSORS));
  REFUSES(GpuPlan_use_bodies(P(p), 1));
  REFUSES(GpuPlan_protect(P(p), 1));
  CHECK_OK(GpuPlan_input_type(p, 0, NULL, NULL, NULL));
  CHECK_OK(GpuPlan_output_type(p, 0, NULL, NULL));
  test_functions(p, &a);
  GpuPlan_free(p);
  CHECK_OK(GpuPlan_new(&p, ctx, "q"));
  CHECK_OK(GpuPlan_input(p, &in, GA_FLOAT, 2, 0));
  REFUSES(GpuPlan_int_input(P(p), P(&number)));
  CHECK_OK(GpuPlan_int_input(p, &number));
  CHECK_OK(GpuPlan_output(p, in));
  REFUSES(GpuPlan_call(P(p), P(outs), P(ins), P(ints), NULL));
  CHECK(other == NULL);
  GpuPlan_free(p);
  GpuPlan_free(NULL);
  GpuArray_clear(&a);
}

int main(int argc, char **argv) {
  (void)argc;
  open_untouched();
  test_buffers();
  test_arrays();
  test_solvers();
  test_plans();
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
