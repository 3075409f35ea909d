/* Affine loops in chunks, on processors and as a GPU runs them: integers are the same
 * to the bit as iteration by iteration. */
#include "device_context.h"

#include <gpuarray/plan.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "c/device/context.h"

enum { MOST_ITERATIONS = 5003, MOST_ELEMENTS = 36 };

static const unsigned int shapes[][3] = {
    {0}, {1, 1}, {1, 3}, {1, MOST_ELEMENTS}, {2, 4, 5}, {2, 3, 1}};

/* What a loop has beside its affine state. */
typedef struct form {
  unsigned int nd;
  const unsigned int *dims;
  bool has_trace, has_sum;
  bool is_mirrored;   /* sequences from the last row to the first */
  bool is_transposed; /* sequences with axes in another order */
} form;

static size_t elements_of(const form *m) {
  size_t n = 1;
  for (unsigned int k = 0; k < m->nd; k++)
    n *= m->dims[k];
  return n;
}

/* ---- the plan ---- */

static void add_step(GpuPlan *p, unsigned int *out, const char *expr, unsigned int n,
                     const unsigned int *ins, const char *const *names) {
  const gpuelemwise_arg result = {"y", GA_LONG, GE_WRITE};
  const int over = -1;
  gpuelemwise_arg args[4];
  unsigned int stretch[4] = {0};
  for (unsigned int i = 0; i < n; i++)
    args[i] = (gpuelemwise_arg){names[i], GA_LONG,
                                strcmp(names[i], "turn") == 0 ? GE_SCALAR : GE_READ};
  const gpuplan_elemwise step = {.size = sizeof step,
                                 .label = "step",
                                 .expr = expr,
                                 .n_out = 1,
                                 .out_args = &result,
                                 .inplace = &over,
                                 .n_in = n,
                                 .in_args = args,
                                 .ins = ins,
                                 .stretch = stretch};
  CHECK_OK(GpuPlan_elemwise(p, out, &step));
}

/* Rows a and x, the affine state s, its factor f, a sum t: a s + x + turn, a f,
 * t + s + x; the trace is 3 s - x, of the state before. */
static GpuPlan *new_body(gpucontext *ctx, const form *m) {
  unsigned int a, x, s, f, t = 0, turn, made[4];
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "turn"));
  CHECK_OK(GpuPlan_input(p, &a, GA_LONG, m->nd, 0));
  CHECK_OK(GpuPlan_input(p, &x, GA_LONG, m->nd, 0));
  CHECK_OK(GpuPlan_input(p, &s, GA_LONG, m->nd, 0));
  if (m->has_sum)
    CHECK_OK(GpuPlan_input(p, &t, GA_LONG, m->nd, 0));
  CHECK_OK(GpuPlan_input(p, &f, GA_LONG, m->nd, 0));
  CHECK_OK(GpuPlan_int_input(p, &turn));
  add_step(p, &made[0], "y = a * s + x + turn", 4, (unsigned int[]){a, s, x, turn},
           (const char *[]){"a", "s", "x", "turn"});
  add_step(p, &made[1], "y = a * f", 2, (unsigned int[]){a, f},
           (const char *[]){"a", "f"});
  CHECK_OK(GpuPlan_output(p, made[0]));
  if (m->has_sum) {
    add_step(p, &made[2], "y = t + s + x", 3, (unsigned int[]){t, s, x},
             (const char *[]){"t", "s", "x"});
    CHECK_OK(GpuPlan_output(p, made[2]));
  }
  CHECK_OK(GpuPlan_output(p, made[1]));
  if (m->has_trace) {
    add_step(p, &made[3], "y = 3 * s - x", 2, (unsigned int[]){s, x},
             (const char *[]){"s", "x"});
    CHECK_OK(GpuPlan_output(p, made[3]));
  }
  return p;
}

