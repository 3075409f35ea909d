/* Loops on a device: in one kernel, recorded, and saved; the same values. */
#include "device_context.h"

#include <gpuarray/plan.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 40, LENGTH = 5, LAST = 2 };

static const gpuelemwise_arg next_s = {"y", GA_LONG, GE_WRITE};
static const gpuelemwise_arg next_stop = {"y", GA_BOOL, GE_WRITE};

/* One turn of r (m,), s (m,), stop (), k, turn: s + r * k + turn, and whether it is the
 * last; `recorded`: of the mirrored row, which no kernel of the loop takes. */
static GpuPlan *new_body(gpucontext *ctx, bool recorded) {
  const gpuelemwise_arg args[5] = {{"stop", GA_BOOL, GE_READ},
                                   {"s", GA_LONG, GE_READ},
                                   {"r", GA_LONG, GE_READ},
                                   {"k", GA_LONG, GE_SCALAR},
                                   {"turn", GA_LONG, GE_SCALAR}};
  const gpuelemwise_arg last[3] = {args[0], args[4], {"most", GA_LONG, GE_SCALAR}};
  const int form = GP_INDEX_SLICE | GP_INDEX_STEP, over = -1;
  const unsigned int stretch[5] = {1, 0, 0, 0, 0};
  unsigned int r, s, stop, k, turn, most, back, wide, made[2];
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "turn"));
  CHECK_OK(GpuPlan_input(p, &r, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &s, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &stop, GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_int_input(p, &k));
  CHECK_OK(GpuPlan_int_input(p, &turn));
  CHECK_OK(GpuPlan_int(p, &most, LAST));
  if (recorded) {
    CHECK_OK(GpuPlan_int(p, &back, -1));
    CHECK_OK(GpuPlan_index(p, &r, "mirror", r, 1, &form, &back));
  }
  CHECK_OK(GpuPlan_dimshuffle(p, &wide, "stop", stop, 1, (int[]){-1}));
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "next",
                           .expr = "y = stop ? s : s + r * k + turn",
                           .n_out = 1,
                           .out_args = &next_s,
                           .inplace = &over,
                           .n_in = 5,
                           .in_args = args,
                           .ins = (unsigned int[]){wide, s, r, k, turn},
                           .stretch = stretch};
  CHECK_OK(GpuPlan_elemwise(p, &made[0], &step));
  step.label = "last";
  step.expr = "y = stop || turn >= most";
  step.out_args = &next_stop;
  step.n_in = 3;
  step.in_args = last;
  step.ins = (unsigned int[]){stop, turn, most};
  CHECK_OK(GpuPlan_elemwise(p, &made[1], &step));
  CHECK_OK(GpuPlan_output(p, made[0]));
  CHECK_OK(GpuPlan_output(p, made[1]));
  return p;
}

/* x (n, m), s (m,), stop (), k: s after the loop. */
static GpuPlan *build(gpucontext *ctx, bool recorded) {
  const gpuplan_type results[2] = {{GA_LONG, 1}, {GA_BOOL, 0}};
  unsigned int ins[4], turns, made[2];
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "loop"));
  CHECK_OK(GpuPlan_input(p, &ins[0], GA_LONG, 2, 0));
  CHECK_OK(GpuPlan_input(p, &ins[1], GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &ins[2], GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_int_input(p, &ins[3]));
  CHECK_OK(GpuPlan_dim(p, &turns, ins[0], 0));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = turns,
                             .takes = "rcus",
                             .n_in = 4,
                             .ins = ins,
                             .n_out = 2,
                             .results = results};
  CHECK_OK(GpuPlan_loop(p, made, &step));
  CHECK_OK(GpuPlan_body(p, made[0], new_body(ctx, recorded)));
  CHECK_OK(GpuPlan_output(p, made[0]));
  return p;
}

/* Sums of the rows of the first turns: 0, 1, ... in rows. */
static void check_run(GpuPlan *p, gpucontext *ctx, size_t rows, bool recorded,
                      unsigned int launches) {
  int64_t x[ROWS * LENGTH], s[LENGTH] = {10, 20, 30, 40, 50}, found[LENGTH];
  const size_t shape[2] = {rows, LENGTH};
  const uint8_t no = 0;
  const long long k = 3;
  GpuArray a = {0}, start = {0}, stop = {0}, out = {0};
  gpuplan_info info = {0};
  for (int i = 0; i < ROWS * LENGTH; i++)
    x[i] = i;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_LONG, 2, shape, NULL));
  CHECK_OK(GpuArray_copy_from_host(&start, ctx, s, GA_LONG, 1, shape + 1, NULL));
  CHECK_OK(GpuArray_copy_from_host(&stop, ctx, &no, GA_BOOL, 0, NULL, NULL));
  const GpuArray *ins[3] = {&a, &start, &stop};
  CHECK_OK(GpuPlan_call(p, (GpuArray *[]){&out}, ins, &k, NULL));
  CHECK_OK(GpuArray_read(found, sizeof found, &out));
  for (int i = 0; i < LENGTH; i++) {
    int64_t want = s[i];
    for (int t = 0; t < (int)rows && t <= LAST; t++)
      want += k * (t * LENGTH + (recorded ? LENGTH - 1 - i : i)) + t;
    CHECK(found[i] == want);
  }
  CHECK_OK(GpuPlan_info(p, &info));
  if (launches > 0)
    CHECK(info.n_launches == launches);
  GpuArray_clear(&a);
  GpuArray_clear(&start);
  GpuArray_clear(&stop);
  GpuArray_clear(&out);
}

