/* Kernels with an expression as their epilogue, kept with the expression. */
#include "c/elemwise/elemwise_map.h"

#include <assert.h>
#include <string.h>

typedef struct ga_mapped {
  struct ga_mapped *next;
  ga_make_mapped make;
  unsigned int made;
  size_t size;
  unsigned char spec[GA_MAPPED_SPEC];
  gpukernel *kernel;
} ga_mapped;

static bool is_of(const ga_mapped *m, const ga_mapped *wanted) {
  return m->make == wanted->make && m->made == wanted->made &&
         m->size == wanted->size && memcmp(m->spec, wanted->spec, m->size) == 0;
}

/* Two threads may add a kernel twice: the first found counts. */
static int keep(GpuElemwise *ge, const ga_mapped *m) {
  ga_mapped *added = ga__alloc(1, sizeof *added);
  GA_TRY_MEMORY(added);
  *added = *m;
  added->next = atomic_load(&ge->mapped);
  while (!atomic_compare_exchange_weak(&ge->mapped, &added->next, added))
    ;
  return GA_NO_ERROR;
}

static int make_kernel(gpukernel **out, const ga_mapping *map, const ga_mapped *m,
                       size_t threads) {
  ga_elem_spec expression = map->ge->spec;
  ga_source source = {0};
  expression.made = &map->made;
  int status = m->make(&source, map->ge->context, m->spec, &expression);
  GA_THEN(status, ga__kernel_get(out, map->ge->context, &source));
  ga__strbuf_clear(&source.body);
  if (status == GA_NO_ERROR && !ga__kernel_takes(*out, threads))
    return GA_FAIL(GA_DEVSUP_ERROR, "%s needs more registers than the device has",
                   source.name);
  return status;
}

int ga__mapped_kernel(gpukernel **out, const ga_mapping *map, ga_make_mapped make,
                      const void *spec, size_t size, size_t threads) {
  ga_mapped wanted = {.make = make, .made = map->made, .size = size};
  assert(size <= sizeof wanted.spec);
  memcpy(wanted.spec, spec, size);
  const ga_mapped *m = atomic_load_explicit(&map->ge->mapped, memory_order_acquire);
  while (m != NULL && !is_of(m, &wanted))
    m = m->next;
  if (m != NULL) {
    *out = m->kernel;
    return GA_NO_ERROR;
  }
  GA_TRY(make_kernel(out, map, &wanted, threads));
  wanted.kernel = *out;
  return keep(map->ge, &wanted);
}

void ga__mapped_free(GpuElemwise *ge) {
  for (ga_mapped *m = atomic_load(&ge->mapped), *next; m != NULL; m = next) {
    next = m->next;
    ga__free(m);
  }
}
