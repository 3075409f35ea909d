/* Loops as steps of plans: built, saved, and run on the null backend, where copies are
 * made and kernels are not. */
#include "null_plan.h"

#include "c/saving/plan_file.h"

static const gpuplan_type row_types[2] = {{GA_FLOAT, 1}, {GA_FLOAT, 2}};

/* ---- a loop of copies ---- */

/* c (m,), r (m,), same (n, m), turn: r as what is carried, then c, then same[turn]. */
static int new_body(GpuPlan **out, gpucontext *ctx, bool has_turn) {
  const int at = GP_INDEX_AT;
  unsigned int c, r, same, turn = 0, picked;
  GpuPlan *body = NULL;
  int status = GpuPlan_new(&body, ctx, "turn");
  STEP(GpuPlan_input(body, &c, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(body, &r, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(body, &same, GA_FLOAT, 2, 0));
  STEP(has_turn ? GpuPlan_int_input(body, &turn) : GpuPlan_int(body, &turn, 0));
  STEP(GpuPlan_index(body, &picked, "pick", same, 1, &at, &turn));
  STEP(GpuPlan_output(body, r));
  STEP(GpuPlan_output(body, c));
  STEP(GpuPlan_output(body, picked));
  return give_plan(out, body, status);
}

/* x (n, m), start (m,), turns: what was carried, and two arrays of rows. */
static int build(GpuPlan **out, gpucontext *ctx, bool has_turn) {
  const gpuplan_type results[3] = {row_types[0], row_types[1], row_types[1]};
  unsigned int x, start, turns, made[3] = {0};
  GpuPlan *p = NULL, *body = NULL;
  int status = GpuPlan_new(&p, ctx, "whole");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  STEP(GpuPlan_input(p, &start, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &turns));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = turns,
                             .takes = "crs",
                             .n_in = 3,
                             .ins = (unsigned int[]){start, x, x},
                             .n_out = 3,
                             .results = results};
  STEP(GpuPlan_loop(p, made, &step));
  STEP(new_body(&body, ctx, has_turn));
  STEP(GpuPlan_body(p, made[0], body));
  for (int i = 0; i < 3; i++)
    STEP(GpuPlan_output(p, made[i]));
  return give_plan(out, p, status);
}

enum { COLUMNS = 3, MOST = 8 };

/* Runs it on rows 1, 2, 3; 4, 5, 6; ... and a start of zeros. */
static int call_loop(GpuArray *outs, GpuPlan *p, gpucontext *ctx, size_t n,
                     long long turns, int *failed) {
  const size_t dims[2] = {n, COLUMNS};
  float numbers[MOST * COLUMNS];
  GpuArray x = {0}, start = {0};
  for (int i = 0; i < MOST * COLUMNS; i++)
    numbers[i] = (float)i + 1;
  int status = GpuArray_copy_from_host(&x, ctx, numbers, GA_FLOAT, 2, dims, NULL);
  STEP(GpuArray_zeros(&start, ctx, GA_FLOAT, 1, dims + 1, GA_C_ORDER));
  STEP(GpuPlan_call(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]},
                    (const GpuArray *[]){&x, &start}, &turns, failed));
  GpuArray_clear(&x);
  GpuArray_clear(&start);
  return status;
}

/* Whether the elements count on from `first`, before which come those of a row of
 * zeros, where there is one. */
static void check_counts(const GpuArray *a, size_t rows, float first) {
  float numbers[MOST * COLUMNS];
  const size_t n = rows * COLUMNS;
  CHECK_OK(GpuArray_read(numbers, n * sizeof *numbers, a));
  for (size_t i = 0; i < n; i++) {
    const float wanted = first + (float)i;
    CHECK(numbers[i] == (wanted < 1 ? 0 : wanted));
  }
}

static void check_runs(GpuPlan *p, gpucontext *ctx, bool has_turn) {
  for (size_t n = 0; n < MOST; n++) {
    GpuArray outs[3] = {{0}};
    int failed;
    if (n == 0) { /* a turn is tried, which would pick a row of none */
      CHECK_STATUS(GA_INDEX_ERROR, call_loop(outs, p, ctx, n, 0, &failed));
      CHECK_TEXT("loop: pick: ");
      CHECK(failed == 0);
      continue;
    }
    CHECK_OK(call_loop(outs, p, ctx, n, (long long)n, &failed));
    CHECK(outs[0].nd == 1 && outs[0].dimensions[0] == COLUMNS);
    check_counts(&outs[0], 1, (float)((n - 1) * COLUMNS) + 1);
    for (int i = 1; i < 3; i++)
      CHECK(outs[i].nd == 2 && outs[i].dimensions[0] == n &&
            outs[i].dimensions[1] == COLUMNS);
    check_counts(&outs[1], n, 1 - COLUMNS);
    if (has_turn)
      check_counts(&outs[2], n, 1);
    for (int i = 0; i < 3; i++)
      GpuArray_clear(&outs[i]);
  }
}

