/* A mock of NVIDIA's driver, NVRTC and cuBLAS on host memory, as one shared library.
 *
 * A queue runs only when it is waited for, so that whoever forgets to wait, or to order
 * two queues, sees old bytes. Memory that is freed while queued work needs it is a use
 * after free, which AddressSanitizer reports. A kernel does what the test says
 * (mock_cuda.run); products are computed. */
#include "mock_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The prototypes of api.def, under the names that the library looks up: a function here
 * that does not fit its declaration there does not compile. */
#define MOCK(result, name, suffix, arguments) result name arguments __asm__(#name suffix);
#define DRIVER MOCK
#define DRIVER_OPTIONAL MOCK
#define NVRTC MOCK
#define CUBLAS MOCK
#define CUBLAS_OPTIONAL(...)
#include "cuda/api.def"

enum {
  INVALID_VALUE = 1,
  INVALID_CONTEXT = 201,
  CAPTURE_UNSUPPORTED = 900,
  UNKNOWN = 999,
  PLAIN_SHARED = 48 << 10,
  MAX_DYNAMIC_SHARED = 8,
  HEAD = 72 /* bytes before the source in a binary */
};
#define TOTAL_MEMORY ((size_t)1 << 33)

static mock_cuda state = {.version = 13000,
                          .devices = MOCK_DEVICES,
                          .capability = 90,
                          .newest = 100,
                          .fail_at = -1};

mock_cuda *mock_cuda_state(void) {
  return &state;
}

/* ---- queues ---- */

typedef struct product {
  bool is_double;
  int ta, tb, m, n, k, lda, ldb, ldc;
  double alpha, beta;
  const void *a, *b;
  void *c;
} product;

typedef struct command {
  void (*run)(struct command *self, CUstream stream);
  void *to;
  const void *from;
  size_t size; /* of a copy or fill; the place in `awaited` of what is waited for */
  unsigned char byte;
  CUstream awaited;
  mock_launch launch;
  product product;
} command;

typedef struct list {
  command *items;
  size_t n, capacity;
} list;

struct ga_cuda_context_ {
  CUresult sticky; /* what every call gives once a kernel failed */
  int references;
};
struct ga_cuda_stream_ {
  CUcontext context;
  list commands;
  size_t done;
  CUgraph graph; /* that it records, or NULL */
};
struct ga_cuda_event_ {
  CUstream stream;
  size_t place;
};
struct ga_cuda_graph_ {
  list commands;
};
struct ga_cuda_graph_exec_ {
  list commands;
};
struct ga_cuda_function_ {
  char name[128];
  unsigned int n_args, shared;
  struct ga_cuda_function_ *next;
};
struct ga_cuda_module_ {
  char *source;
  CUfunction functions;
};
struct ga_nvrtc_program_ {
  char *source, log[128], architecture[32];
};
struct ga_cublas_handle_ {
  CUstream stream;
};

static struct ga_cuda_context_ contexts[MOCK_DEVICES];
static pthread_mutex_t lock; /* of everything; recursive */
static _Thread_local CUcontext current;
static _Thread_local bool is_recording;

__attribute__((constructor)) static void make_lock(void) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
}

static void append(list *l, const command *c) {
  if (l->n == l->capacity) {
    l->capacity = l->capacity ? 2 * l->capacity : 16;
    l->items = realloc(l->items, l->capacity * sizeof *l->items);
  }
  l->items[l->n++] = *c;
}

static void run_until(CUstream stream, size_t place) {
  while (stream->done < place) {
    command c = stream->commands.items[stream->done++];
    if (stream->context->sticky == CUDA_SUCCESS)
      c.run(&c, stream);
  }
}

static void run_copy(command *c, CUstream stream) {
  (void)stream;
  memcpy(c->to, c->from, c->size);
}

static void run_fill(command *c, CUstream stream) {
  (void)stream;
  memset(c->to, c->byte, c->size);
}

static void run_wait(command *c, CUstream stream) {
  (void)stream;
  run_until(c->awaited, c->size);
}

static void run_kernel(command *c, CUstream stream) {
  if (state.fault != CUDA_SUCCESS) {
    stream->context->sticky = state.fault;
    state.fault = CUDA_SUCCESS;
  } else if (state.run) {
    state.run(&c->launch);
  }
}

/* ---- calls ---- */

/* Whether this is the call that is to fail. */
static bool fails_now(void) {
  return state.fail_at >= 0 && state.fail_at-- == 0;
}

/* What a call that works on the current context begins with; `safe`: it may come from a
 * thread that records a graph. */
static CUresult begin(bool safe) {
  if (current == NULL)
    return INVALID_CONTEXT;
  if (current->sticky != CUDA_SUCCESS)
    return current->sticky;
  if (is_recording && !safe)
    return CAPTURE_UNSUPPORTED;
  return fails_now() ? state.fail_with : CUDA_SUCCESS;
}

/* Begins a call, and ends it with the lock given back. */
#define BEGIN(safe)                                                                    \
  pthread_mutex_lock(&lock);                                                           \
  CUresult result = begin(safe);                                                       \
  if (result == CUDA_SUCCESS)                                                          \
    do {
#define END                                                                            \
  }                                                                                    \
  while (0)                                                                            \
    ;                                                                                  \
  pthread_mutex_unlock(&lock);                                                         \
  return result

static CUresult push(CUstream stream, const command *c) {
  if (stream->context != current)
    return INVALID_CONTEXT;
  append(stream->graph ? &stream->graph->commands : &stream->commands, c);
  return CUDA_SUCCESS;
}
