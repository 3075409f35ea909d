/* What a plan compiles before it runs: kernels that its functions need, too. */
#include "float_sum.h"
#include "null_plan.h"

#include <gpuarray/buffer_blas.h>
#include <gpuarray/kernel.h>
#include <stdatomic.h>

static atomic_int compiles; /* programs, by several threads at once */

static int watched_compile(void **program, void *device, const char *source,
                           ga_strbuf *log) {
  compiles++;
  if (strstr(source, "WRONG"))
    return GA_FAIL(GA_COMPILE_ERROR, "the compiler refused");
  return ga__null_backend.compile(program, device, source, log);
}

static gpucontext *open_watched(void) {
  gpucontext *ctx = open_null();
  hooked.compile = watched_compile;
  compiles = 0;
  return ctx;
}

static gpucontext_cache cache_of(gpucontext *ctx) {
  gpucontext_cache info;
  CHECK_OK(gpucontext_cache_info(ctx, &info));
  return info;
}

#define CLOSED "GA_SELF_CONTAINED\n"
static const char first[] = CLOSED "KERNEL void first(GLOBAL_MEM float *x) {}";
static const char second[] = CLOSED "KERNEL void second(GLOBAL_MEM float *x) {}";
static gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};

/* An elementwise step of x, in its place where `over` is 0. */
static int add_step(GpuPlan *p, unsigned int *y, unsigned int x, const char *expr,
                    int over) {
  const unsigned int none = 0;
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "double",
                           .preamble = CLOSED,
                           .expr = expr,
                           .n_out = 1,
                           .out_args = args,
                           .inplace = &over,
                           .n_in = 1,
                           .in_args = args + 1,
                           .ins = &x,
                           .stretch = &none};
  return GpuPlan_elemwise(p, y, &step);
}

/* 2 x for a matrix, and what functions would need besides. */
static int build(GpuPlan **plan, gpucontext *ctx) {
  unsigned int x, y;
  int status = GpuPlan_new(plan, ctx, "prepared");
  STEP(GpuPlan_input(*plan, &x, GA_FLOAT, 2, 0));
  STEP(add_step(*plan, &y, x, "y = x + x", -1));
  STEP(GpuPlan_output(*plan, y));
  STEP(GpuPlan_needs_kernel(*plan, first, "first"));
  STEP(GpuPlan_needs_kernel(*plan, second, "second"));
  STEP(GpuPlan_needs_kernel(*plan, first, "first"));
  return status;
}

/* Makes a user's kernel and ends it. */
static int use(gpucontext *ctx, const char *text, const char *name) {
  const int type = GA_BUFFER;
  GpuKernel k;
  int status = GpuKernel_init(&k, ctx, 1, &text, NULL, name, 1, &type, 0, NULL);
  GpuKernel_clear(&k);
  return status;
}

static void test_all_are_one_program(void) {
  gpucontext *ctx = open_watched();
  GpuPlan *p = NULL;
  CHECK_OK(build(&p, ctx));
  CHECK(compiles == 0);
  CHECK_OK(GpuPlan_prepare(p));
  size_t compiled = cache_of(ctx).compiled;
  CHECK(compiles == 1 && compiled == 3); /* flat and both of the user */
  CHECK_OK(use(ctx, first, "first"));
  CHECK_OK(use(ctx, second, "second"));
  CHECK(compiles == 1 && cache_of(ctx).compiled == compiled);
  CHECK_OK(use(ctx, "KERNEL void third(GLOBAL_MEM float *x) {}", "third"));
  CHECK(compiles == 2);
  CHECK_OK(GpuPlan_prepare(p));
  CHECK(compiles == 2);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
}

static int call_it(GpuElemwise *ge, gpucontext *ctx, size_t columns) {
  GpuArray x = {0}, y = {0};
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){3, 8}, GA_C_ORDER);
  x.dimensions[1] = columns;
  GpuArray_fix_flags(&x);
  STEP(GpuArray_zeros(&y, ctx, GA_FLOAT, 2, x.dimensions, GA_C_ORDER));
  STEP(GpuElemwise_call(ge, (void *[]){&y, &x}, 0));
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  return status;
}

static int reduce_it(GpuReduction *gr, gpucontext *ctx, size_t rows) {
  GpuArray x = {0}, made = {0};
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){rows, 8}, GA_C_ORDER);
  STEP(GpuReduction_apply(gr, &made, (void *[]){&x}, 2, 0));
  GpuArray_clear(&x);
  GpuArray_clear(&made);
  return status;
}

