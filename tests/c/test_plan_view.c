/* Plans on the null backend: views by integers that each run gives, how many signatures
 * are kept, and memory that stays between runs. */
#include "elemwise_step.h"
#include "null_plan.h"

static int add_double(GpuPlan *p, unsigned int *result, unsigned int x) {
  return add_step(p, result, "double", "y = x + x", x, GA_FLOAT, GA_FLOAT, -1);
}

static const int rows[1] = {GP_INDEX_SLICE | GP_INDEX_START | GP_INDEX_STOP};

/* x (n, m) and i: 2 x[4 i:4 (i + 1)]. *last is the value of i. */
static int build(GpuPlan **plan, gpucontext *ctx, unsigned int *last) {
  unsigned int x, i, one, four, start, next, stop, part, twice;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "parts");
  if (status != GA_NO_ERROR)
    return status;
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  STEP(GpuPlan_int_input(p, &i));
  STEP(GpuPlan_int(p, &one, 1));
  STEP(GpuPlan_int(p, &four, 4));
  STEP(GpuPlan_int_op(p, &start, GP_INT_MUL, i, four));
  STEP(GpuPlan_int_op(p, &next, GP_INT_ADD, i, one));
  STEP(GpuPlan_int_op(p, &stop, GP_INT_MUL, next, four));
  unsigned int bounds[2] = {start, stop};
  STEP(GpuPlan_index(p, &part, "part", x, 1, rows, bounds));
  STEP(add_double(p, &twice, part));
  STEP(GpuPlan_output(p, twice));
  if (status == GA_NO_ERROR) {
    *plan = p;
    *last = i;
  } else {
    GpuPlan_free(p);
  }
  return status;
}

static int run(GpuPlan *p, GpuArray *result, gpucontext *ctx, size_t n, long long i) {
  GpuArray x = {0};
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){n, 8}, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status =
        GpuPlan_call(p, (GpuArray *[]){result}, (const GpuArray *[]){&x}, &i, NULL);
  GpuArray_clear(&x);
  return status;
}

static void check_parts(GpuPlan *p, gpucontext *ctx) {
  for (long long i = 0; i < 5; i++) {
    GpuArray result = {0};
    CHECK_OK(run(p, &result, ctx, 22, i));
    CHECK(result.nd == 2 && result.dimensions[1] == 8);
    CHECK(result.dimensions[0] == 4);
    GpuArray_clear(&result);
  }
  CHECK(info_of(p).n_binds == 1);
}

static void test_views_share_a_binding(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray result = {0};
  unsigned int i;
  CHECK_OK(build(&p, ctx, &i));
  check_parts(p, ctx);
  CHECK_OK(run(p, &result, ctx, 22, 5)); /* the rest is shorter */
  CHECK(result.dimensions[0] == 2);
  GpuArray_clear(&result);
  CHECK_OK(run(p, &result, ctx, 400, 7)); /* of a larger array, another part */
  GpuArray_clear(&result);
  CHECK(info_of(p).n_binds == 2);
  GpuPlan_free(p);
}

/* What else reads the integer, or a length of the input, is bound for each value. */
static void test_what_shapes_depend_on(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray result = {0};
  unsigned int i, one, flat, eight;
  CHECK_OK(build(&p, ctx, &i));
  CHECK_OK(GpuPlan_dim(p, &eight, 0, 0));
  CHECK_OK(GpuPlan_int(p, &one, 1));
  CHECK_OK(
      GpuPlan_broadcast(p, &flat, "stretch", 0, 3, (unsigned int[]){i, eight, eight}));
  CHECK_OK(GpuPlan_output(p, flat));
  GpuArray second = {0};
  for (long long k = 0; k < 2; k++) {
    GpuArray x = {0};
    CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){8, 8}, GA_C_ORDER));
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&result, &second}, (const GpuArray *[]){&x},
                          &k, NULL));
    CHECK(second.nd == 3 && second.dimensions[0] == (size_t)k);
    CHECK(second.dimensions[1] == 8);
    GpuArray_clear(&result);
    GpuArray_clear(&second);
    GpuArray_clear(&x);
  }
  CHECK(info_of(p).n_binds == 2);
  GpuPlan_free(p);
}

static void test_a_length_of_a_hidden_input(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray outs[2] = {{0}, {0}};
  unsigned int i, w, length, wide;
  CHECK_OK(build(&p, ctx, &i));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 1));
  CHECK_OK(GpuPlan_dim(p, &length, 0, 0)); /* of x, which only a view reads else */
  CHECK_OK(GpuPlan_broadcast(p, &wide, "wide", w, 1, &length));
  CHECK_OK(GpuPlan_output(p, wide));
  for (size_t n = 10; n < 13; n++) {
    GpuArray x = {0}, one = {0};
    const long long first = 0;
    CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){n, 8}, GA_C_ORDER));
    CHECK_OK(GpuArray_zeros(&one, ctx, GA_FLOAT, 1, (size_t[]){1}, GA_C_ORDER));
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&outs[0], &outs[1]},
                          (const GpuArray *[]){&x, &one}, &first, NULL));
    CHECK(outs[1].dimensions[0] == n);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
    GpuArray_clear(&x);
    GpuArray_clear(&one);
  }
  GpuPlan_free(p);
}

