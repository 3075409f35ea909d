/* Kernels by specialization, per context. Append-only, so that look-ups are
 * lock-free. */
#include "c/program/kernel_table.h"

#include <string.h>

#define N_BUCKETS 64

typedef struct kept_kernel {
  struct kept_kernel *next;
  ga_make_source make;
  gpukernel *kernel; /* owned by the context */
  size_t size;
  unsigned char spec[];
} kept_kernel;

typedef struct table {
  _Atomic(kept_kernel *) buckets[N_BUCKETS];
} table;

static void free_table(gpucontext *ctx, void *object) {
  table *t = object;
  (void)ctx;
  for (unsigned int i = 0; i < N_BUCKETS; i++)
    for (kept_kernel *k = atomic_load(&t->buckets[i]), *next; k != NULL; k = next) {
      next = k->next;
      ga__free(k);
    }
  ga__free(t);
}

/* FNV-1a. */
static unsigned int bucket_of(const unsigned char *bytes, size_t size) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ bytes[i]) * 16777619u;
  return (hash ^ hash >> 16) % N_BUCKETS;
}

static gpukernel *find(_Atomic(kept_kernel *) *bucket, ga_make_source make,
                       const void *spec, size_t size) {
  kept_kernel *k = atomic_load_explicit(bucket, memory_order_acquire);
  for (; k != NULL; k = k->next)
    if (k->make == make && k->size == size && memcmp(k->spec, spec, size) == 0)
      return k->kernel;
  return NULL;
}

static int compile(gpukernel **out, gpucontext *ctx, ga_make_source make,
                   const void *spec) {
  ga_source source = {0};
  int status = make(&source, ctx, spec);
  GA_THEN(status, ga__kernel_get(out, ctx, &source));
  ga__strbuf_clear(&source.body);
  return status;
}

int ga__kernel_kept(gpukernel **out, gpucontext *ctx, ga_make_source make,
                    const void *spec, size_t size) {
  void *object;
  GA_TRY(
      ga__context_attach(&object, ctx, GA_ATTACHED_USERS, sizeof(table), free_table));
  table *t = object;
  _Atomic(kept_kernel *) *bucket = &t->buckets[bucket_of(spec, size)];
  gpukernel *kernel = find(bucket, make, spec, size);
  if (kernel == NULL) {
    GA_TRY(compile(&kernel, ctx, make, spec));
    kept_kernel *k = ga__alloc(1, sizeof *k + size);
    GA_TRY_MEMORY(k);
    k->make = make;
    k->kernel = kernel;
    k->size = size;
    memcpy(k->spec, spec, size);
    /* Two threads may add a specialization twice; the kernel is the same. */
    k->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &k->next, k))
      ;
  }
  *out = kernel;
  return GA_NO_ERROR;
}
