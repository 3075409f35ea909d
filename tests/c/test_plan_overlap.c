/* Inputs, views of them and constants of a plan in one memory, which the plan
 * overwrites: on a device. */
#include "device_context.h"

#include <gpuarray/dlpack.h>
#include <gpuarray/plan.h>

enum { N = 8 };

/* y = a + b, in the place of a. */
static unsigned int add(GpuPlan *p, unsigned int a, unsigned int b, int inplace) {
  const gpuelemwise_arg ins[2] = {{"a", GA_FLOAT, GE_READ}, {"b", GA_FLOAT, GE_READ}};
  const gpuelemwise_arg y = {"y", GA_FLOAT, GE_WRITE};
  const gpuplan_elemwise step = {.size = sizeof step,
                                 .label = "add",
                                 .expr = "y = a + b",
                                 .n_out = 1,
                                 .out_args = &y,
                                 .inplace = &inplace,
                                 .n_in = 2,
                                 .in_args = ins,
                                 .ins = (const unsigned int[]){a, b}};
  unsigned int out = 0;
  CHECK_OK(GpuPlan_elemwise(p, &out, &step));
  return out;
}

static unsigned int slice(GpuPlan *p, unsigned int x, unsigned int start,
                          unsigned int stop) {
  const int form = GP_INDEX_SLICE + GP_INDEX_START + GP_INDEX_STOP;
  unsigned int out = 0;
  CHECK_OK(
      GpuPlan_index(p, &out, "part", x, 1, &form, (const unsigned int[]){start, stop}));
  return out;
}

static unsigned int integer(GpuPlan *p, long long value) {
  unsigned int out = 0;
  CHECK_OK(GpuPlan_int(p, &out, value));
  return out;
}

static GpuPlan *new_plan(gpucontext *ctx, unsigned int n, unsigned int *xs) {
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  for (unsigned int i = 0; i < n; i++)
    CHECK_OK(GpuPlan_input(p, &xs[i], GA_FLOAT, 1, 0));
  return p;
}

/* 1, 2, 3 ... */
static GpuArray counted(gpucontext *ctx) {
  float values[N];
  const size_t n = N;
  GpuArray a = {0};
  for (int i = 0; i < N; i++)
    values[i] = (float)(i + 1);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 1, &n, NULL));
  return a;
}

static GpuArray part_of(const GpuArray *a, ssize_t start, ssize_t stop) {
  GpuArray part = {0};
  CHECK_OK(GpuArray_index(&part, a, &start, &stop, (const ssize_t[]){1}));
  return part;
}

/* The same elements with a buffer of their own on the memory. */
static GpuArray again(gpucontext *ctx, const GpuArray *a) {
  DLManagedTensorVersioned *t = NULL;
  GpuArray other = {0};
  CHECK_OK(GpuArray_to_dlpack(&t, a, -1));
  CHECK_OK(GpuArray_from_dlpack(&other, ctx, t, -1));
  return other;
}

static bool has(const GpuArray *a, size_t n, const float *expected) {
  float found[N] = {0};
  CHECK(a->nd == 1 && a->dimensions[0] == n);
  CHECK_OK(GpuArray_read(found, n * sizeof *found, a));
  for (size_t i = 0; i < n; i++)
    if (found[i] != expected[i]) {
      fprintf(stderr, "element %zu is %g, expected %g\n", i, (double)found[i],
              (double)expected[i]);
      return false;
    }
  return true;
}

static const float summed[N] = {1, 3, 5, 7, 9, 11, 13, 15}; /* x[1:] += x[:-1] */

/* ---- with a wait between ---- */

static void test_views_across_a_read(gpucontext *ctx) {
  unsigned int x, v, read, sum;
  const long long one = 1;
  GpuArray flag = {0};
  GpuPlan *p = new_plan(ctx, 1, &x);
  CHECK_OK(GpuPlan_input(p, &v, GA_LONG, 0, 0));
  const unsigned int high = slice(p, x, integer(p, 1), integer(p, N));
  const unsigned int low = slice(p, x, integer(p, 0), integer(p, N - 1));
  CHECK_OK(GpuPlan_read(p, &read, "read", v, 1));
  CHECK_OK(GpuPlan_when(p, 1, &read, (const int[]){1}));
  sum = add(p, high, low, 0);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_output(p, sum));
  CHECK_OK(GpuArray_copy_from_host(&flag, ctx, &one, GA_LONG, 0, NULL, NULL));
  for (int i = 0; i < 3; i++) {
    GpuArray a = counted(ctx), out = {0};
    CHECK_OK(
        GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&a, &flag}, NULL));
    CHECK(out.data == a.data && has(&a, N, summed));
    GpuArray_clear(&out);
    GpuArray_clear(&a);
  }
  GpuArray_clear(&flag);
  GpuPlan_free(p);
}