/* a, x (n, ...), s, ones, t: s and t after the loop, and the trace. */
static GpuPlan *build(gpucontext *ctx, const form *m) {
  const gpuplan_type state = {GA_LONG, m->nd}, rows = {GA_LONG, m->nd + 1};
  const unsigned int n_states = 2 + m->has_sum;
  gpuplan_type results[4] = {state, state, state, state};
  unsigned int ins[5], turns, made[4];
  GpuPlan *p = NULL;
  results[n_states] = rows;
  CHECK_OK(GpuPlan_new(&p, ctx, "loop"));
  for (unsigned int i = 0; i < 2; i++)
    CHECK_OK(GpuPlan_input(p, &ins[i], GA_LONG, m->nd + 1, 0));
  for (unsigned int i = 2; i < 2 + n_states; i++)
    CHECK_OK(GpuPlan_input(p, &ins[i], GA_LONG, m->nd, 0));
  CHECK_OK(GpuPlan_dim(p, &turns, ins[0], 0));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = turns,
                             .takes = m->has_sum ? "rra+f" : "rraf",
                             .n_in = 2 + n_states,
                             .ins = ins,
                             .n_out = n_states + m->has_trace,
                             .results = results};
  CHECK_OK(GpuPlan_loop(p, made, &step));
  CHECK_OK(GpuPlan_body(p, made[0], new_body(ctx, m)));
  CHECK_OK(GpuPlan_output(p, made[0]));
  if (m->has_sum)
    CHECK_OK(GpuPlan_output(p, made[1]));
  if (m->has_trace)
    CHECK_OK(GpuPlan_output(p, made[n_states]));
  return p;
}

/* ---- values ---- */

typedef struct values {
  size_t n, many;                 /* iterations, elements of one */
  int64_t *a, *x, *s, *t, *trace; /* trace: a row for each iteration */
} values;

/* Numbers of a linear congruence, from -4 to 4. */
static void draw(int64_t *out, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    out[i] = (int64_t)(seed >> 16) % 9 - 4;
  }
}

static int64_t *numbers(size_t n, uint32_t seed) {
  int64_t *out = calloc(n + 1, sizeof *out);
  CHECK(out != NULL);
  draw(out, n, seed);
  return out;
}

static values open_values(const form *m, size_t n) {
  const size_t many = elements_of(m);
  return (values){.n = n,
                  .many = many,
                  .a = numbers(n * many, 1),
                  .x = numbers(n * many, 2),
                  .s = numbers(many, 3),
                  .t = numbers(many, 4),
                  .trace = numbers(n * many, 5)};
}

static void close_values(const values *v) {
  free(v->a);
  free(v->x);
  free(v->s);
  free(v->t);
  free(v->trace);
}

/* The state and the sum after all iterations, in place, and the trace. Unsigned, so
 * that they wrap. */
static void run_on_host(const values *v) {
  for (size_t i = 0; i < v->n; i++)
    for (size_t k = 0; k < v->many; k++) {
      const size_t at = i * v->many + k;
      const uint64_t a = (uint64_t)v->a[at], x = (uint64_t)v->x[at];
      const uint64_t s = (uint64_t)v->s[k];
      v->trace[at] = (int64_t)(3 * s - x);
      v->t[k] = (int64_t)((uint64_t)v->t[k] + s + x);
      v->s[k] = (int64_t)(a * s + x + i);
    }
}

/* A sequence of these rows, in the layout that the form has. */
static void put_rows(GpuArray *out, gpucontext *ctx, const form *m, size_t n,
                     const int64_t *rows) {
  const size_t many = elements_of(m), nd = m->nd + 1;
  size_t dims[3] = {n};
  unsigned int order[3] = {0, 1, 2};
  int64_t *moved = calloc(n * many + 1, sizeof *moved);
  CHECK(moved != NULL);
  for (unsigned int k = 0; k < m->nd; k++)
    dims[k + 1] = m->dims[k];
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < many; k++) {
      const size_t row = m->is_mirrored ? n - 1 - i : i;
      moved[m->is_transposed ? k * n + row : row * many + k] = rows[i * many + k];
    }
  if (m->is_transposed && m->nd > 0) { /* the elements' axes, then that of rows */
    for (unsigned int k = 0; k < m->nd; k++)
      dims[k] = m->dims[k], order[k + 1] = k;
    dims[m->nd] = n, order[0] = m->nd;
  }
  CHECK_OK(
      GpuArray_copy_from_host(out, ctx, moved, GA_LONG, (unsigned int)nd, dims, NULL));
  if (m->is_transposed && m->nd > 0)
    CHECK_OK(GpuArray_transpose_inplace(out, order));
  if (m->is_mirrored && n > 0) {
    out->offset += (n - 1) * (size_t)out->strides[0];
    out->strides[0] = -out->strides[0];
    GpuArray_fix_flags(out);
  }
  free(moved);
}