/* a, b, c (m,), stop (), turn: b, c, a from its end, and whether a million turns are
 * done: views only. */
static GpuPlan *new_rotation(gpucontext *ctx) {
  const gpuelemwise_arg args[2] = {{"stop", GA_BOOL, GE_READ},
                                   {"turn", GA_LONG, GE_SCALAR}};
  const int form = GP_INDEX_SLICE | GP_INDEX_STEP, over = -1;
  unsigned int a, b, c, stop, turn, back, mirrored, ended;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "turn"));
  CHECK_OK(GpuPlan_input(p, &a, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &b, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &c, GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &stop, GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_int_input(p, &turn));
  CHECK_OK(GpuPlan_int(p, &back, -1));
  CHECK_OK(GpuPlan_index(p, &mirrored, "mirror", a, 1, &form, &back));
  const gpuplan_elemwise step = {.size = sizeof step,
                                 .label = "last",
                                 .expr = "y = stop || turn >= 1000000",
                                 .n_out = 1,
                                 .out_args = &next_stop,
                                 .inplace = &over,
                                 .n_in = 2,
                                 .in_args = args,
                                 .ins = (unsigned int[]){stop, turn},
                                 .stretch = (unsigned int[]){0, 0}};
  CHECK_OK(GpuPlan_elemwise(p, &ended, &step));
  CHECK_OK(GpuPlan_output(p, b));
  CHECK_OK(GpuPlan_output(p, c));
  CHECK_OK(GpuPlan_output(p, mirrored));
  CHECK_OK(GpuPlan_output(p, ended));
  return p;
}

/* Carried arrays that are views of each other, over blocks of turns. */
static void check_rotation(gpucontext *ctx, int turns) {
  const gpuplan_type results[4] = {
      {GA_LONG, 1}, {GA_LONG, 1}, {GA_LONG, 1}, {GA_BOOL, 0}};
  const size_t length = LENGTH;
  const long long n = turns;
  const uint8_t no = 0;
  int64_t want[4][LENGTH], found[LENGTH];
  unsigned int ins[4], count, made[4];
  GpuArray given[4] = {{0}}, outs[3] = {{0}};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "rotation"));
  for (int k = 0; k < 3; k++)
    CHECK_OK(GpuPlan_input(p, &ins[k], GA_LONG, 1, 0));
  CHECK_OK(GpuPlan_input(p, &ins[3], GA_BOOL, 0, 0));
  CHECK_OK(GpuPlan_int_input(p, &count));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = count,
                             .takes = "cccu",
                             .n_in = 4,
                             .ins = ins,
                             .n_out = 4,
                             .results = results};
  CHECK_OK(GpuPlan_loop(p, made, &step));
  CHECK_OK(GpuPlan_body(p, made[0], new_rotation(ctx)));
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < LENGTH; i++)
      want[k][i] = 10 * k + i;
    CHECK_OK(GpuPlan_output(p, made[k]));
    CHECK_OK(
        GpuArray_copy_from_host(&given[k], ctx, want[k], GA_LONG, 1, &length, NULL));
  }
  CHECK_OK(GpuArray_copy_from_host(&given[3], ctx, &no, GA_BOOL, 0, NULL, NULL));
  CHECK_OK(GpuPlan_call(
      p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]},
      (const GpuArray *[]){&given[0], &given[1], &given[2], &given[3]}, &n, NULL));
  for (int t = 0; t < turns; t++) {
    for (int i = 0; i < LENGTH; i++)
      want[3][i] = want[0][LENGTH - 1 - i];
    memmove(want[0], want[1], 3 * sizeof want[0]);
  }
  for (int k = 0; k < 3; k++) {
    CHECK_OK(GpuArray_read(found, sizeof found, &outs[k]));
    CHECK(memcmp(found, want[k], sizeof found) == 0);
    GpuArray_clear(&outs[k]);
  }
  for (int k = 0; k < 4; k++)
    GpuArray_clear(&given[k]);
  GpuPlan_free(p);
}

/* Launches of a loop that is recorded: two a turn, and two copies a block. */
static unsigned int launches_of(unsigned int turns) {
  return 2 * turns + (turns > 16 ? 2 * ((turns + 15) / 16) : 0);
}

/* The same values of a loop in one kernel, of one that is recorded, and of their files.
 */
static void check_all(gpucontext *ctx, bool recorded) {
  char path[] = "/tmp/gpuarray-loop-XXXXXX";
  GpuPlan *p = build(ctx, recorded), *again = NULL;
  const int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  check_run(p, ctx, ROWS, recorded, recorded ? launches_of(ROWS) : 1);
  check_run(p, ctx, 2, recorded, recorded ? 4 : 1);
  check_run(p, ctx, 1, recorded, 2); /* a turn is no loop */
  check_run(p, ctx, 0, recorded, 0);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  check_run(again, ctx, ROWS, recorded, recorded ? launches_of(ROWS) : 1);
  check_run(again, ctx, ROWS - 1, recorded, recorded ? launches_of(ROWS - 1) : 1);
  GpuPlan_free(again);
  remove(path);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  check_all(ctx, false);
  check_all(ctx, true);
  for (int turns = 1; turns < 40; turns += 6)
    for (int more = 0; more < 3; more++)
      check_rotation(ctx, turns + more);
  check_rotation(ctx, 300);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
