/* Compiled kernels: cached in memory and on disk, and launched. */
#ifndef GA_C_KERNEL_H
#define GA_C_KERNEL_H

#include "c/device/arguments.h"
#include "c/device/device_errors.h"
#include "c/program/program.h"

#define GA_KERNEL_NAME 64

/* Maximum number of work groups per core of a CPU device. Few groups leave threads
 * idle: PoCL's first thread takes half of what is left and one more. */
#define GA_CPU_GROUPS 16

struct _gpukernel {
  gpucontext *context; /* first, as consumers of libgpuarray expect */
  atomic_uint references;
  bool of_context;     /* owned by the context, so holds no reference to it */
  bool is_closed;      /* its source is (ga_source) */
  bool waits;          /* ga__kernel_waits of its source; false if unknown */
  atomic_bool is_open; /* compiled: `kernel` and `threads` are valid */
  void *kernel;        /* the backend's */
  ga_program *program;
  gpukernel *original; /* the context's kernel that this one shares, or NULL */
  size_t threads;
  char name[GA_KERNEL_NAME];
  const char *shown;         /* display name, interned, for the ring of launches */
  unsigned int n_args;       /* the rest is for users' kernels only */
  unsigned int n_parameters; /* in the compiled code; n_args if unknown */
  int *types;
  ga_arg *args;
  bool *is_set;
};

/* Source of one kernel: the body, without the prelude. Its name hashes the content
 * (ga__kernel_name), so that several bodies can share a program. Starts zeroed. */
typedef struct ga_source {
  char name[GA_KERNEL_NAME];
  char title[64]; /* description for people, or "" */
  ga_strbuf body;
  /* May share a program: independent of texts before it, without effect on those after
   * it. Else it is compiled alone. */
  bool is_closed;
} ga_source;

/* True if a user's text declares itself closed by its first line, GA_SELF_CONTAINED. */
bool ga__kernel_is_closed(const char *text);

/* "<stem>_<hash of text>". */
void ga__kernel_name(char out[GA_KERNEL_NAME], const char *stem, const char *text);

/* Gets a kernel from memory, else disk, else the compiler. The context owns it; the
 * caller borrows it while it holds the context. While a plan is recorded it may still
 * be compiling on another thread: recording goes on, and waits at the end.
 * Thread-safe. */
int ga__kernel_get(gpukernel **out, gpucontext *ctx, const ga_source *source);

/* Prebuilds all `sources` for ga__kernel_get: those not in memory or on disk are
 * compiled in few programs (NVRTC: 33 ms for one kernel, 66 ms for eight) on all free
 * threads. `waits` for them. Only closed sources with equal compilation modes share a
 * program. */
int ga__kernel_prepare(gpucontext *ctx, unsigned int n, const ga_source *const *sources,
                       bool waits);

/* Waits until the kernel is compiled. */
int ga__kernel_ready(gpukernel *k);

/* Queues a launch; an empty grid launches nothing. All buffers are of the kernel's
 * context; if one is a placeholder, its tape records the launch. */
int ga__kernel_launch(gpukernel *k, const ga_launch *launch);

/* Queues a 1-d launch over `items` (at least 1): blocks of `threads`, or what the
 * kernel supports, and at most `most` blocks. */
int ga__kernel_launch_items(gpukernel *k, const ga_args *args, size_t items,
                            size_t threads, size_t most);
/* The same, of known work (ga_launch). */
int ga__kernel_launch_work(gpukernel *k, const ga_args *args, size_t items,
                           size_t threads, size_t most, size_t work);

/* Initializes what all kernels have, from a program that may still be compiling;
 * slow_lock is held. */
int ga__kernel_open(gpukernel *k, gpucontext *ctx, ga_program *program,
                    const char *name);

/* The context's kernel of this name and body, or NULL. */
gpukernel *ga__kernel_named(gpucontext *ctx, const char *name, const char *body);

/* For plan files. The context's kernel of this source, or NULL. */
gpukernel *ga__kernel_known(gpucontext *ctx, const ga_source *source);
/* Source of a kernel of the context; NULL for a user's kernel. */
const char *ga__kernel_body(const gpukernel *k);
/* Adds the kernel `name` of a loaded program, as if made from `body`. *out is retained.
 * slow_lock is held. */
int ga__kernel_adopt(gpukernel **out, gpucontext *ctx, ga_program *program,
                     const char *name, const char *shown, const char *body);
/* The same of a user's kernel. */
int ga__user_kernel_adopt(gpukernel **out, gpucontext *ctx, ga_program *program,
                          const char *name);
/* GA_VALUE_ERROR if a user's kernel was declared with another number of arguments than
 * compiled parameters. The kernel is open. */
int ga__kernel_check_parameters(const gpukernel *k);

/* Maximum block size; 1 if the kernel does not compile. */
size_t ga__kernel_threads(gpukernel *k);
/* True if a block of `threads` can run; small ones need not wait for the compiler. */
bool ga__kernel_takes(gpukernel *k, size_t threads);

#endif
