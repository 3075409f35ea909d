/* Plans that wait for integers which the device computed: values, on a device. */
#include "device_context.h"
#include "elemwise_step.h"
#include "float_sum.h"

#include "c/tape/record_replay.h"

#include <gpuarray/index.h>
#include <gpuarray/plan.h>
#include <stdint.h>
#include <unistd.h>

static const gpuelemwise_arg x_in = {"x", GA_FLOAT, GE_READ};

/* An elementwise step of one input; `over` is 0 where the result takes its memory. */
static unsigned int apply(GpuPlan *p, const char *expr, unsigned int x, int typecode,
                          int result, int over) {
  unsigned int out = 0;
  CHECK_OK(add_step(p, &out, expr, expr, x, typecode, result, over));
  return out;
}

/* What is written through a view in a later stage is in the array that an earlier stage
 * made, or in the input: x + 1 or x, of which the first is made ten times as large. */
static GpuPlan *build_write(gpucontext *ctx, bool makes) {
  unsigned int x, sum, count, n, array, part;
  const unsigned int none = 0;
  const int form = GP_INDEX_SLICE + GP_INDEX_STOP;
  const gpureduction_spec spec = float_sum(&x_in);
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_protect(p, 1));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  array = makes ? apply(p, "y = x + 1", x, GA_FLOAT, GA_FLOAT, -1) : x;
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum", &spec, &x, &none, 1));
  count = apply(p, "y = x > 0", sum, GA_FLOAT, GA_BOOL, -1);
  CHECK_OK(GpuPlan_read(p, &n, "read", count, 1));
  CHECK_OK(GpuPlan_index(p, &part, "first", array, 1, &form, &n));
  apply(p, "y = 10 * x", part, GA_FLOAT, GA_FLOAT, 0);
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum after", &spec, &array, &none, 1));
  CHECK_OK(GpuPlan_output(p, array));
  CHECK_OK(GpuPlan_output(p, sum));
  return p;
}

/* x, written ten times as large in its own memory in a later stage, and read behind. */
static GpuPlan *build_whole_write(gpucontext *ctx, bool is_output) {
  unsigned int x, sum, count, n, tenfold;
  const unsigned int none = 0;
  const gpureduction_spec spec = float_sum(&x_in);
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_protect(p, 1));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum", &spec, &x, &none, 1));
  count = apply(p, "y = x > 0", sum, GA_FLOAT, GA_BOOL, -1);
  CHECK_OK(GpuPlan_read(p, &n, "read", count, 1));
  tenfold = apply(p, "y = 10 * x", x, GA_FLOAT, GA_FLOAT, 0);
  CHECK_OK(
      GpuPlan_reduce(p, &sum, "sum after", &spec, is_output ? &tenfold : &x, &none, 1));
  count = apply(p, "y = x > 0", sum, GA_FLOAT, GA_BOOL, -1);
  CHECK_OK(GpuPlan_read(p, &n, "read again", count, 1)); /* no stage is the last yet */
  CHECK_OK(GpuPlan_output(p, is_output ? x : tenfold));
  CHECK_OK(GpuPlan_output(p, apply(p, "y = x + 0", sum, GA_FLOAT, GA_FLOAT, -1)));
  return p;
}

/* A choice of x or x + 1, whose first element is made ten times as large. */
static GpuPlan *build_choice_write(gpucontext *ctx) {
  unsigned int x, sum, count, n, other, chosen, part;
  const unsigned int none = 0;
  const int form = GP_INDEX_SLICE + GP_INDEX_STOP;
  const gpureduction_spec spec = float_sum(&x_in);
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_protect(p, 1));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  other = apply(p, "y = x + 1", x, GA_FLOAT, GA_FLOAT, -1);
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum", &spec, &x, &none, 1));
  count = apply(p, "y = x > 0", sum, GA_FLOAT, GA_BOOL, -1);
  CHECK_OK(GpuPlan_read(p, &n, "read", count, 1));
  CHECK_OK(GpuPlan_choose(p, &chosen, "if", n, x, other));
  CHECK_OK(GpuPlan_index(p, &part, "first", chosen, 1, &form, &n));
  apply(p, "y = 10 * x", part, GA_FLOAT, GA_FLOAT, 0);
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum after", &spec, &chosen, &none, 1));
  count = apply(p, "y = x > 0", sum, GA_FLOAT, GA_BOOL, -1);
  CHECK_OK(GpuPlan_read(p, &n, "read again", count, 1));
  CHECK_OK(GpuPlan_output(p, chosen));
  CHECK_OK(GpuPlan_output(p, apply(p, "y = x + 0", sum, GA_FLOAT, GA_FLOAT, -1)));
  return p;
}

