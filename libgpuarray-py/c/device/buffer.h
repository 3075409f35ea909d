/* Reference-counted device buffers. The first two members are the vendor's handle and
 * the context, as consumers of libgpuarray expect. */
#ifndef GA_C_BUFFER_H
#define GA_C_BUFFER_H

#include <assert.h>
#include <stddef.h>

#include "c/device/context.h"

#define GA_BUFFER_WORD                                                                 \
  0x10000 /* internal flag: the error word of device_errors.c, shared by all queues    \
             unordered */
/* Internal flag: the error count, read by kernels that must wait for those that
 * report. */
#define GA_BUFFER_COUNT 0x20000

typedef struct ga_tape ga_tape; /* see tape.h */

struct _gpudata {
  void *memory; /* CUdeviceptr or cl_mem */
  gpucontext *context;
  atomic_uint references;
  int flags;
  ga_tape *tape;     /* not NULL: a placeholder without memory, of a plan that is being
                        recorded */
  size_t size;       /* bytes requested */
  size_t begins;     /* byte offset at which the buffer's own data start */
  size_t block_size; /* bytes of the pool's block */
  const ga_allocator *from; /* NULL: foreign memory */
  atomic_bool is_met;       /* overlaps another buffer (aliasing) */
  atomic_bool is_last; /* a plan holds one reference, to reuse it for the next result */
  ga_uses uses;        /* latest uses, kept while the context has several queues */
  const char *label;   /* the allocating thread's */
  gpudata *next, *previous; /* in the context's list */
  void *host;               /* host address, or NULL */
  void (*release)(void *);  /* deleter of foreign memory; may be NULL */
  void *owner;              /* argument of `release` */
};
static_assert(offsetof(struct _gpudata, memory) == 0, "as ga__buffer_memory reads it");

/* gpudata_alloc that returns a status. */
int ga__buffer_new(gpudata **out, gpucontext *ctx, size_t size);
/* The same, at this address (gpudata.memory of an earlier buffer, or NULL) if it is
 * free. */
int ga__buffer_new_at(gpudata **out, gpucontext *ctx, size_t size, const void *wanted);
/* Allocates memory that the host can access. */
int ga__buffer_new_on_host(gpudata **out, gpucontext *ctx, size_t size);
/* Wraps foreign memory (in the backend's terms) of `size` bytes. With the last
 * reference the work on it is waited for, then release(owner) is called; a NULL
 * `release` is not. On failure nothing is released. */
int ga__buffer_wrap(gpudata **out, gpucontext *ctx, void *memory, size_t size,
                    void (*release)(void *owner), void *owner);
/* ga__buffers_meet where at least one buffer is on foreign memory. */
bool ga__buffers_meet_foreign(ptrdiff_t *between, const gpudata *a, const gpudata *b);
/* Aliasing check: true if two buffers of one context overlap; then `b` begins *between
 * bytes after `a`. Blocks of the pool and placeholders never overlap; foreign memory,
 * of which several buffers may exist (DLPack), is compared by address. */
static inline bool ga__buffers_meet(ptrdiff_t *between, const gpudata *a,
                                    const gpudata *b) {
  *between = 0;
  return a == b || ((a->from == NULL || b->from == NULL) &&
                    ga__buffers_meet_foreign(between, a, b));
}
/* Calls `visit` for every other buffer of the context that overlaps `b`; they stay
 * alive meanwhile. Cheap for a buffer that was never aliased. */
void ga__buffer_each_met(const gpudata *b, void (*visit)(void *with, gpudata *other),
                         void *with);
/* Host address of a buffer on a device with unified memory, else NULL. */
void *ga__buffer_on_host(const gpudata *b);
/* gpudata_read without range checks and without a look at the error word. */
int ga__buffer_read(void *dst, gpudata *src, size_t srcoff, size_t sz);
/* Sets `size` bytes from `offset`. */
int ga__buffer_fill(gpudata *buffer, size_t offset, unsigned char byte, size_t size);

/* True if the backend copies from the buffer to a context itself (peer copy). */
bool ga__buffer_reaches(const gpudata *from, const gpucontext *to);
/* Queues a peer copy behind the work of both contexts' current queues. The source's
 * goes on at once: ga__buffer_follow makes it wait, before the bytes may change, for
 * *event, which is of the queue *device and the caller's to free. GA_DEVSUP_ERROR where
 * there is no peer access. */
int ga__buffer_copy_peer(void **event, void **device, gpudata *dst, size_t dstoff,
                         gpudata *src, size_t srcoff, size_t sz);
/* Later work on the source's current queue waits for the copy; on failure the host
 * does. */
void ga__buffer_follow(gpudata *src, void *device, void *event);

#define GA_READ_AT_ONCE 32 /* reads per wait */
/* Reads at most that many non-empty ranges of one context, with one wait where the
 * backend can. Sets list[i].memory. */
int ga__buffers_read(unsigned int n, ga_reading *list);

#endif
