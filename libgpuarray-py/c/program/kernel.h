/* Compiled kernels: from source, from memory, from disk; and launches. */
#ifndef GA_C_KERNEL_H
#define GA_C_KERNEL_H

#include "c/device/arguments.h"
#include "c/device/device_errors.h"
#include "c/program/program.h"

#define GA_KERNEL_NAME 64

/* Groups of a launch on a CPU at most, for each processor. With few, a runtime leaves
 * threads idle: PoCL's first thread takes half of what is left and one more. */
#define GA_CPU_GROUPS 16

struct _gpukernel {
  gpucontext *context; /* first, as consumers of libgpuarray expect */
  atomic_uint references;
  bool of_context;     /* the context keeps it, so that it does not keep the context */
  atomic_bool is_open; /* its program is compiled: `kernel` and `threads` are there */
  void *kernel;        /* the backend's */
  ga_program *program;
  gpukernel *original; /* the context's kernel that it waits for, or NULL */
  size_t threads;
  char name[GA_KERNEL_NAME];
  const char *shown;         /* the name, interned, for the ring of launches */
  unsigned int n_args;       /* what follows is only a user's kernel's */
  unsigned int n_parameters; /* of what was compiled; n_args where nobody knows */
  int *types;
  ga_arg *args;
  bool *is_set;
};

/* Source of one kernel: `body` without the prelude, with the kernel's name in it. The
 * name is made from its content (ga__kernel_name), so that several bodies can stand in
 * one program. Starts zeroed. */
typedef struct ga_source {
  char name[GA_KERNEL_NAME];
  char title[64]; /* what it computes, for people; or "" */
  ga_strbuf body;
  /* May share a program: it changes nothing for a text behind it, and nothing before it
   * that does not either changes it. All else is compiled by itself. */
  bool is_closed;
} ga_source;

/* Whether a text that was handed in says so of itself: GA_SELF_CONTAINED is its first
 * line. */
bool ga__kernel_is_closed(const char *text);

/* "<stem>_<hash of text>": a name that differs when the text does. */
void ga__kernel_name(char out[GA_KERNEL_NAME], const char *stem, const char *text);

/* A kernel from `source`: from the context's memory, else from disk, else compiled. The
 * context keeps it; the caller borrows it for as long as it holds the context. While a
 * plan is bound it may be compiled on another thread yet: what is recorded is so at
 * once, and waits at the end. Thread-safe. */
int ga__kernel_get(gpukernel **out, gpucontext *ctx, const ga_source *source);

/* Makes all of `sources` available to ga__kernel_get: what is neither in memory nor on
 * disk is compiled as few programs (NVRTC takes 33 ms for one kernel, 66 ms for eight),
 * on as many threads as there are; `waits` for that. Those that share one are closed,
 * and would be compiled in the same manner alone. */
int ga__kernel_prepare(gpucontext *ctx, unsigned int n, const ga_source *const *sources,
                       bool waits);

/* Waits until the kernel is compiled. */
int ga__kernel_ready(gpukernel *k);

/* Queues a launch; empty grids launch nothing. All buffers are of the kernel's context.
 * If one of them is a stand-in of a tape, the launch is recorded there instead. */
int ga__kernel_launch(gpukernel *k, const ga_launch *launch);

/* Queues a launch along one axis for `items`, 1 or more: blocks of `threads`, fewer
 * where the kernel takes no more, and at most `most` of them. */
int ga__kernel_launch_items(gpukernel *k, const ga_args *args, size_t items,
                            size_t threads, size_t most);

/* Fills what every kernel has, as far as its program is compiled; slow_lock is held. */
int ga__kernel_open(gpukernel *k, gpucontext *ctx, ga_program *program,
                    const char *name);

/* The kernel called `name` that the context has of this body, or NULL. */
gpukernel *ga__kernel_named(gpucontext *ctx, const char *name, const char *body);

/* For files. The kernel of this source if the context has it, or NULL. */
gpukernel *ga__kernel_known(gpucontext *ctx, const ga_source *source);
/* The body that a kernel of the context was made from; NULL for a user's kernel. */
const char *ga__kernel_body(const gpukernel *k);
/* The kernel called `name` of a program, as if made from `body`. *out is a reference.
 * slow_lock is held. */
int ga__kernel_adopt(gpukernel **out, gpucontext *ctx, ga_program *program,
                     const char *name, const char *shown, const char *body);
/* The same of a user's kernel. */
int ga__user_kernel_adopt(gpukernel **out, gpucontext *ctx, ga_program *program,
                          const char *name);
/* GA_VALUE_ERROR for a user's kernel of which more or fewer parameters were compiled
 * than it was made for; it is open. */
int ga__kernel_check_parameters(const gpukernel *k);

/* Threads of a block for this kernel at most; 1 if it does not compile. */
size_t ga__kernel_threads(gpukernel *k);
/* Whether a block may have so many, which is known of few before it is compiled. */
bool ga__kernel_takes(gpukernel *k, size_t threads);

#endif