/* Two inputs: one is written in the stage before that in which the other is read. */
static void test_inputs_across_a_read(gpucontext *ctx, bool is_foreign) {
  unsigned int xs[3], reads[2];
  const float expected[N] = {2, 4, 6, 8, 10, 12, 14, 16};
  GpuPlan *p = new_plan(ctx, 2, xs);
  CHECK_OK(GpuPlan_input(p, &xs[2], GA_LONG, 0, 0));
  CHECK_OK(GpuPlan_read(p, &reads[0], "first", xs[2], 1));
  const unsigned int doubled = add(p, xs[0], xs[0], 0);
  CHECK_OK(GpuPlan_output(p, doubled));
  CHECK_OK(GpuPlan_read(p, &reads[1], "second", xs[2], 1));
  CHECK_OK(GpuPlan_when(p, 1, &reads[1], (const int[]){1}));
  const unsigned int other = add(p, xs[1], xs[1], -1);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_output(p, other));
  GpuArray a = counted(ctx), b = is_foreign ? again(ctx, &a) : part_of(&a, 0, N);
  GpuArray flag = {0}, outs[2] = {{0}};
  const long long one = 1;
  CHECK_OK(GpuArray_copy_from_host(&flag, ctx, &one, GA_LONG, 0, NULL, NULL));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                       (const GpuArray *[]){&a, &b, &flag}, NULL));
  CHECK(has(&outs[0], N, expected) && has(&outs[1], N, expected));
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  GpuArray_clear(&flag);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
}

/* ---- views by integers ---- */

/* x[i:i+4] += x[k:k+4]. */
static void test_views_by_integers(gpucontext *ctx) {
  unsigned int x, ints[4];
  gpuplan_info info;
  GpuPlan *p = new_plan(ctx, 1, &x);
  for (int i = 0; i < 4; i++)
    CHECK_OK(GpuPlan_int_input(p, &ints[i]));
  const unsigned int to = slice(p, x, ints[0], ints[1]);
  const unsigned int from = slice(p, x, ints[2], ints[3]);
  CHECK_OK(GpuPlan_output(p, add(p, to, from, 0)));
  for (int i = 0; i <= 4; i++)
    for (int k = 0; k <= 4; k++) {
      const long long given[4] = {i, i + 4, k, k + 4};
      float expected[N];
      GpuArray a = counted(ctx), out = {0};
      for (int e = 0; e < N; e++)
        expected[e] =
            (float)(e + 1) + (e >= i && e < i + 4 ? (float)(e - i + k + 1) : 0);
      CHECK_OK(
          GpuPlan_call(p, (GpuArray *[]){&out}, (const GpuArray *[]){&a}, given, NULL));
      CHECK(has(&a, N, expected) && out.data == a.data);
      GpuArray_clear(&out);
      GpuArray_clear(&a);
    }
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds <= 16); /* of four alignments each, not of 25 pairs */
  GpuPlan_free(p);
}

/* y = x[i:i+2] + 0 x[0:2] and then x += x: what is read before is no copy. */
static void test_what_is_read_before(gpucontext *ctx) {
  unsigned int x, ints[2];
  gpuplan_info info;
  const float doubled[N] = {2, 4, 6, 8, 10, 12, 14, 16};
  GpuPlan *p = new_plan(ctx, 1, &x);
  CHECK_OK(GpuPlan_int_input(p, &ints[0]));
  CHECK_OK(GpuPlan_int_input(p, &ints[1]));
  const unsigned int row = slice(p, x, ints[0], ints[1]);
  CHECK_OK(GpuPlan_output(p, add(p, row, row, -1)));
  CHECK_OK(GpuPlan_output(p, add(p, x, x, 0)));
  for (int i = 0; i < 6; i++) {
    const long long given[2] = {i, i + 2};
    const float expected[2] = {2 * (float)(i + 1), 2 * (float)(i + 2)};
    GpuArray a = counted(ctx), outs[2] = {{0}};
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&outs[0], &outs[1]},
                          (const GpuArray *[]){&a}, given, NULL));
    CHECK(has(&outs[0], 2, expected) && has(&outs[1], N, doubled));
    CHECK(outs[1].data == a.data);
    CHECK_OK(GpuPlan_info(p, &info));
    CHECK(info.n_launches == 2);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
    GpuArray_clear(&a);
  }
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds <= 4); /* of alignments */
  GpuPlan_free(p);
}

