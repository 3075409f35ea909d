/* A plan of each kind of choice between two sides, with its kernels and values, on the
 * mock of CUDA's driver: what a run did, and whether its result is right. */
#ifndef CHOICE_RIG_H
#define CHOICE_RIG_H

#include "mock_context.h"

#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>

/* ---- kernels ---- */

enum { ASK, ASK_NEXT, TWICE, MINUS, NEGATE, N_KERNELS };
static const char *const names[N_KERNELS] = {"ask", "ask_next", "twice", "minus",
                                             "negate"};
static long ran[N_KERNELS];
static bool is_own_product; /* of a kernel of ours, since cuBLAS did not start */

static float computed(int kernel, float x) {
  return kernel == TWICE ? 2 * x : kernel == MINUS ? x - 1 : -x;
}

static void run_kernel(const mock_launch *launch) {
  const uint64_t *args = launch->args; /* out and offset, in and offset, n */
  char *out = (char *)(uintptr_t)args[0] + args[1];
  const float *in = (const float *)(uintptr_t)(args[2] + args[3]);
  int kernel = 0;
  while (kernel < N_KERNELS && strcmp(launch->name, names[kernel]) != 0)
    kernel++;
  if (kernel == N_KERNELS) {
    is_own_product = true;
    return;
  }
  ran[kernel]++;
  if (kernel == ASK || kernel == ASK_NEXT) {
    const int holds = in[kernel == ASK_NEXT] > 0 ? 256 : 0; /* not in its first byte */
    memcpy(out, &holds, sizeof holds);
    return;
  }
  for (uint64_t i = 0; i < args[4]; i++) {
    const float value = computed(kernel, in[i]);
    memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

static int make_kernel(GpuKernel *k, gpucontext *ctx, const char *name) {
  const int types[] = {GA_BUFFER, GA_OFFSET, GA_INPUT, GA_OFFSET, GA_SIZE};
  char text[200];
  const char *source = text;
  snprintf(text, sizeof text,
           "KERNEL void %s(GLOBAL_MEM ga_float *out, ga_size out_off, "
           "GLOBAL_MEM ga_float *in, ga_size in_off, ga_size n) {}",
           name);
  return GpuKernel_init(k, ctx, 1, &source, NULL, name, 5, types, 0, NULL);
}

static int launch(GpuKernel *k, GpuArray *out, const GpuArray *in) {
  const size_t one = 1;
  size_t n = 1, to = out->offset, from = in->offset;
  for (unsigned int i = 0; i < in->nd; i++)
    n *= in->dimensions[i];
  return GpuKernel_call(k, 1, &one, &one, 0,
                        (void *[]){out->data, &to, in->data, &from, &n});
}

/* The functions of steps; `data` is a kernel. */
static int ask(void *data, GpuArray *const *outs, const GpuArray *const *ins,
               const long long *ints) {
  const size_t one = 1;
  (void)ints;
  GA_TRY(
      GpuArray_empty(outs[0], GpuArray_context(ins[0]), GA_INT, 1, &one, GA_C_ORDER));
  return launch(data, outs[0], ins[0]);
}

static int compute(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints) {
  (void)ints;
  GA_TRY(GpuArray_empty(outs[0], GpuArray_context(ins[0]), GA_FLOAT, ins[0]->nd,
                        ins[0]->dimensions, GA_C_ORDER));
  return launch(data, outs[0], ins[0]);
}

static int overwrite(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  (void)ints;
  GA_TRY(GpuArray_view(outs[0], ins[0]));
  return launch(data, outs[0], ins[0]);
}

static int forget(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                  const long long *ints) {
  (void)data, (void)ints;
  GA_TRY(GpuArray_view(outs[0], ins[0]));
  return GpuArray_memset(outs[0], 0);
}

/* ---- plans ---- */

/* By x[0] > 0 one of these:
 * COMPUTED   2 x, or x - 1
 * GIVEN      x, or y, which are inputs
 * LARGE      the same, of more bytes than are copied
 * UPDATED    2 x in the place of x, or x
 * OVERWRITTEN  2 x in the place of x, or x - 1 elsewhere
 * PRODUCT    x by x, or x - 1
 * NESTED     2 x, or x - 1 unless x[1] > 0, or -x
 * SHORTER    2 x, or the first half of x, less 1
 * SPENT      as COMPUTED, after the condition's array was overwritten
 * ALIASED    the same, where that was chosen before, and so overwritten by another name
 * SHARED     as COMPUTED; 2 x is then chosen a second time, against -x
 * LATE       2 (-2 x), or 1 - x of what was chosen before, and is done with since */
enum kind {
  COMPUTED,
  GIVEN,
  LARGE,
  UPDATED,
  OVERWRITTEN,
  PRODUCT,
  NESTED,
  SHORTER,
  SPENT,
  ALIASED,
  SHARED,
  LATE
};

enum { N = 4, N_LARGE = (4 << 20) / sizeof(float) + N };

typedef struct rig {
  enum kind kind;
  gpucontext *ctx;
  GpuKernel kernels[N_KERNELS];
  GpuPlan *p;
  GpuArray x, y;
  int status; /* of the first call that failed while it was built */
} rig;

#define STEP(call)                                                                     \
  if (r->status == GA_NO_ERROR)                                                        \
  r->status = (call)

static unsigned int nd_of(enum kind kind) {
  return kind == PRODUCT ? 2 : 1;
}

static size_t count_of(enum kind kind) {
  return kind == LARGE ? N_LARGE : N;
}

static unsigned int apply(rig *r, int kernel, unsigned int x, bool is_over) {
  const gpuplan_type type = {GA_FLOAT, nd_of(r->kind)};
  const int over = is_over ? 0 : -1;
  unsigned int out = 0;
  STEP(GpuPlan_function(r->p, &out, names[kernel], is_over ? overwrite : compute,
                        &r->kernels[kernel], 1, &x, 1, &type, &over));
  return out;
}

static unsigned int choose(rig *r, unsigned int c, unsigned int a, unsigned int b) {
  unsigned int out = 0;
  STEP(GpuPlan_choose(r->p, &out, "if", c, a, b));
  return out;
}

static unsigned int condition(rig *r, int kernel, unsigned int x) {
  const gpuplan_type type = {GA_INT, 1};
  const int over = 0;
  unsigned int out = 0, read = 0, gone;
  STEP(GpuPlan_function(r->p, &out, names[kernel], ask, &r->kernels[kernel], 1, &x, 1,
                        &type, NULL));
  STEP(GpuPlan_read(r->p, &read, "read", out, 1));
  if (r->kind == ALIASED)
    out = choose(r, read, out, out);
  if (r->kind == SPENT || r->kind == ALIASED)
    STEP(GpuPlan_function(r->p, &gone, "forget", forget, NULL, 1, &out, 1, &type,
                          &over));
  return read;
}

static void when(rig *r, unsigned int n, const unsigned int *conditions, int last) {
  const int wanted[2] = {n == 1 ? last : 1, last};
  STEP(GpuPlan_when(r->p, n, conditions, wanted));
}

static unsigned int build_then(rig *r, unsigned int x, unsigned int c) {
  unsigned int out = 0, both[2] = {c, 0}, twice, minus;
  switch (r->kind) {
  case GIVEN:
  case LARGE:
    return x;
  case PRODUCT:
    STEP(GpuPlan_gemm(r->p, &out, "product", 1, x, cb_no_trans, x, cb_no_trans, 0, 0,
                      0));
    return out;
  case NESTED:
    both[1] = condition(r, ASK_NEXT, x);
    when(r, 2, both, 1);
    twice = apply(r, TWICE, x, false);
    when(r, 2, both, 0);
    minus = apply(r, MINUS, x, false);
    when(r, 1, both, 1);
    return choose(r, both[1], twice, minus);
  default:
    return apply(r, TWICE, x, r->kind == UPDATED || r->kind == OVERWRITTEN);
  }
}

static unsigned int build_else(rig *r, unsigned int x, unsigned int y) {
  const int form = GP_INDEX_SLICE + GP_INDEX_STOP;
  unsigned int half = 0, part = 0;
  switch (r->kind) {
  case GIVEN:
  case LARGE:
    return y;
  case UPDATED:
    return x;
  case NESTED:
    return apply(r, NEGATE, x, false);
  case SHORTER:
    STEP(GpuPlan_int(r->p, &half, N / 2));
    STEP(GpuPlan_index(r->p, &part, "half", x, 1, &form, &half));
    return apply(r, MINUS, part, false);
  default:
    return apply(r, MINUS, x, false);
  }
}

/* More choices between what the sides have; gives the plan's result. */
static unsigned int build_more(rig *r, unsigned int x, unsigned int c,
                               unsigned int then, unsigned int other) {
  unsigned int negated, late;
  if (r->kind == SHARED) {
    when(r, 1, &c, 0);
    negated = apply(r, NEGATE, x, false);
    when(r, 0, NULL, 0);
    late = choose(r, c, then, other);
    choose(r, c, then, negated);
    return late;
  }
  const unsigned int chosen = choose(r, c, then, other);
  if (r->kind != LATE)
    return chosen;
  then = apply(r, TWICE, apply(r, NEGATE, chosen, false), false);
  when(r, 1, &c, 0);
  late = apply(r, NEGATE, other, false);
  when(r, 0, NULL, 0);
  return choose(r, c, then, late);
}

static void build(rig *r) {
  unsigned int x = 0, y = 0, c, then, other;
  STEP(GpuPlan_new(&r->p, r->ctx, "choice"));
  STEP(GpuPlan_input(r->p, &x, GA_FLOAT, nd_of(r->kind), 0));
  STEP(GpuPlan_input(r->p, &y, GA_FLOAT, nd_of(r->kind), 0));
  c = condition(r, ASK, x);
  when(r, 1, &c, 1);
  then = build_then(r, x, c);
  when(r, 1, &c, 0);
  other = build_else(r, x, y);
  when(r, 0, NULL, 0);
  const unsigned int result = build_more(r, x, c, then, other);
  STEP(GpuPlan_output(r->p, result));
}

static int open_rig(rig *r, enum kind kind) {
  const size_t square[2] = {2, 2}, n = count_of(kind);
  const size_t *dims = kind == PRODUCT ? square : &n;
  *r = (rig){.kind = kind};
  mock->run = run_kernel;
  STEP(gpucontext_open(&r->ctx, "cuda0"));
  for (int i = 0; i < N_KERNELS; i++)
    STEP(make_kernel(&r->kernels[i], r->ctx, names[i]));
  build(r);
  STEP(GpuArray_empty(&r->x, r->ctx, GA_FLOAT, nd_of(kind), dims, GA_C_ORDER));
  STEP(GpuArray_empty(&r->y, r->ctx, GA_FLOAT, nd_of(kind), dims, GA_C_ORDER));
  return r->status;
}

/* How often the thread did not record as before after a plan. */
static int left_relaxed;

static void close_rig(rig *r) {
  int mode = 0;
  GpuPlan_free(r->p);
  GpuArray_clear(&r->x);
  GpuArray_clear(&r->y);
  for (int i = 0; i < N_KERNELS; i++)
    GpuKernel_clear(&r->kernels[i]);
  gpucontext_deref(r->ctx);
  check_given_back();
  const long left = mock->fail_at;
  mock->fail_at = -1;
  if (ga__cuda.cuThreadExchangeStreamCaptureMode != NULL)
    CHECK(ga__cuda.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  left_relaxed += mode != 0;
  mock->fail_at = left;
}

/* ---- runs ---- */

static float x_values[N_LARGE], y_values[N_LARGE], got[N_LARGE];

/* Two bits: whether x[0] > 0, and x[1] > 0. */
static void set_values(enum kind kind, int truths) {
  for (size_t i = 0; i < count_of(kind); i++) {
    x_values[i] = (float)(i % 97) + 2;
    y_values[i] = (float)(i % 89) + 300;
  }
  x_values[0] = truths & 1 ? 7 : -7;
  x_values[1] = truths & 2 ? 5 : -5;
}

static float expected(enum kind kind, int truths, size_t i) {
  const float *x = x_values;
  switch (kind) {
  case GIVEN:
  case LARGE:
    return truths & 1 ? x[i] : y_values[i];
  case UPDATED:
    return truths & 1 ? 2 * x[i] : x[i];
  case PRODUCT:
    return truths & 1 ? x[i / 2 * 2] * x[i % 2] + x[i / 2 * 2 + 1] * x[2 + i % 2]
                      : x[i] - 1;
  case LATE:
    return truths & 1 ? -4 * x[i] : 1 - x[i];
  case NESTED:
    return computed(truths == 3 ? TWICE : truths == 1 ? MINUS : NEGATE, x[i]);
  default:
    return computed(truths & 1 ? TWICE : MINUS, x[i]);
  }
}

static void check_result_of(const rig *r, int truths, size_t n) {
  size_t right = 0;
  for (size_t i = 0; i < n; i++)
    right += got[i] == expected(r->kind, truths, i);
  CHECK(right == n);
}

/* What a run did. */
typedef struct seen {
  size_t waits;
  long graphs, choices, ran[N_KERNELS];
} seen;

static size_t waits_of(gpucontext *ctx) {
  size_t waits = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_WAITS, &waits));
  return waits;
}

static int read_result(const rig *r, int truths, const GpuArray *out) {
  const size_t n = r->kind == SHORTER && !(truths & 1) ? N / 2 : count_of(r->kind);
  CHECK(out->nd == nd_of(r->kind) && out->dimensions[0] == (out->nd == 2 ? 2 : n));
  CHECK(r->kind != UPDATED || out->data == r->x.data);
  GA_TRY(GpuArray_read(got, n * sizeof *got, out));
  if (!is_own_product)
    check_result_of(r, truths, n);
  return GA_NO_ERROR;
}

/* The calls of the driver within the next run: the one with this number fails;
 * negative: none. Then whether there was such a call. */
static long fail_within = -1;
static bool did_fail;

static int run_plan(const rig *r, GpuArray *out) {
  const bool is_to_fail = fail_within >= 0;
  if (is_to_fail)
    mock->fail_at = fail_within;
  int status =
      GpuPlan_run(r->p, (GpuArray *[]){out}, (const GpuArray *[]){&r->x, &r->y}, NULL);
  if (is_to_fail) {
    did_fail = mock->fail_at < 0;
    mock->fail_at = fail_within = -1;
  }
  return status;
}

/* Runs the plan on new values in the same arrays; checks what comes out of it. */
static int run_once(const rig *r, int truths, seen *s) {
  const size_t size = count_of(r->kind) * sizeof *got;
  GpuArray out = {0};
  *s = (seen){0};
  set_values(r->kind, truths);
  GA_TRY(GpuArray_write((GpuArray *)(uintptr_t)&r->x, x_values, size));
  GA_TRY(GpuArray_write((GpuArray *)(uintptr_t)&r->y, y_values, size));
  GA_TRY(gpucontext_sync(r->ctx));
  const seen before = {waits_of(r->ctx), mock->graph_launches, mock->choices, {0}};
  memset(ran, 0, sizeof ran);
  is_own_product = false;
  GA_TRY(run_plan(r, &out));
  s->waits = waits_of(r->ctx) - before.waits;
  s->graphs = mock->graph_launches - before.graphs;
  int status = read_result(r, truths, &out);
  s->choices = mock->choices - before.choices;
  memcpy(s->ran, ran, sizeof ran);
  GpuArray_clear(&out);
  return status;
}

static void check_ran(enum kind kind, int truths, const seen *s) {
  const bool then = truths & 1, next = truths & 2, computes = kind != GIVEN;
  const bool twice = kind == NESTED ? truths == 3 : then && kind != PRODUCT;
  const bool minus = kind == NESTED ? then && !next : !then && kind != UPDATED;
  CHECK(s->ran[ASK] == 1);
  CHECK(s->ran[ASK_NEXT] == (kind == NESTED && then));
  CHECK(s->ran[TWICE] == (computes && twice));
  CHECK(s->ran[MINUS] == (computes && minus));
  CHECK(s->ran[NEGATE] == (kind == NESTED && !then));
}

#endif