/* The shape and offset of x[...] for an x of (5, 6) float32, by a plan that copies it.
 */
static int indexed(GpuArray *result, gpucontext *ctx, unsigned int n, const int *form,
                   const long long *given, unsigned int n_given) {
  GpuPlan *p = NULL;
  GpuArray x = {0};
  unsigned int a, ints[6], part;
  CHECK_OK(GpuPlan_new(&p, ctx, "index"));
  CHECK_OK(GpuPlan_input(p, &a, GA_FLOAT, 2, 0));
  for (unsigned int k = 0; k < n_given; k++)
    CHECK_OK(GpuPlan_int_input(p, &ints[k]));
  CHECK_OK(GpuPlan_index(p, &part, "part", a, n, form, ints));
  CHECK_OK(GpuPlan_output(p, part));
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){5, 6}, GA_C_ORDER));
  int status =
      GpuPlan_call(p, (GpuArray *[]){result}, (const GpuArray *[]){&x}, given, NULL);
  GpuArray_clear(&x);
  GpuPlan_free(p);
  return status;
}

static void test_indices_as_python_counts(gpucontext *ctx) {
  enum { AT = GP_INDEX_AT, SLICE = GP_INDEX_SLICE };
  const int start = GP_INDEX_START, stop = GP_INDEX_STOP, step = GP_INDEX_STEP;
  const struct {
    unsigned int n;
    int form[2];
    long long given[4];
    unsigned int n_given, nd;
    size_t dims[2], offset;
    ssize_t stride;
  } cases[] = {
      {1, {AT, 0}, {-1}, 1, 1, {6, 0}, 4 * 24, 4},
      {2, {AT, AT}, {2, -6}, 2, 0, {0, 0}, 2 * 24, 0},
      {1, {SLICE | start, 0}, {-2}, 1, 2, {2, 6}, 3 * 24, 24},
      {1, {SLICE | stop, 0}, {100}, 1, 2, {5, 6}, 0, 24},
      {1, {SLICE | step, 0}, {-1}, 1, 2, {5, 6}, 4 * 24, -24},
      {1, {SLICE | start | stop | step, 0}, {-1, 0, -2}, 3, 2, {2, 6}, 4 * 24, -48},
      {1, {SLICE | start | stop, 0}, {3, 1}, 2, 2, {0, 6}, 0, 24},
      {2, {SLICE, SLICE | start}, {2}, 1, 2, {5, 4}, 8, 24},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    GpuArray r = {0};
    CHECK_OK(
        indexed(&r, ctx, cases[c].n, cases[c].form, cases[c].given, cases[c].n_given));
    CHECK(r.nd == cases[c].nd && r.offset == cases[c].offset);
    for (unsigned int k = 0; k < r.nd; k++)
      CHECK(r.dimensions[k] == cases[c].dims[k]);
    CHECK(r.nd == 0 || r.strides[0] == cases[c].stride);
    GpuArray_clear(&r);
  }
}

static void test_refused_indices(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray r = {0};
  unsigned int a, part, i;
  const int at = GP_INDEX_AT, slice = GP_INDEX_SLICE | GP_INDEX_STEP, odd = 16;
  CHECK_STATUS(GA_INDEX_ERROR, indexed(&r, ctx, 1, &at, (long long[]){5}, 1));
  CHECK_TEXT("index 5 is out of bounds for axis 0 with size 5");
  CHECK_STATUS(GA_INDEX_ERROR, indexed(&r, ctx, 1, &at, (long long[]){-6}, 1));
  CHECK_STATUS(GA_VALUE_ERROR, indexed(&r, ctx, 1, &slice, (long long[]){0}, 1));
  CHECK_TEXT("cannot be zero");
  CHECK_OK(GpuPlan_new(&p, ctx, "index"));
  CHECK_OK(GpuPlan_input(p, &a, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int(p, &i, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_index(p, &part, "part", a, 2, (int[]){at, at},
                                             (unsigned int[]){i, i}));
  CHECK_TEXT("2 entries for an array of 1 axes");
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_index(p, &part, "part", a, 1, &odd, &i));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_index(p, &part, "part", a, 1, &at, &a));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_index(p, &part, "part", i, 1, &at, &i));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_index(p, &part, "part", a, 1, &at, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_index(p, &part, "part", a, 1, NULL, &i));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_index(p, NULL, "part", a, 1, &at, &i));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_index(NULL, &part, "part", a, 1, &at, &i));
  GpuPlan_free(p);
}