/* ---- inputs ---- */

/* x[0] is overwritten, then x[1] is read. */
static void test_inputs(gpucontext *ctx, bool is_foreign) {
  unsigned int xs[2];
  float expected[N - 1], first[N - 1];
  GpuPlan *p = new_plan(ctx, 2, xs);
  CHECK_OK(GpuPlan_output(p, add(p, xs[0], xs[0], 0)));
  CHECK_OK(GpuPlan_output(p, add(p, xs[1], xs[1], -1)));
  for (int i = 0; i < N - 1; i++) {
    first[i] = 2 * (float)(i + 1);
    expected[i] = 2 * (float)(i + 2);
  }
  for (int run = 0; run < 2; run++) {
    GpuArray whole = counted(ctx), a = part_of(&whole, 0, N - 1),
             b = part_of(&whole, 1, N), outs[2] = {{0}};
    if (is_foreign) {
      GpuArray other = again(ctx, &b);
      GpuArray_clear(&b);
      b = other;
    }
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&a, &b}, NULL));
    CHECK(has(&outs[0], N - 1, first) && has(&outs[1], N - 1, expected));
    CHECK(outs[0].data == a.data);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
    GpuArray_clear(&a);
    GpuArray_clear(&b);
    GpuArray_clear(&whole);
  }
  GpuPlan_free(p);
}

/* Both are overwritten, and the sum is of what they were. */
static void test_two_that_are_overwritten(gpucontext *ctx) {
  unsigned int xs[2];
  const float once[N] = {2, 4, 6, 8, 10, 12, 14, 16},
              twice[N] = {3, 6, 9, 12, 15, 18, 21, 24};
  GpuPlan *p = new_plan(ctx, 2, xs);
  const unsigned int first = add(p, xs[0], xs[0], 0);
  CHECK_OK(GpuPlan_output(p, first));
  CHECK_OK(GpuPlan_output(p, add(p, xs[1], first, 0)));
  GpuArray a = counted(ctx), outs[2] = {{0}};
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                       (const GpuArray *[]){&a, &a}, NULL));
  CHECK(has(&outs[0], N, once) && has(&outs[1], N, twice));
  CHECK(outs[0].data == a.data && outs[1].data != a.data);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  GpuArray_clear(&a);
  GpuPlan_free(p);
}

/* ---- constants ---- */

/* x += c, where x lies over c: in memory of the same buffer or of another; c is an
 * output too, and what is given out comes back as x. */
static void test_constants(gpucontext *ctx, bool is_foreign, bool reads) {
  unsigned int x, c, v, read;
  const float doubled[N] = {2, 4, 6, 8, 10, 12, 14, 16},
              same[N] = {1, 2, 3, 4, 5, 6, 7, 8};
  const long long one = 1;
  GpuArray constant = counted(ctx), flag = {0};
  GpuPlan *p = new_plan(ctx, 1, &x);
  CHECK_OK(GpuPlan_constant(p, &c, &constant));
  CHECK_OK(GpuPlan_input(p, &v, GA_LONG, 0, 0));
  if (reads)
    CHECK_OK(GpuPlan_read(p, &read, "read", v, 1));
  CHECK_OK(GpuPlan_output(p, add(p, x, c, 0)));
  CHECK_OK(GpuPlan_output(p, c));
  CHECK_OK(GpuArray_copy_from_host(&flag, ctx, &one, GA_LONG, 0, NULL, NULL));
  GpuArray a = is_foreign ? again(ctx, &constant) : part_of(&constant, 0, N);
  for (int i = 0; i < 3; i++) {
    GpuArray outs[2] = {{0}};
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&a, &flag}, NULL));
    CHECK(has(&outs[0], N, doubled) && has(&outs[1], N, same));
    CHECK(has(&constant, N, same));
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&a);
    a = outs[1];
  }
  /* Elsewhere it is overwritten as before. */
  GpuArray own = counted(ctx), outs[2] = {{0}};
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                       (const GpuArray *[]){&own, &flag}, NULL));
  CHECK(outs[0].data == own.data);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  GpuArray_clear(&own);
  GpuArray_clear(&a);
  GpuArray_clear(&constant);
  GpuArray_clear(&flag);
  GpuPlan_free(p);
}