static void test_what_objects_need(void) {
  gpucontext *ctx = open_watched(), *other;
  GpuPlan *p = NULL;
  CHECK_OK(gpucontext_open(&other, "null"));
  hooked.launch = ga__null_backend.launch;
  GpuElemwise *ge = NULL,
              *foreign = GpuElemwise_new(other, NULL, "y = -x", 2, args, 0, 0);
  GpuReduction *gr = GpuReduction_extremum(ctx, GA_FLOAT, 0, GA_EXTREMUM_VALUE, NULL);
  CHECK_OK(GpuElemwise_create(&ge, ctx, CLOSED, "y = -x", 2, args, 0));
  CHECK_OK(GpuPlan_new(&p, ctx, "objects"));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_needs_elemwise(p, foreign, 2, 0));
  CHECK_TEXT("it is on null, the plan on null");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_needs_elemwise(p, ge, GA_MAX_NDIM + 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_needs_reduction(p, gr, 2, 4));
  CHECK_TEXT("0x4, is out of range for arrays of 2 axes");
  CHECK_OK(GpuPlan_needs_elemwise(p, ge, 2, 0));
  CHECK_OK(GpuPlan_needs_reduction(p, gr, 2, 2));
  CHECK_OK(GpuPlan_prepare(p));
  size_t compiled = cache_of(ctx).compiled;
  CHECK(compiles == 1 && compiled > 2);
  for (size_t n = 1; n <= 8; n++) {
    CHECK_OK(call_it(ge, ctx, n));
    CHECK_OK(reduce_it(gr, ctx, n));
  }
  CHECK(compiles == 1 && cache_of(ctx).compiled == compiled);
  GpuPlan_free(p);
  GpuElemwise_free(ge);
  GpuElemwise_free(foreign);
  GpuReduction_free(gr);
  gpucontext_deref(other);
  gpucontext_deref(ctx);
}

static void test_wrong_texts(void) {
  char name[] = "a_name_that_is_longer_than_the_names_of_kernels_may_be_in_the_library";
  gpucontext *ctx = open_watched();
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "wrong"));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_needs_kernel(p, first, name));
  CHECK_TEXT("expected 1 to 63");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_needs_kernel(p, first, ""));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_needs_kernel(p, "", "first"));
  CHECK_OK(GpuPlan_prepare(p));
  CHECK(compiles == 0);
  CHECK_OK(GpuPlan_needs_kernel(p, first, "fourth"));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_prepare(p));
  CHECK_TEXT("no kernel fourth");
  GpuPlan_free(p);
  gpucontext_deref(ctx);
}

/* A file has what the plan needs although nothing was bound, and so has its copy. */
static void test_a_file_has_them(void) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  GpuPlan *p = NULL;
  make_file(path);
  gpucontext *ctx = open_watched();
  CHECK_OK(build(&p, ctx));
  CHECK_OK(GpuPlan_prepare(p));
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  for (int copy = 0; copy < 2; copy++) {
    ctx = open_watched();
    CHECK_OK(GpuPlan_load(&p, ctx, path));
    CHECK_OK(GpuPlan_prepare(p));
    CHECK_OK(use(ctx, first, "first"));
    CHECK_OK(use(ctx, second, "second"));
    CHECK(compiles == 0);
    CHECK_OK(GpuPlan_save(p, path));
    GpuPlan_free(p);
    gpucontext_deref(ctx);
  }
  unlink(path);
}

/* The kernels that preparing makes of a plan so far. */
static size_t prepared(GpuPlan *p, gpucontext *ctx) {
  size_t before = cache_of(ctx).compiled;
  CHECK_OK(GpuPlan_prepare(p));
  return cache_of(ctx).compiled - before;
}

static void test_what_is_in_c_order_is_walked_as_one_block(void) {
  gpucontext *ctx = open_watched();
  GpuPlan *p = NULL;
  unsigned int x, w, y;
  const int turned[] = {1, 0};
  CHECK_OK(GpuPlan_new(&p, ctx, "blocks"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 2, 0));
  CHECK_OK(add_step(p, &y, x, "y = x + 1", -1)); /* as inputs mostly are */
  CHECK(prepared(p, ctx) == 1);
  CHECK_OK(add_step(p, &y, y, "y = x + 2", -1));
  CHECK(prepared(p, ctx) == 1);
  CHECK_OK(add_step(p, &y, y, "y = x + 3", 0));
  CHECK_OK(add_step(p, &y, y, "y = x + 4", -1));
  CHECK(prepared(p, ctx) == 2);
  CHECK_OK(GpuPlan_dimshuffle(p, &y, "turn", y, 2, turned));
  CHECK_OK(add_step(p, &y, y, "y = x + 5", -1));
  CHECK(prepared(p, ctx) == 2);
  CHECK_OK(add_step(p, &y, w, "y = x + 6", 0)); /* in memory that was given */
  CHECK_OK(add_step(p, &y, y, "y = x + 7", -1));
  CHECK(prepared(p, ctx) == 2);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
}