static void check_values(GpuArray *a, const int64_t *want, size_t n) {
  int64_t *found = calloc(n + 1, sizeof *found);
  CHECK(found != NULL);
  CHECK_OK(GpuArray_read(found, n * sizeof *found, a));
  CHECK(memcmp(found, want, n * sizeof *found) == 0);
  free(found);
  GpuArray_clear(a);
}

/* Runs a loop of n iterations; *launches: what it launched. */
static void check_run(GpuPlan *p, gpucontext *ctx, const form *m, size_t n,
                      size_t *launches) {
  const values v = open_values(m, n);
  const size_t shape[2] = {m->nd > 0 ? m->dims[0] : 0, m->nd > 1 ? m->dims[1] : 0};
  GpuArray a = {0}, x = {0}, s = {0}, t = {0}, one = {0}, outs[3] = {{0}};
  int64_t ones[MOST_ELEMENTS];
  gpuplan_info info = {0};
  for (size_t k = 0; k < v.many; k++)
    ones[k] = 1;
  put_rows(&a, ctx, m, n, v.a);
  put_rows(&x, ctx, m, n, v.x);
  CHECK_OK(GpuArray_copy_from_host(&s, ctx, v.s, GA_LONG, m->nd, shape, NULL));
  CHECK_OK(GpuArray_copy_from_host(&t, ctx, v.t, GA_LONG, m->nd, shape, NULL));
  CHECK_OK(GpuArray_copy_from_host(&one, ctx, ones, GA_LONG, m->nd, shape, NULL));
  const GpuArray *ins[5] = {&a, &x, &s, m->has_sum ? &t : &one, &one};
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]}, ins, NULL));
  CHECK_OK(GpuPlan_info(p, &info));
  *launches = info.n_launches;
  run_on_host(&v);
  check_values(&outs[0], v.s, v.many);
  if (m->has_sum)
    check_values(&outs[1], v.t, v.many);
  if (m->has_trace)
    check_values(&outs[1 + m->has_sum], v.trace, n * v.many);
  GpuArray_clear(&a);
  GpuArray_clear(&x);
  GpuArray_clear(&s);
  GpuArray_clear(&t);
  GpuArray_clear(&one);
  close_values(&v);
}

/* ---- loops ---- */

static void check_form(gpucontext *ctx, const form *m) {
  const bool is_narrow = elements_of(m) < 32;
  const size_t long_one = ctx->info.is_cpu ? 4096 : is_narrow ? 2048 : 512;
  const size_t lengths[] = {1, 2, 511, long_one, long_one + 1, MOST_ITERATIONS};
  GpuPlan *p = build(ctx, m);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const bool has_chunks = lengths[i] >= long_one;
    size_t launches;
    check_run(p, ctx, m, lengths[i], &launches);
    CHECK(launches ==
          (has_chunks ? 2u + (m->has_trace || m->has_sum) + m->has_sum : 1));
  }
  GpuPlan_free(p);
}

/* All results, shapes and layouts, on a device that the library takes for one with many
 * multiprocessors. */
static void check_all(gpucontext *ctx, bool is_cpu) {
  ctx->info.is_cpu = is_cpu;
  ctx->info.processors = 1024;
  for (unsigned int bits = 0; bits < 4; bits++) {
    const form m = {.nd = shapes[2][0],
                    .dims = shapes[2] + 1,
                    .has_trace = bits & 1,
                    .has_sum = bits >> 1};
    check_form(ctx, &m);
  }
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (unsigned int layout = 0; layout < 3; layout++) {
      const form m = {.nd = shapes[i][0],
                      .dims = shapes[i] + 1,
                      .has_trace = true,
                      .has_sum = true,
                      .is_mirrored = layout == 1,
                      .is_transposed = layout == 2};
      check_form(ctx, &m);
    }
}

/* A device that its elements keep busy runs the loop as one kernel. */
static void check_wide(gpucontext *ctx) {
  const unsigned int dims[1] = {MOST_ELEMENTS};
  const form m = {.nd = 1, .dims = dims, .has_trace = true};
  size_t launches;
  GpuPlan *p = build(ctx, &m);
  ctx->info.is_cpu = true;
  ctx->info.processors = 2;
  check_run(p, ctx, &m, MOST_ITERATIONS, &launches);
  CHECK(launches == 1);
  GpuPlan_free(p);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  const unsigned int processors = ctx->info.processors;
  check_wide(ctx);
  check_all(ctx, true);
  check_all(ctx, false);
  ctx->info.is_cpu = true;
  ctx->info.processors = processors;
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