/* Runs of the plan for {1, 2, 3}: its first output, and its second, the sum of that.
 * The first run may fail, and others are proven. */
static void check_outputs(GpuPlan *p, gpucontext *ctx, float a, float b, float c) {
  const float values[3] = {1, 2, 3};
  const size_t three = 3;
  for (int i = 0; i < 3; i++) {
    GpuArray x = {0}, outs[2] = {{0}};
    float found[3] = {0}, sum = 0;
    CHECK_OK(GpuArray_copy_from_host(&x, ctx, values, GA_FLOAT, 1, &three, NULL));
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&x}, NULL));
    CHECK_OK(GpuArray_read(found, sizeof found, &outs[0]));
    CHECK_OK(GpuArray_read(&sum, sizeof sum, &outs[1]));
    CHECK(found[0] == a && found[1] == b && found[2] == c && sum == a + b + c);
    GpuArray_clear(&x);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  GpuPlan_free(p);
}

static void test_what_is_written_is_read_behind(gpucontext *ctx) {
  check_outputs(build_write(ctx, false), ctx, 10, 2, 3);
  check_outputs(build_write(ctx, true), ctx, 20, 3, 4);
  check_outputs(build_whole_write(ctx, false), ctx, 10, 20, 30);
  check_outputs(build_whole_write(ctx, true), ctx, 10, 20, 30);
  check_outputs(build_choice_write(ctx), ctx, 10, 2, 3);
}

/* x (n,): 2 x in x's memory where the sum is positive, else x - 1; and the sum. */
static GpuPlan *build(gpucontext *ctx) {
  unsigned int x, sum, is_positive, c, then, other, chosen;
  const unsigned int none = 0;
  const int yes = 1, no = 0;
  const gpureduction_spec spec = float_sum(&x_in);
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_reduce(p, &sum, "sum", &spec, &x, &none, 1));
  is_positive = apply(p, "y = x > 0", sum, GA_FLOAT, GA_BOOL, -1);
  CHECK_OK(GpuPlan_read(p, &c, "read", is_positive, 1));
  CHECK_OK(GpuPlan_when(p, 1, &c, &yes));
  then = apply(p, "y = 2 * x", x, GA_FLOAT, GA_FLOAT, 0);
  CHECK_OK(GpuPlan_when(p, 1, &c, &no));
  other = apply(p, "y = x - 1", x, GA_FLOAT, GA_FLOAT, -1);
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &chosen, "if", c, then, other));
  CHECK_OK(GpuPlan_output(p, chosen));
  CHECK_OK(GpuPlan_output(p, sum));
  return p;
}

static void check_run(GpuPlan *p, gpucontext *ctx, float first) {
  const float values[3] = {first, 2, -3};
  const size_t three = 3;
  float found[3] = {0}, sum = 0;
  GpuArray x = {0}, outs[2] = {{0}};
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, values, GA_FLOAT, 1, &three, NULL));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]}, (const GpuArray *[]){&x},
                       NULL));
  const bool is_positive = first - 1 > 0;
  CHECK((outs[0].data == x.data) == is_positive);
  CHECK_OK(GpuArray_read(found, sizeof found, &outs[0]));
  CHECK_OK(GpuArray_read(&sum, sizeof sum, &outs[1]));
  CHECK(sum == first - 1);
  for (int i = 0; i < 3; i++)
    CHECK(found[i] == (is_positive ? 2 * values[i] : values[i] - 1));
  GpuArray_clear(&x);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
}

static void test_both_sides(gpucontext *ctx) {
  gpuplan_info info;
  GpuPlan *p = build(ctx);
  CHECK_OK(GpuPlan_prepare(p));
  for (int i = 0; i < 8; i++)
    check_run(p, ctx, (float)(i * 3 % 4) - 0.5f);
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 3 && info.n_launches == 3);
  GpuPlan_free(p);
}

/* What the library can bind itself is bound again, by kernels of the file. */
static void test_a_file_has_what_is_compiled(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  gpuplan_info info;
  GpuPlan *p = build(ctx), *again = NULL;
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  check_run(p, ctx, 0);
  check_run(p, ctx, 4);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  for (int i = 0; i < 4; i++)
    check_run(again, ctx, (float)i);
  CHECK_OK(GpuPlan_info(again, &info));
  CHECK(info.n_binds == 3 && info.n_bindings == 3);
  GpuPlan_free(again);
  remove(path);
}