static void test_turns_follow_each_other(gpucontext *ctx) {
  for (int has_turn = 0; has_turn < 2; has_turn++) {
    char path[] = "/tmp/gpuarray-loopXXXXXX";
    GpuPlan *p = NULL, *loaded = NULL;
    CHECK_OK(build(&p, ctx, has_turn));
    check_runs(p, ctx, has_turn);
    make_file(path);
    CHECK_OK(GpuPlan_save(p, path));
    CHECK_OK(GpuPlan_load(&loaded, ctx, path));
    GpuPlan_free(p);
    check_runs(loaded, ctx, has_turn);
    CHECK_OK(GpuPlan_save(loaded, path));
    GpuPlan_free(loaded);
    CHECK_OK(GpuPlan_load(&loaded, ctx, path));
    check_runs(loaded, ctx, has_turn);
    GpuPlan_free(loaded);
    unlink(path);
  }
}

static void test_rows_are_as_many_as_turns(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray outs[3] = {{0}};
  int failed;
  CHECK_OK(build(&p, ctx, true));
  CHECK_STATUS(GA_VALUE_ERROR, call_loop(outs, p, ctx, 3, 4, &failed));
  CHECK_TEXT("loop: input 1 has 3 rows, expected 4");
  CHECK_STATUS(GA_VALUE_ERROR, call_loop(outs, p, ctx, 3, -1, &failed));
  CHECK_TEXT("loop: input 1 has 3 rows, expected 0");
  CHECK_OK(call_loop(outs, p, ctx, 3, 3, &failed));
  for (int i = 0; i < 3; i++)
    GpuArray_clear(&outs[i]);
  GpuPlan_free(p);
}

/* ---- what turns make ---- */

/* x (n,), turns: zeros of `turns`, or of as many as the turn. */
static int build_zeros(GpuPlan **out, gpucontext *ctx, bool of_turn) {
  unsigned int x, turns, ins[2], zeros, made = 0;
  GpuPlan *p = NULL, *body = NULL;
  int status = GpuPlan_new(&p, ctx, "whole");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &turns));
  STEP(GpuPlan_loop(p, &made,
                    &(gpuplan_loop){.size = sizeof(gpuplan_loop),
                                    .label = "loop",
                                    .turns = turns,
                                    .takes = "s",
                                    .n_in = 1,
                                    .ins = &turns,
                                    .n_out = 1,
                                    .results = &row_types[1]}));
  STEP(GpuPlan_new(&body, ctx, "turn"));
  STEP(GpuPlan_int_input(body, &ins[0]));
  STEP(GpuPlan_int_input(body, &ins[1]));
  STEP(GpuPlan_routine(body, &zeros,
                       &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                          .label = "zeros",
                                          .name = "zeros",
                                          .n_in = 1,
                                          .ins = &ins[of_turn],
                                          .n_out = 1,
                                          .results = &row_types[0]}));
  STEP(GpuPlan_output(body, zeros));
  if (status == GA_NO_ERROR)
    status = GpuPlan_body(p, made, body);
  else
    GpuPlan_free(body);
  STEP(GpuPlan_output(p, made));
  return give_plan(out, p, status);
}

static void test_results_lie_in_rows(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  CHECK_OK(build_zeros(&p, ctx, false));
  for (long long n = -1; n < 5; n++) {
    const size_t length = n > 0 ? (size_t)n : 0;
    if (n < 0) {
      CHECK_STATUS(GA_VALUE_ERROR, call_vector(p, ctx, 3, n, &out, &failed));
      CHECK_TEXT("loop: zeros: got length -1");
      continue;
    }
    CHECK_OK(call_vector(p, ctx, 3, n, &out, &failed));
    CHECK(out.nd == 2 && out.dimensions[0] == length && out.dimensions[1] == length);
    GpuArray_clear(&out);
  }
  GpuPlan_free(p);
  CHECK_OK(build_zeros(&p, ctx, true));
  CHECK_OK(call_vector(p, ctx, 3, 1, &out, &failed));
  GpuArray_clear(&out);
  CHECK_STATUS(GA_VALUE_ERROR, call_vector(p, ctx, 3, 2, &out, &failed));
  CHECK_TEXT("the results of two iterations have shapes (0,) and (1,)");
  GpuPlan_free(p);
}

