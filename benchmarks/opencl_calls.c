/* Takes down which kernels a program queues through OpenCL, and queues them again: what
 * the driver needs for them without the program.
 *
 *   cc -O2 -shared -fPIC benchmarks/opencl_calls.c -ldl -o calls.so
 *   LD_PRELOAD=./calls.so python -m benchmarks.opencl_steps ...
 *
 * The program finds the driver's functions by dlsym, which is ours here. It may set
 * only arguments that change, so each has the program's value again afterwards. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#define MOST 4096
#define LARGEST 64

typedef struct {
  void *kernel;
  /* Of an argument that is set: how large, which, what. Else what is queued. */
  size_t size;
  unsigned int index, nd;
  unsigned char value[LARGEST], latest[LARGEST];
  size_t global[3], local[3];
  void *queue;
} call;

static call calls[MOST];
static int n_calls = -1; /* none are taken down */
static int n_taken;

static int (*set_argument)(void *, unsigned int, size_t, const void *);
static int (*enqueue)(void *, void *, unsigned int, const size_t *, const size_t *,
                      const size_t *, unsigned int, const void *, void *);
static int (*finish)(void *);

/* Copies an argument's value; NULL, of local memory, has none. */
static void copy(unsigned char *to, size_t size, const void *value) {
  if (value != NULL)
    memcpy(to, value, size);
}

static int take_argument(void *kernel, unsigned int index, size_t size,
                         const void *value) {
  if (n_calls >= 0 && n_calls < MOST && size <= LARGEST) {
    call *c = &calls[n_calls++];
    *c = (call){.kernel = kernel, .size = size, .index = index};
    copy(c->value, size, value);
    copy(c->latest, size, value);
  }
  for (call *c = calls; n_calls < 0 && c < calls + n_taken; c++)
    if (c->queue == NULL && c->kernel == kernel && c->index == index && c->size == size)
      copy(c->latest, size, value);
  return set_argument(kernel, index, size, value);
}

static int take_launch(void *queue, void *kernel, unsigned int nd, const size_t *offset,
                       const size_t *global, const size_t *local, unsigned int n_events,
                       const void *events, void *event) {
  if (n_calls >= 0 && n_calls < MOST) {
    call *c = &calls[n_calls++];
    *c = (call){.kernel = kernel, .queue = queue, .nd = nd};
    memcpy(c->global, global, nd * sizeof *global);
    memcpy(c->local, local, nd * sizeof *local);
  }
  return enqueue(queue, kernel, nd, offset, global, local, n_events, events, event);
}

void *dlsym(void *library, const char *name) {
  static void *(*find)(void *, const char *);
  if (find == NULL)
    *(void **)&find = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void *found = find(library, name);
  if (found == NULL)
    return NULL;
  if (strcmp(name, "clSetKernelArg") == 0) {
    *(void **)&set_argument = found;
    return (void *)take_argument;
  }
  if (strcmp(name, "clEnqueueNDRangeKernel") == 0) {
    *(void **)&enqueue = found;
    return (void *)take_launch;
  }
  if (strcmp(name, "clFinish") == 0)
    *(void **)&finish = found;
  return found;
}

/* What is queued from now on is taken down. */
void calls_begin(void) {
  n_calls = 0;
}

/* Ends it: how many kernels there are, or -1 if there are too many calls. */
int calls_end(void) {
  int launches = 0;
  n_taken = n_calls;
  n_calls = -1;
  for (int i = 0; i < n_taken; i++)
    launches += calls[i].queue != NULL;
  return n_taken < MOST ? launches : -1;
}

/* Queues all of it `times` times and waits: seconds. */
double calls_again(int times) {
  struct timespec from, to;
  void *queue = NULL;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int k = 0; k < times; k++)
    for (int i = 0; i < n_taken; i++) {
      const call *c = &calls[i];
      if (c->queue == NULL)
        set_argument(c->kernel, c->index, c->size, c->value);
      else
        enqueue(queue = c->queue, c->kernel, c->nd, NULL, c->global, c->local, 0, NULL,
                NULL);
    }
  if (queue != NULL)
    finish(queue);
  clock_gettime(CLOCK_MONOTONIC, &to);
  for (const call *c = calls; c < calls + n_taken; c++)
    if (c->queue == NULL)
      set_argument(c->kernel, c->index, c->size, c->latest);
  return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}