/* The lengths lie backwards in memory. */
static void test_lengths_of_any_layout(gpucontext *ctx) {
  unsigned int x, v, back, dims[2], shaped, minus;
  const int form = GP_INDEX_SLICE + GP_INDEX_STEP;
  const int64_t lengths[2] = {2, 3};
  const size_t two = 2, six = 6;
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0}, out = {0};
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_int(p, &minus, -1));
  CHECK_OK(GpuPlan_index(p, &back, "backwards", v, 1, &form, &minus));
  CHECK_OK(GpuPlan_read(p, dims, "read", back, 2));
  CHECK_OK(GpuPlan_reshape(p, &shaped, "shaped", x, 2, dims));
  CHECK_OK(GpuPlan_output(p, shaped));
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 1, &six, GA_C_ORDER));
  CHECK_OK(GpuArray_copy_from_host(&b, ctx, lengths, GA_LONG, 1, &two, NULL));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&a, &b}, NULL));
  CHECK(out.dimensions[0] == 3 && out.dimensions[1] == 2);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&out);
  GpuPlan_free(p);
}

/* x[:end] where no signed integer holds the end. */
static void test_a_bound_over_all_integers(gpucontext *ctx) {
  unsigned int x, v, end, part;
  const int form = GP_INDEX_SLICE + GP_INDEX_STOP;
  const uint64_t ends[3] = {2, (uint64_t)INT64_MAX + 5, UINT64_MAX};
  const size_t six = 6, lengths[3] = {2, 6, 6};
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0}, out = {0};
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_ULONG, 0, 0));
  CHECK_OK(GpuPlan_read(p, &end, "read", v, 1));
  CHECK_OK(GpuPlan_index(p, &part, "part", x, 1, &form, &end));
  CHECK_OK(GpuPlan_output(p, part));
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 1, &six, GA_C_ORDER));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(GpuArray_copy_from_host(&b, ctx, &ends[i], GA_ULONG, 0, NULL, NULL));
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&a, &b}, NULL));
    CHECK(out.dimensions[0] == lengths[i]);
    GpuArray_clear(&out);
    GpuArray_clear(&b);
  }
  GpuArray_clear(&a);
  GpuPlan_free(p);
}

static int taken(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  (void)data, (void)ints;
  return GpuArray_take(outs[0], ins[0], 1, &ins[1], 0, GA_INDEX_RAISE);
}

/* What the device reports is told of by the read, and w stays as it was. */
static void test_the_wait_tells_of_wrong_indices(gpucontext *ctx) {
  unsigned int w, v, at, next, picked, n, shaped;
  const gpuplan_type type = {GA_LONG, 1};
  const int64_t lengths[2] = {2, 2}, place = 5;
  const size_t one = 1, two = 2;
  int failed = -1;
  int64_t found[2] = {0};
  GpuPlan *p = NULL;
  GpuArray a = {0}, b = {0}, c = {0}, outs[2] = {{0}};
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &w, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &at, GA_LONG, 1, 0));
  next = apply(p, "y = x + 1", w, GA_LONG, GA_LONG, 0);
  CHECK_OK(GpuPlan_function(p, &picked, "take", taken, NULL, 2, (unsigned int[]){v, at},
                            1, &type, NULL));
  CHECK_OK(GpuPlan_read(p, &n, "read", picked, 1));
  CHECK_OK(GpuPlan_reshape(p, &shaped, "shaped", next, 1, &n));
  CHECK_OK(GpuPlan_output(p, next));
  CHECK_OK(GpuPlan_output(p, shaped));
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, lengths, GA_LONG, 1, &two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&b, ctx, lengths, GA_LONG, 1, &two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&c, ctx, &place, GA_LONG, 1, &one, NULL));
  for (int i = 0; i < 2; i++)
    CHECK_STATUS(GA_INDEX_ERROR,
                 GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                             (const GpuArray *[]){&a, &b, &c}, &failed));
  CHECK_TEXT("index 5 is out of bounds");
  CHECK_TEXT("(take)");
  CHECK_OK(GpuArray_read(found, sizeof found, &a));
  CHECK(found[0] == 2 && found[1] == 2 && failed == 2 && outs[0].data == NULL);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
  GpuPlan_free(p);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  if (!ga__tape_chooses(ctx)) { /* else they are no stages: test_plan_choice_device.c */
    test_what_is_written_is_read_behind(ctx);
    test_both_sides(ctx);
    test_a_file_has_what_is_compiled(ctx);
  }
  test_lengths_of_any_layout(ctx);
  test_a_bound_over_all_integers(ctx);
  test_the_wait_tells_of_wrong_indices(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
