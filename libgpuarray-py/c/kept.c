/* Kernels that a context keeps by what they are made of. Entries are only ever added,
 * so that looking one up takes no lock. */
#include "c/kept.h"

#include <string.h>

#define N_BUCKETS 64

typedef struct kept_kernel {
  struct kept_kernel *next;
  ga_make_source make;
  gpukernel *kernel; /* the context's */
  size_t size;
  unsigned char spec[];
} kept_kernel;

struct ga_kept {
  _Atomic(kept_kernel *) buckets[N_BUCKETS];
};

static int get_table(ga_kept **out, gpucontext *ctx) {
  *out = atomic_load_explicit(&ctx->kept, memory_order_acquire);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_kept *made = ga__alloc(1, sizeof *made), *none = NULL;
  if (made == NULL)
    return GA_MEMORY_ERROR;
  if (atomic_compare_exchange_strong(&ctx->kept, &none, made)) {
    *out = made;
  } else {
    ga__free(made);
    *out = none;
  }
  return GA_NO_ERROR;
}

void ga__kept_close(gpucontext *ctx) {
  ga_kept *table = atomic_exchange(&ctx->kept, NULL);
  for (unsigned int i = 0; table != NULL && i < N_BUCKETS; i++)
    for (kept_kernel *k = atomic_load(&table->buckets[i]), *next; k != NULL; k = next) {
      next = k->next;
      ga__free(k);
    }
  ga__free(table);
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
  if (status == GA_NO_ERROR)
    status = ga__kernel_get(out, ctx, &source);
  ga__strbuf_clear(&source.body);
  return status;
}

int ga__kernel_kept(gpukernel **out, gpucontext *ctx, ga_make_source make,
                    const void *spec, size_t size) {
  ga_kept *table;
  GA_TRY(get_table(&table, ctx));
  _Atomic(kept_kernel *) *bucket = &table->buckets[bucket_of(spec, size)];
  gpukernel *kernel = find(bucket, make, spec, size);
  if (kernel == NULL) {
    GA_TRY(compile(&kernel, ctx, make, spec));
    kept_kernel *k = ga__alloc(1, sizeof *k + size);
    if (k == NULL)
      return GA_MEMORY_ERROR;
    k->make = make;
    k->kernel = kernel;
    k->size = size;
    memcpy(k->spec, spec, size);
    /* Two threads may add the same one: the context has one kernel of a source. */
    k->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &k->next, k))
      ;
  }
  *out = kernel;
  return GA_NO_ERROR;
}
