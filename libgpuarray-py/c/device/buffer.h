/* Reference-counted device memory. The first two words are the vendor's handle and the
 * context, as consumers of libgpuarray expect. */
#ifndef GA_C_BUFFER_H
#define GA_C_BUFFER_H

#include <assert.h>
#include <stddef.h>

#include "c/device/context.h"

#define GA_BUFFER_WORD                                                                 \
  0x10000 /* a flag of our own: device_errors.c's, on every queue at once */
/* Another: its memory is read by kernels, which wait for those that report. */
#define GA_BUFFER_COUNT 0x20000

typedef struct ga_tape ga_tape; /* tape.h's */

struct _gpudata {
  void *memory; /* CUdeviceptr or cl_mem */
  gpucontext *context;
  atomic_uint references;
  int flags;
  ga_tape *tape;     /* not NULL: a stand-in of a plan that is being bound; has no
                               memory */
  size_t size;       /* bytes asked for */
  size_t begins;     /* of which so many lie before those that are its own */
  size_t block_size; /* bytes the pool gave */
  const ga_allocator *from; /* NULL: not the pool's */
  atomic_bool is_met;       /* another buffer lay on its memory when that was made */
  atomic_bool is_last;      /* a plan has one of the references, for its next result */
  ga_uses uses;             /* the latest, where the context has several queues */
  const char *label;        /* of the thread that made it */
  gpudata *next, *previous; /* among the context's */
  void *host;               /* where the host reaches it, or NULL */
  void (*release)(void *);  /* of memory of someone else; may be NULL */
  void *owner;              /* what `release` is given */
};
static_assert(offsetof(struct _gpudata, memory) == 0, "as ga__buffer_memory reads it");

/* As gpudata_alloc, with a status. */
int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size);
/* The same in memory that the host reaches. */
int ga__buffer_new_on_host(gpudata **out, gpucontext *ctx, size_t size);
/* A buffer of `size` bytes on memory of someone else, in the backend's terms. When its
 * last reference goes, the work on it is waited for and `release(owner)` is called; not
 * at all where `release` is NULL. On failure nothing is released. */
int ga__buffer_wrap(gpudata **out, gpucontext *ctx, void *memory, size_t size,
                    void (*release)(void *owner), void *owner);
/* Of two buffers of one context, one at least of which is not the pool's. */
bool ga__buffers_meet_foreign(ptrdiff_t *between, const gpudata *a, const gpudata *b);
/* Whether two buffers of one context have memory in common; then `b` begins *between
 * bytes after `a`. Every check of overlap asks here. The pool's are apart, and so are
 * stand-ins; of the memory of others, of which there may be several buffers (DLPack),
 * the addresses tell. */
static inline bool ga__buffers_meet(ptrdiff_t *between, const gpudata *a,
                                    const gpudata *b) {
  *between = 0;
  return a == b || ((a->from == NULL || b->from == NULL) &&
                    ga__buffers_meet_foreign(between, a, b));
}
/* Calls `visit` for every buffer of the context that has memory in common with `b`, but
 * not for `b`; they live until it is back. Of one on which nothing else lay it is cheap
 * to ask. */
void ga__buffer_each_met(const gpudata *b, void (*visit)(void *with, gpudata *other),
                         void *with);
/* Where the host finds the memory of a device that shares the host's, NULL where it
 * does not. */
void *ga__buffer_on_host(const gpudata *b);
/* As gpudata_read of a range that is there, but does not look at what kernels reported
 * to the context. */
int ga__buffer_read(void *dst, gpudata *src, size_t srcoff, size_t sz);
/* Sets `size` bytes from `offset`. */
int ga__buffer_fill(gpudata *buffer, size_t offset, unsigned char byte, size_t size);

#define GA_READ_AT_ONCE 32 /* readings that wait once */
/* Reads at most so many, of one context, none of them empty; with one wait where the
 * backend can. Fills in list[i].memory. */
int ga__buffers_read(unsigned int n, ga_reading *list);

#endif