/* A loop of a state and a constant; each iteration overwrites one of them. */
static int build_overwriting(GpuPlan **p, gpucontext *ctx, unsigned int overwritten) {
  unsigned int x, turns, made = 0, given[2], filled;
  GpuPlan *body = NULL;
  CHECK_OK(GpuPlan_new(p, ctx, "whole"));
  CHECK_OK(GpuPlan_input(*p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(*p, &turns));
  CHECK_OK(GpuPlan_loop(*p, &made,
                        &(gpuplan_loop){.size = sizeof(gpuplan_loop),
                                        .label = "loop",
                                        .turns = turns,
                                        .takes = "cs",
                                        .n_in = 2,
                                        .ins = (unsigned int[]){x, x},
                                        .n_out = 1,
                                        .results = row_types}));
  CHECK_OK(GpuPlan_output(*p, made));
  CHECK_OK(GpuPlan_new(&body, ctx, "turn"));
  CHECK_OK(GpuPlan_input(body, &given[0], GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(body, &given[1], GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_routine(
      body, &filled,
      &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                         .label = "assign",
                         .name = "assign",
                         .n_in = 2,
                         .ins = (unsigned int[]){given[overwritten], given[1]},
                         .n_out = 1,
                         .results = row_types}));
  CHECK_OK(GpuPlan_output(body, filled));
  return GpuPlan_body(*p, made, body);
}

/* Neither the input nor, without iterations, the result is in the other's memory. */
static void test_a_turn_overwrites_a_copy(gpucontext *ctx) {
  int failed;
  GpuPlan *p = NULL;
  GpuArray input = {0}, out = {0};
  float numbers[2] = {1, 2};
  const size_t two = 2;
  CHECK_OK(build_overwriting(&p, ctx, 0));
  CHECK_OK(GpuArray_copy_from_host(&input, ctx, numbers, GA_FLOAT, 1, &two, NULL));
  for (long long turns = 0; turns < 3; turns++) {
    CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&out}, (const GpuArray *[]){&input}, &turns,
                          &failed));
    CHECK(out.data != input.data);
    GpuArray_clear(&out);
  }
  GpuArray_clear(&input);
  GpuPlan_free(p);
  CHECK_STATUS(GA_VALUE_ERROR, build_overwriting(&p, ctx, 1));
  CHECK_TEXT("writes only into inputs that the step overwrites");
  GpuPlan_free(p);
}

/* ---- what is carried ---- */

/* x (n,), turns: two arrays that begin as x and that each turn makes one array of
 * zeros, as long as x, or as the number of the turn. */
static int build_carried(GpuPlan **out, gpucontext *ctx, bool of_turn) {
  unsigned int x, turns, a, b, length[2], zeros, made[2] = {0};
  GpuPlan *p = NULL, *body = NULL;
  int status = GpuPlan_new(&p, ctx, "whole");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &turns));
  STEP(GpuPlan_loop(
      p, made,
      &(gpuplan_loop){.size = sizeof(gpuplan_loop),
                      .label = "loop",
                      .turns = turns,
                      .takes = "cc",
                      .n_in = 2,
                      .ins = (unsigned int[]){x, x},
                      .n_out = 2,
                      .results = (gpuplan_type[]){{GA_FLOAT, 1}, {GA_FLOAT, 1}}}));
  STEP(GpuPlan_new(&body, ctx, "turn"));
  STEP(GpuPlan_input(body, &a, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(body, &b, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(body, &length[1]));
  STEP(GpuPlan_dim(body, &length[0], a, 0));
  STEP(GpuPlan_routine(body, &zeros,
                       &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                          .label = "zeros",
                                          .name = "zeros",
                                          .n_in = 1,
                                          .ins = &length[of_turn],
                                          .n_out = 1,
                                          .results = &row_types[0]}));
  STEP(GpuPlan_output(body, zeros));
  STEP(GpuPlan_output(body, zeros));
  if (status == GA_NO_ERROR)
    status = GpuPlan_body(p, made[0], body);
  else
    GpuPlan_free(body);
  STEP(GpuPlan_output(p, made[0]));
  STEP(GpuPlan_output(p, made[1]));
  return give_plan(out, p, status);
}