/* Overwrites a result, or finds that it is for reading. */
static void spoil(GpuArray *out) {
  if (out->flags & GA_WRITEABLE)
    CHECK_OK(GpuArray_memset(out, 9));
  else
    CHECK_STATUS(GA_VALUE_ERROR, GpuArray_memset(out, 9));
}

/* A constant, a slice of it by integers that each run is given, and what a step is to
 * put in its place, as results: what is written to them no later run reads. */
static void test_constants_given_out(gpucontext *ctx, bool reads) {
  unsigned int x, c, v, read, start, stop, part;
  const float same[N] = {1, 2, 3, 4, 5, 6, 7, 8}, doubled[N] = {2, 4, 6, 8, 10, 12};
  const long long one = 1, ends[2] = {0, 6};
  const int form = GP_INDEX_SLICE + GP_INDEX_START + GP_INDEX_STOP;
  GpuArray constant = counted(ctx), flag = {0}, a = counted(ctx);
  GpuArray six = part_of(&a, 0, 6);
  GpuPlan *p = new_plan(ctx, 1, &x);
  CHECK_OK(GpuPlan_constant(p, &c, &constant));
  CHECK_OK(GpuPlan_input(p, &v, GA_LONG, 0, 0));
  CHECK_OK(GpuPlan_int_input(p, &start));
  CHECK_OK(GpuPlan_int_input(p, &stop));
  if (reads)
    CHECK_OK(GpuPlan_read(p, &read, "read", v, 1));
  CHECK_OK(GpuPlan_index(p, &part, "part", c, 1, &form,
                         (const unsigned int[]){start, stop}));
  CHECK_OK(GpuPlan_output(p, c));
  CHECK_OK(GpuPlan_output(p, part));
  CHECK_OK(GpuPlan_output(p, add(p, part, x, 0)));
  CHECK_OK(GpuPlan_output(p, c));
  CHECK_OK(GpuArray_copy_from_host(&flag, ctx, &one, GA_LONG, 0, NULL, NULL));
  for (int i = 0; i < 3; i++) {
    GpuArray outs[4] = {{0}};
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2], &outs[3]},
                          (const GpuArray *[]){&six, &flag}, ends, NULL));
    CHECK(has(&outs[0], N, same) && has(&outs[1], 6, same));
    CHECK(has(&outs[2], 6, doubled) && has(&outs[3], N, same));
    for (int k = 0; k < 4; k++) {
      spoil(&outs[k]);
      GpuArray_clear(&outs[k]);
    }
  }
  CHECK(has(&constant, N, same));
  GpuArray_clear(&six);
  GpuArray_clear(&a);
  GpuArray_clear(&flag);
  GpuArray_clear(&constant);
  GpuPlan_free(p);
}

/* ---- in the recording of another plan ---- */

/* A constant that a plan inside gives, and a step of the outer one in its place. */
static int run_inner(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  (void)ins, (void)ints;
  return GpuPlan_run(data, outs, NULL, NULL);
}

static void test_constants_within_a_recording(gpucontext *ctx) {
  unsigned int c, x, made;
  const gpuplan_type type = {GA_FLOAT, 1};
  const float same[N] = {1, 2, 3, 4, 5, 6, 7, 8},
              doubled[N] = {2, 4, 6, 8, 10, 12, 14, 16};
  GpuArray constant = counted(ctx), a = counted(ctx);
  GpuPlan *inner = new_plan(ctx, 0, NULL), *p = new_plan(ctx, 1, &x);
  CHECK_OK(GpuPlan_constant(inner, &c, &constant));
  CHECK_OK(GpuPlan_output(inner, c));
  CHECK_OK(
      GpuPlan_function(p, &made, "within", run_inner, inner, 0, NULL, 1, &type, NULL));
  CHECK_OK(GpuPlan_output(p, made));
  CHECK_OK(GpuPlan_output(p, add(p, made, x, 0)));
  for (int i = 0; i < 3; i++) {
    GpuArray outs[2] = {{0}};
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&a}, NULL));
    CHECK(has(&outs[0], N, same) && has(&outs[1], N, doubled));
    for (int k = 0; k < 2; k++) {
      spoil(&outs[k]);
      GpuArray_clear(&outs[k]);
    }
  }
  CHECK(has(&constant, N, same));
  GpuArray_clear(&a);
  GpuArray_clear(&constant);
  GpuPlan_free(p);
  GpuPlan_free(inner);
}