static int opened; /* how often a BLAS was to be */

static int missing_blas(void *device, bool with_epilogues) {
  (void)device, (void)with_epilogues;
  opened++;
  return GA_FAIL(GA_LOAD_ERROR, "there is none");
}

/* Who computes a product, and its reader, shows when its sizes are known. */
static void test_products_load_no_library(void) {
  static const ga_blas blas;
  gpucontext *ctx = open_watched();
  GpuPlan *p = NULL;
  unsigned int x, y;
  hooked.blas_open = missing_blas;
  hooked.blas = &blas;
  CHECK_OK(GpuPlan_new(&p, ctx, "products"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_gemm(p, &y, "gemm", 1, x, cb_no_trans, x, cb_no_trans, 0, 0, false));
  CHECK_OK(add_step(p, &y, y, "y = x + 1", -1));
  CHECK_OK(GpuPlan_prepare(p));
  CHECK(opened == 0);
  CHECK(compiles == 0);
  CHECK_OK(add_step(p, &y, y, "y = x + 2", -1));
  CHECK_OK(GpuPlan_prepare(p));
  CHECK(compiles == 1);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
}

/* Two steps of a matrix, called while their kernels are compiled on threads. */
static int call_ahead(gpucontext *ctx, const char *expr, int *failed) {
  GpuPlan *p = NULL;
  unsigned int x, y;
  GpuArray given = {0}, made = {0};
  hooked.compiles_at_once = true;
  hooked.sure_threads = 256;
  hooked.launch = ga__null_backend.launch;
  int status = GpuPlan_new(&p, ctx, "ahead");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  STEP(add_step(p, &y, x, "y = x + 1", -1));
  STEP(add_step(p, &y, y, expr, -1));
  STEP(GpuPlan_output(p, y));
  STEP(GpuPlan_prepare_ahead(p));
  STEP(GpuArray_zeros(&given, ctx, GA_FLOAT, 2, (size_t[]){3, 8}, GA_C_ORDER));
  STEP(GpuPlan_call(p, (GpuArray *[]){&made}, (const GpuArray *[]){&given}, NULL,
                    failed));
  GpuArray_clear(&given);
  GpuArray_clear(&made);
  GpuPlan_free(p);
  return status;
}

static void test_a_call_waits_for_what_is_compiled_ahead(void) {
  gpucontext *ctx = open_watched();
  int failed = -1;
  CHECK_OK(call_ahead(ctx, "y = x * 2", &failed));
  const int before = compiles;
  CHECK(before >= 1 && before <= 3);
  CHECK_OK(call_ahead(ctx, "y = x * 2", &failed));
  CHECK(compiles == before);
  CHECK_STATUS(GA_COMPILE_ERROR, call_ahead(ctx, "y = WRONG(x)", &failed));
  CHECK_TEXT("WRONG(");
  CHECK(failed == 1);
  CHECK_OK(call_ahead(ctx, "y = x * 3", &failed));
  gpucontext_deref(ctx);
}

/* A reduction that a function may launch waits for the sizes; its kernels do not. */
static void test_needs_that_sizes_decide_come_later(void) {
  for (int first_comes = 0; first_comes < 2; first_comes++) {
    gpucontext *ctx = open_watched();
    GpuPlan *p = NULL;
    hooked.compiles_at_once = true;
    GpuReduction *gr = GpuReduction_extremum(ctx, GA_FLOAT, 0, GA_EXTREMUM_VALUE, NULL);
    CHECK_OK(GpuPlan_new(&p, ctx, "needs"));
    if (first_comes)
      CHECK_OK(GpuPlan_needs_kernel(p, first, "first"));
    CHECK_OK(GpuPlan_needs_reduction(p, gr, 2, 2));
    CHECK_OK(GpuPlan_needs_kernel(p, second, "second"));
    CHECK_OK(GpuPlan_prepare_ahead(p));
    CHECK(cache_of(ctx).compiled == (size_t)(1 + first_comes));
    CHECK_OK(use(ctx, second, "second"));
    CHECK(cache_of(ctx).compiled == (size_t)(1 + first_comes));
    CHECK_OK(GpuPlan_prepare(p));
    CHECK(cache_of(ctx).compiled > (size_t)(1 + first_comes));
    GpuPlan_free(p);
    GpuReduction_free(gr);
    gpucontext_deref(ctx);
  }
}

/* A file has what was left for later, too. */
static void test_a_file_of_what_is_compiled_ahead(void) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  gpureduction_spec sum = float_sum(args + 1);
  GpuPlan *p = NULL;
  unsigned int x, y;
  make_file(path);
  gpucontext *ctx = open_watched();
  hooked.compiles_at_once = true;
  CHECK_OK(GpuPlan_new(&p, ctx, "sums"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_reduce(p, &y, "sum", &sum, &x, NULL, 1));
  CHECK_OK(GpuPlan_output(p, y));
  CHECK_OK(GpuPlan_prepare_ahead(p));
  CHECK(compiles == 0);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK(compiles > 0);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  ctx = open_watched();
  CHECK_OK(GpuPlan_load(&p, ctx, path));
  CHECK_OK(GpuPlan_prepare(p));
  CHECK(compiles == 0);
  GpuPlan_free(p);
  gpucontext_deref(ctx);
  unlink(path);
}

/* A step whose body doubles x on devices of one kind, with `device` the property that
 * its condition is, and else adds 9. */
static int build_with_body(GpuPlan **plan, gpucontext *ctx, int device) {
  static const gpuplan_type matrix = {GA_FLOAT, 2};
  unsigned int x, y, is_so, doubled, more;
  GpuPlan *body = NULL;
  int status = GpuPlan_new(&body, ctx, "body");
  STEP(GpuPlan_input(body, &x, GA_FLOAT, 2, 0));
  STEP(device >= 0 ? GpuPlan_device(body, &is_so, device)
                   : GpuPlan_dim(body, &is_so, x, 0));
  STEP(GpuPlan_when(body, 1, &is_so, &(int){1}));
  STEP(add_step(body, &doubled, x, "y = x + x", -1));
  STEP(GpuPlan_when(body, 1, &is_so, &(int){0}));
  STEP(add_step(body, &more, x, "y = x + 9", -1));
  STEP(GpuPlan_when(body, 0, NULL, NULL));
  STEP(GpuPlan_choose(body, &y, "choose", is_so, doubled, more));
  STEP(GpuPlan_output(body, y));
  STEP(GpuPlan_new(plan, ctx, "prepared"));
  STEP(GpuPlan_input(*plan, &x, GA_FLOAT, 2, 0));
  STEP(GpuPlan_function(*plan, &y, "f", NULL, NULL, 1, &x, 1, &matrix, NULL));
  STEP(GpuPlan_output(*plan, y));
  STEP(GpuPlan_body(*plan, y, body));
  return status;
}

static void test_of_bodies_what_the_device_decides(void) {
  const int properties[] = {GP_DEVICE_PROCESSORS, GP_DEVICE_IS_PROCESSOR, -1};
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    gpucontext *ctx = open_watched();
    GpuPlan *p = NULL;
    CHECK_OK(build_with_body(&p, ctx, properties[i]));
    CHECK_OK(GpuPlan_prepare(p));
    CHECK(cache_of(ctx).compiled == 2); /* flat and strided, of one side */
    GpuPlan_free(p);
    gpucontext_deref(ctx);
  }
}

static int trial_ahead(gpucontext *ctx) {
  int failed;
  return call_ahead(ctx, "y = x - 5", &failed);
}

static int trial(gpucontext *ctx) {
  GpuPlan *p = NULL;
  int status = build(&p, ctx);
  STEP(GpuPlan_prepare(p));
  STEP(use(ctx, second, "second"));
  GpuPlan_free(p);
  return status;
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  test_all_are_one_program();
  test_what_objects_need();
  test_wrong_texts();
  test_a_file_has_them();
  test_what_is_in_c_order_is_walked_as_one_block();
  test_products_load_no_library();
  test_a_call_waits_for_what_is_compiled_ahead();
  test_needs_that_sizes_decide_come_later();
  test_a_file_of_what_is_compiled_ahead();
  test_of_bodies_what_the_device_decides();
  gpucontext *ctx = open_watched();
  fail_each_allocation(trial, ctx);
  fail_each_allocation(trial_ahead, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_prepare");
}
