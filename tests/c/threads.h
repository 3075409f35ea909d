/* Many threads at once on the same contexts, kernels, plans, queues and cache folder.
 *
 * What does not run kernels, the null device and the mock of CUDA, moves bytes all the
 * same, so that what one thread hands to another is checked everywhere. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "elemwise_step.h"

#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>
#include <gpuarray/queue.h>

#define N_THREADS 8
#define N_CONTEXTS 2
#define N_BOXES 16
#define BOX_SIZE 5000

typedef struct shared {
  const char *device; /* the name of each context */
  int rounds;
  gpucontext *contexts[N_CONTEXTS];
  GpuKernel kernels[N_CONTEXTS];
  GpuElemwise *adds[N_CONTEXTS];
  GpuPlan *plans[N_CONTEXTS];
  pthread_mutex_t lock; /* of the boxes */
  gpudata *boxes[N_BOXES];
  unsigned char contents[N_BOXES]; /* each byte of a box's buffer */
  atomic_int failures;
} shared;

/* check.h counts on one thread. */
#define THREAD_CHECK(s, condition)                                                     \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      atomic_fetch_add(&(s)->failures, 1);                                             \
      fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition,      \
              gpuarray_error_text());                                                  \
    }                                                                                  \
  } while (0)
#define THREAD_OK(s, call) THREAD_CHECK(s, (call) == GA_NO_ERROR)

typedef struct worker {
  shared *s;
  unsigned int number, state;
  pthread_t thread;
} worker;

static unsigned int any(worker *w, unsigned int n) {
  w->state = w->state * 1664525u + 1013904223u;
  return (w->state >> 8) % n;
}

/* Swaps a new buffer into a box; what was there has the bytes that its writer, another
 * thread on another queue, gave it. */
static void exchange_boxes(worker *w) {
  shared *s = w->s;
  unsigned char bytes[BOX_SIZE], byte = (unsigned char)any(w, 256);
  unsigned int box = any(w, N_BOXES);
  gpucontext *ctx = s->contexts[box % N_CONTEXTS];
  gpudata *given = gpudata_alloc(ctx, BOX_SIZE, NULL, 0, NULL);
  THREAD_CHECK(s, given != NULL);
  if (any(w, 2)) {
    THREAD_OK(s, gpudata_memset(given, 0, byte));
  } else {
    memset(bytes, byte, sizeof bytes);
    THREAD_OK(s, gpudata_write(given, 0, bytes, sizeof bytes));
  }
  pthread_mutex_lock(&s->lock);
  gpudata *taken = s->boxes[box];
  unsigned char content = s->contents[box];
  s->boxes[box] = given;
  s->contents[box] = byte;
  pthread_mutex_unlock(&s->lock);
  if (taken == NULL)
    return;
  gpudata *copy = gpudata_alloc(ctx, BOX_SIZE, NULL, 0, NULL);
  THREAD_OK(s, gpudata_move(copy, 0, taken, 0, BOX_SIZE));
  gpudata_release(taken);
  THREAD_OK(s, gpudata_read(bytes, copy, 0, BOX_SIZE));
  for (int i = 0; i < BOX_SIZE; i++)
    if (bytes[i] != content) {
      THREAD_CHECK(s, bytes[i] == content);
      break;
    }
  gpudata_release(copy);
}

/* The kernel writes nothing, so that every thread may give it the same buffer. */
static void launch_kernels(worker *w) {
  shared *s = w->s;
  unsigned int i = any(w, N_CONTEXTS);
  gpudata *b = gpudata_alloc(s->contexts[i], 64, NULL, 0, NULL);
  size_t one = 1, offset = 0;
  void *args[] = {b, &offset};
  THREAD_OK(s, gpuarray_set_label(any(w, 2) ? "one place" : "another place"));
  for (int n = 0; n < 10; n++)
    THREAD_OK(s, GpuKernel_call(&s->kernels[i], 1, &one, &one, 0, args));
  THREAD_OK(s, gpuarray_set_label(NULL));
  gpulaunch list[8];
  unsigned int count;
  THREAD_OK(s, gpucontext_launches(s->contexts[i], 8, list, &count));
  gpudata_release(b);
}

static void apply_elementwise(worker *w) {
  shared *s = w->s;
  unsigned int i = any(w, N_CONTEXTS);
  size_t n = 1 + any(w, 2000);
  GpuArray x = {0}, y = {0};
  THREAD_OK(s, GpuArray_zeros(&x, s->contexts[i], GA_FLOAT, 1, &n, GA_C_ORDER));
  THREAD_OK(s, GpuElemwise_apply1(s->adds[i], &y, &x));
  if (y.data) {
    float last = 9;
    THREAD_OK(s, gpudata_read(&last, y.data, y.offset + (n - 1) * 4, 4));
    bool is_real = strcmp(s->device, "null") != 0 && strncmp(s->device, "cuda", 4) != 0;
    THREAD_CHECK(s, !is_real || last == 1);
  }
  GpuArray_clear(&x);
  GpuArray_clear(&y);
}

static void run_plans(worker *w) {
  shared *s = w->s;
  unsigned int i = any(w, N_CONTEXTS);
  size_t n = 16 + any(w, 3);
  GpuArray x = {0}, y = {0};
  const GpuArray *ins[] = {&x};
  GpuArray *outs[] = {&y};
  THREAD_OK(s, GpuArray_zeros(&x, s->contexts[i], GA_FLOAT, 1, &n, GA_C_ORDER));
  THREAD_OK(s, GpuPlan_run(s->plans[i], outs, ins, NULL));
  GpuArray_clear(&x);
  GpuArray_clear(&y);
}