static int run_twice(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  GpuArray high = part_of(ins[0], 1, N), low = part_of(ins[0], 0, N - 1);
  (void)ints;
  int status = GpuPlan_run(data, outs, (const GpuArray *[]){&high, &low}, NULL);
  GpuArray_clear(&high);
  GpuArray_clear(&low);
  return status;
}

/* Within: a = a + a in place, then b + b of what overlaps a. */
static void test_within_a_recording(gpucontext *ctx) {
  unsigned int xs[2], x, made[2];
  const gpuplan_type types[2] = {{GA_FLOAT, 1}, {GA_FLOAT, 1}};
  const int inplace[2] = {0, -1};
  const float first[N] = {4, 6, 8, 10, 12, 14, 16},
              second[N] = {2, 4, 6, 8, 10, 12, 14};
  GpuPlan *inner = new_plan(ctx, 2, xs), *p = new_plan(ctx, 1, &x);
  CHECK_OK(GpuPlan_output(inner, add(inner, xs[0], xs[0], 0)));
  CHECK_OK(GpuPlan_output(inner, add(inner, xs[1], xs[1], -1)));
  CHECK_OK(
      GpuPlan_function(p, made, "within", run_twice, inner, 1, &x, 2, types, inplace));
  CHECK_OK(GpuPlan_output(p, made[0]));
  CHECK_OK(GpuPlan_output(p, made[1]));
  for (int i = 0; i < 2; i++) {
    GpuArray a = counted(ctx), outs[2] = {{0}};
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&a}, NULL));
    CHECK(has(&outs[0], N - 1, first) && has(&outs[1], N - 1, second));
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
    GpuArray_clear(&a);
  }
  GpuPlan_free(p);
  GpuPlan_free(inner);
}

/* ---- a product in the place of what may not be written ---- */

static void test_a_product_over_what_is_read_only(gpucontext *ctx) {
  unsigned int a, x, c, out;
  const float matrix[4] = {1, 2, 3, 4}, vector[2] = {1, 1}, expected[2] = {13, 17};
  const size_t two[2] = {2, 2};
  const float added[2] = {10, 10};
  GpuArray m = {0}, v = {0}, w = {0}, result = {0};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &a, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &c, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_gemv(p, &out, "gemv", 1, a, cb_no_trans, x, 1, c, 1));
  CHECK_OK(GpuPlan_output(p, out));
  CHECK_OK(GpuArray_copy_from_host(&m, ctx, matrix, GA_FLOAT, 2, two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&v, ctx, vector, GA_FLOAT, 1, two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&w, ctx, added, GA_FLOAT, 1, two, NULL));
  w.flags &= ~GA_WRITEABLE;
  CHECK_OK(
      GpuPlan_run(p, (GpuArray *[]){&result}, (const GpuArray *[]){&m, &v, &w}, NULL));
  CHECK(has(&result, 2, expected) && has(&w, 2, added));
  GpuArray_clear(&result);
  GpuArray_clear(&m);
  GpuArray_clear(&v);
  GpuArray_clear(&w);
  GpuPlan_free(p);
}

int main(void) {
  gpucontext *ctx = open_device();
  test_views_across_a_read(ctx);
  test_inputs_across_a_read(ctx, false);
  test_inputs_across_a_read(ctx, true);
  test_views_by_integers(ctx);
  test_what_is_read_before(ctx);
  test_inputs(ctx, false);
  test_inputs(ctx, true);
  test_two_that_are_overwritten(ctx);
  for (int i = 0; i < 4; i++)
    test_constants(ctx, i & 1, i & 2);
  test_constants_given_out(ctx, false);
  test_constants_given_out(ctx, true);
  test_constants_within_a_recording(ctx);
  test_within_a_recording(ctx);
  test_a_product_over_what_is_read_only(ctx);
  gpucontext_deref(ctx);
  return check_result("plan_overlap");
}