static void test_what_is_carried_keeps_its_shape(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray x = {0}, outs[2] = {{0}};
  const size_t two = 2;
  const long long turns = 3;
  int failed;
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &two, GA_C_ORDER));
  GpuArray *const results[] = {&outs[0], &outs[1]};
  const GpuArray *const given[] = {&x};
  CHECK_OK(build_carried(&p, ctx, true));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_call(p, results, given, &turns, &failed));
  CHECK_TEXT("loop: input 0, a state, has shape (2,), and (0,) after an iteration");
  GpuPlan_free(p);
  CHECK_OK(build_carried(&p, ctx, false));
  CHECK_OK(GpuPlan_call(p, results, given, &turns, &failed));
  CHECK(outs[0].data != outs[1].data); /* later steps may write into either */
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  GpuArray_clear(&x);
  GpuPlan_free(p);
}

/* ---- what is no loop ---- */

static void test_loops_that_are_none(gpucontext *ctx) {
  unsigned int x, s, n, out[2];
  GpuPlan *p = NULL, *body = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "none"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &s, GA_FLOAT, 0, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  const unsigned int good[1] = {x}, scalar[1] = {s}, integer[1] = {n};
  const gpuplan_loop loop = {.size = sizeof loop,
                             .label = "loop",
                             .turns = n,
                             .takes = "r",
                             .n_in = 1,
                             .ins = good,
                             .n_out = 1,
                             .results = row_types};
  gpuplan_loop wrong = loop;
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_loop(p, out, &(gpuplan_loop){.size = 1}));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, NULL, &loop));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(NULL, out, &loop));
  wrong.takes = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  wrong = loop, wrong.ins = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  wrong = loop, wrong.turns = x;
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_loop(p, out, &wrong));
  wrong = loop, wrong.takes = "rr";
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("1 inputs, but `takes` has 2 letters");
  wrong = loop, wrong.takes = "x";
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("input 0 is 'x', expected r, c, u, a, f, + or s");
  wrong = loop, wrong.takes = "u";
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("ends the loop, is float32 of 1 axes, expected one bool");
  wrong = loop, wrong.ins = scalar;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("input 0 is 0-d and has no rows");
  wrong = loop, wrong.ins = integer;
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_loop(p, out, &wrong));
  wrong = loop, wrong.ins = (unsigned int[]){99};
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_loop(p, out, &wrong));
  wrong = loop, wrong.n_out = 0;
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("has no results");
  wrong = loop, wrong.results = &(gpuplan_type){GA_FLOAT, 0};
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("result 0 is 0-d");
  wrong = loop, wrong.takes = "c", wrong.results = &row_types[1];
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("result 0 is missing or of another type");
  wrong = loop, wrong.takes = "a";
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("affine state 0 has no factor of its type");
  wrong.takes = "f";
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("affine state 0 has no factor of its type");
  wrong.takes = "af", wrong.n_in = 2, wrong.ins = (unsigned int[]){x, s};
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_loop(p, out, &wrong));
  CHECK_TEXT("affine state 0 has no factor of its type");
  CHECK_OK(GpuPlan_loop(p, out, &loop));
  CHECK_OK(new_body(&body, ctx, true));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, out[0], body));
  CHECK_TEXT(
      "got 3 inputs and 1 integers, expected 1 and 0 (and one more for the iteration)");
  CHECK_OK(GpuPlan_output(p, out[0]));
  GpuArray a = {0}, b = {0}, made = {0};
  const size_t one = 1;
  int failed;
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 1, &one, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&b, ctx, GA_FLOAT, 0, NULL, GA_C_ORDER));
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuPlan_call(p, (GpuArray *[]){&made}, (const GpuArray *[]){&a, &b},
                            (long long[]){1}, &failed));
  CHECK_TEXT("the loop has no body");
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuPlan_free(p);
}

static int trial(gpucontext *ctx) {
  char path[] = "/tmp/gpuarray-loopXXXXXX";
  GpuPlan *p = NULL;
  GpuArray outs[3] = {{0}};
  int failed;
  int status = build(&p, ctx, true);
  make_file(path);
  STEP(GpuPlan_save(p, path));
  STEP(call_loop(outs, p, ctx, 2, 2, &failed));
  for (int i = 0; i < 3; i++)
    GpuArray_clear(&outs[i]);
  GpuPlan_free(p);
  unlink(path);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_turns_follow_each_other(ctx);
  test_rows_are_as_many_as_turns(ctx);
  test_results_lie_in_rows(ctx);
  test_a_turn_overwrites_a_copy(ctx);
  test_what_is_carried_keeps_its_shape(ctx);
  test_loops_that_are_none(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("plan_loop");
}