static void test_saved(gpucontext *ctx) {
  GpuPlan *p = NULL, *again = NULL;
  unsigned int i;
  char path[] = "/tmp/gpuarray-plan-XXXXXX";
  make_file(path);
  CHECK_OK(build(&p, ctx, &i));
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  check_parts(again, ctx);
  unlink(path);
  GpuPlan_free(p);
  GpuPlan_free(again);
}

static void test_how_many_are_kept(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray r = {0};
  unsigned int i;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_keep(NULL, 3));
  CHECK_OK(build(&p, ctx, &i));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_keep(p, 0));
  CHECK_OK(GpuPlan_keep(p, 200));
  for (size_t pass = 0; pass < 2; pass++)
    for (size_t n = 1; n <= 3; n++) {
      CHECK_OK(run(p, &r, ctx, n, 0));
      GpuArray_clear(&r);
    }
  CHECK(info_of(p).n_binds == 3 && info_of(p).n_bindings == 3);
  CHECK_OK(GpuPlan_keep(p, 2)); /* n = 1 was used least recently */
  CHECK(info_of(p).n_bindings == 2);
  CHECK_OK(run(p, &r, ctx, 2, 0));
  GpuArray_clear(&r);
  CHECK(info_of(p).n_binds == 3);
  CHECK_OK(run(p, &r, ctx, 1, 0));
  GpuArray_clear(&r);
  CHECK(info_of(p).n_binds == 4 && info_of(p).n_bindings == 2);
  CHECK_OK(run(p, &r, ctx, 2, 0)); /* n = 3 went */
  GpuArray_clear(&r);
  CHECK(info_of(p).n_binds == 4);
  GpuPlan_free(p);
}

/* 2 (2 x) of `n` elements twice; the second time the pool has nothing to give. */
static int run_without_memory(GpuPlan *p, gpucontext *ctx, size_t n) {
  GpuArray x = {0}, r = {0};
  gpucontext_memory info;
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&r}, (const GpuArray *[]){&x}, NULL));
  const gpudata *first = r.data;
  GpuArray_clear(&r);
  CHECK_OK(gpucontext_trim(ctx));
  CHECK_OK(gpucontext_memory_info(ctx, &info));
  CHECK_OK(gpucontext_set_limit(ctx, info.live));
  int status = GpuPlan_run(p, (GpuArray *[]){&r}, (const GpuArray *[]){&x}, NULL);
  CHECK(status != GA_NO_ERROR || r.data == first);
  CHECK_OK(gpucontext_set_limit(ctx, 0));
  /* A result that somebody has is never written again. */
  GpuArray second = {0};
  if (status == GA_NO_ERROR) {
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&second}, (const GpuArray *[]){&x}, NULL));
    CHECK(second.data != r.data);
  }
  GpuArray_clear(&r);
  GpuArray_clear(&second);
  GpuArray_clear(&x);
  return status;
}

static void test_memory_that_stays(gpucontext *ctx) {
  gpucontext_memory before, after;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_hold(NULL, 1));
  CHECK_OK(gpucontext_memory_info(ctx, &before));
  for (int holds = 0; holds < 2; holds++) {
    GpuPlan *p = NULL;
    unsigned int x, a, b;
    CHECK_OK(GpuPlan_new(&p, ctx, "hold"));
    CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
    CHECK_OK(add_double(p, &a, x));
    CHECK_OK(add_double(p, &b, a));
    CHECK_OK(GpuPlan_output(p, b));
    CHECK_OK(GpuPlan_hold(p, holds));
    CHECK_OK(run_without_memory(p, ctx, 100));
    int expected = holds ? GA_NO_ERROR : GA_MEMORY_ERROR;
    CHECK_STATUS(expected, run_without_memory(p, ctx, 100000));
    GpuPlan_free(p);
  }
  CHECK_OK(gpucontext_memory_info(ctx, &after));
  CHECK(after.live == before.live);
}

static int trial(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray r = {0};
  unsigned int i;
  int status = build(&p, ctx, &i);
  STEP(run(p, &r, ctx, 9, 1));
  GpuArray_clear(&r);
  GpuPlan_free(p);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_views_share_a_binding(ctx);
  test_what_shapes_depend_on(ctx);
  test_a_length_of_a_hidden_input(ctx);
  test_indices_as_python_counts(ctx);
  test_refused_indices(ctx);
  test_saved(ctx);
  test_how_many_are_kept(ctx);
  test_memory_that_stays(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan views");
}