/* A context of its own, with kernels that others put into the same folder. Seldom on a
 * device, where opening one takes long. */
static void open_and_close(worker *w) {
  shared *s = w->s;
  if (strncmp(s->device, "opencl", 6) == 0 && any(w, 16) != 0)
    return;
  gpucontext *ctx = NULL;
  GpuKernel k;
  char text[128];
  const char *source = text;
  snprintf(text, sizeof text, "KERNEL void made(GLOBAL_MEM ga_uint *x) { /* %u */ }",
           any(w, 20));
  int types[] = {GA_BUFFER};
  THREAD_OK(s, gpucontext_open(&ctx, s->device));
  THREAD_OK(s, GpuKernel_init(&k, ctx, 1, &source, NULL, "made", 1, types, 0, NULL));
  GpuKernel_clear(&k);
  gpucontext_deref(ctx);
}

/* Changes this thread's queue on a context; some are new. */
static void change_queue(worker *w) {
  shared *s = w->s;
  gpucontext *ctx = s->contexts[any(w, N_CONTEXTS)];
  gpuqueue *q = NULL;
  gpuevent *e = NULL;
  if (any(w, 3) == 0) {
    THREAD_OK(s, gpucontext_use_queue(ctx, NULL));
    return;
  }
  THREAD_OK(s, gpuqueue_new(&q, ctx));
  THREAD_OK(s, gpuevent_record(&e, gpucontext_queue(ctx)));
  THREAD_OK(s, gpucontext_use_queue(ctx, q));
  THREAD_OK(s, gpuqueue_wait_event(q, e));
  THREAD_OK(s, gpuevent_wait(e));
  gpuevent_release(e);
  gpuqueue_release(q);
}

static void look_around(worker *w) {
  shared *s = w->s;
  gpucontext *ctx = s->contexts[any(w, N_CONTEXTS)];
  gpucontext_memory memory;
  gpucontext_cache cache;
  THREAD_OK(s, gpucontext_memory_info(ctx, &memory));
  THREAD_OK(s, gpucontext_cache_info(ctx, &cache));
  if (any(w, 4) == 0)
    THREAD_OK(s, gpucontext_trim(ctx));
  else
    THREAD_OK(s, gpucontext_sync(ctx));
}

static void *work(void *argument) {
  static void (*const actions[])(worker *) = {
      exchange_boxes, exchange_boxes, launch_kernels, apply_elementwise,
      run_plans,      open_and_close, change_queue,   look_around};
  worker *w = argument;
  for (int i = 0; i < w->s->rounds; i++)
    actions[any(w, sizeof actions / sizeof *actions)](w);
  return NULL; /* its queues go with it */
}

/* x + 2, in two steps. */
static GpuPlan *make_plan(gpucontext *ctx) {
  GpuPlan *p = NULL;
  unsigned int x, y, z;
  const char *expr = "y = x + 1";
  CHECK_OK(GpuPlan_new(&p, ctx, "threads"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(add_step(p, &y, expr, expr, x, GA_FLOAT, GA_FLOAT, -1));
  CHECK_OK(add_step(p, &z, expr, expr, y, GA_FLOAT, GA_FLOAT, -1));
  CHECK_OK(GpuPlan_output(p, z));
  return p;
}

static void open_shared(shared *s) {
  const char *text = "KERNEL void idle(GLOBAL_MEM ga_uint *x, ga_size n) { }";
  int types[] = {GA_BUFFER, GA_SIZE};
  gpuelemwise_arg args[] = {{"out", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  pthread_mutex_init(&s->lock, NULL);
  for (int i = 0; i < N_CONTEXTS; i++) {
    gpucontext *ctx = NULL;
    CHECK_OK(gpucontext_open(&ctx, s->device));
    if (ctx == NULL)
      exit(1);
    s->contexts[i] = ctx;
    CHECK_OK(
        GpuKernel_init(&s->kernels[i], ctx, 1, &text, NULL, "idle", 2, types, 0, NULL));
    s->adds[i] = GpuElemwise_new(ctx, "", "out = x + 1", 2, args, 1, 0);
    CHECK(s->adds[i] != NULL);
    s->plans[i] = make_plan(ctx);
  }
}

static void close_shared(shared *s) {
  for (int i = 0; i < N_BOXES; i++)
    gpudata_release(s->boxes[i]);
  for (int i = 0; i < N_CONTEXTS; i++) {
    gpucontext_memory info;
    GpuKernel_clear(&s->kernels[i]);
    GpuElemwise_free(s->adds[i]);
    GpuPlan_free(s->plans[i]);
    CHECK_OK(gpucontext_memory_info(s->contexts[i], &info));
    CHECK(info.live == 0 && info.n_live == 0);
    gpucontext_deref(s->contexts[i]);
  }
  pthread_mutex_destroy(&s->lock);
}

static void test_threads(const char *device, int rounds) {
  shared s = {.device = device, .rounds = rounds};
  worker workers[N_THREADS];
  open_shared(&s);
  for (unsigned int i = 0; i < N_THREADS; i++) {
    workers[i] = (worker){.s = &s, .number = i, .state = 77u * i + 1};
    CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < N_THREADS; i++)
    pthread_join(workers[i].thread, NULL);
  CHECK(atomic_load(&s.failures) == 0);
  close_shared(&s);
}

#endif
