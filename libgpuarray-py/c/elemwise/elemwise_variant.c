/* Kernel variants of a GpuElemwise: compiled on demand, kept in the object. */
#include "c/elemwise/elemwise_state.h"
#include "c/program/kernel_text.h"

static bool serves(const ga_elem_variant *v, const ga_elem_wanted *w) {
  if (v->kind != w->kind)
    return false;
  if (v->kind == GA_ELEM_FLAT)
    return (w->single & ~v->single) == 0 && (v->single & ~w->may_be_single) == 0;
  return v->wide == w->wide && v->nd >= w->nd &&
         (v->kind != GA_ELEM_ROWS || v->single == w->single);
}

ga_elem_variant *ga__variant_find(const GpuElemwise *ge, const ga_elem_wanted *w) {
  ga_elem_variant *best = NULL;
  for (ga_elem_variant *v = atomic_load_explicit(&ge->variants, memory_order_acquire);
       v != NULL; v = v->next)
    if (serves(v, w) && (best == NULL || v->nd < best->nd))
      best = v;
  return best;
}

int ga__variant_get(ga_elem_variant **out, GpuElemwise *ge, const ga_elem_wanted *w) {
  *out = ga__variant_find(ge, w);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_elem_variant *added = ga__alloc(1, sizeof *added);
  GA_TRY_MEMORY(added);
  added->kind = w->kind;
  added->wide = w->wide;
  added->nd = w->kind == GA_ELEM_FLAT ? 0 : w->nd;
  added->single = w->single;
  pthread_mutex_lock(&ge->lock);
  *out = ga__variant_find(ge, w);
  if (*out == NULL) {
    added->next = atomic_load(&ge->variants);
    atomic_store_explicit(&ge->variants, added, memory_order_release);
    *out = added;
    added = NULL;
  }
  pthread_mutex_unlock(&ge->lock);
  ga__free(added);
  return GA_NO_ERROR;
}

static int variant_source(ga_source *out, const GpuElemwise *ge,
                          const ga_elem_variant *v) {
  switch (v->kind) {
  case GA_ELEM_FLAT:
    return ga__elem_flat_source(out, &ge->spec, v->single);
  case GA_ELEM_ROWS:
    return ga__elem_rows_source(out, &ge->spec, v->nd, v->wide, v->single);
  case GA_ELEM_TILED:
    return ga__elem_tiled_source(out, &ge->spec, v->nd);
  default:
    return ga__elem_strided_source(out, &ge->spec, v->nd, v->wide);
  }
}

int ga__variant_kernel(gpukernel **out, GpuElemwise *ge, ga_elem_variant *v) {
  *out = atomic_load_explicit(&v->kernel, memory_order_acquire);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_source source = {0};
  int status = variant_source(&source, ge, v);
  GA_THEN(status, ga__kernel_get(out, ge->context, &source));
  if (status == GA_NO_ERROR)
    atomic_store_explicit(&v->kernel, *out, memory_order_release);
  ga__strbuf_clear(&source.body);
  return status;
}

int ga__elemwise_sources(ga_source out[4], unsigned int *n, GpuElemwise *ge,
                         unsigned int nd, unsigned int scalars) {
  ga_elem_wanted flat = {.kind = GA_ELEM_FLAT};
  for (unsigned int i = ge->n_out; i < ge->n && i - ge->n_out < 32; i++)
    if (scalars >> (i - ge->n_out) & 1 && !ga__elemwise_is_scalar(ge, i) &&
        ga__elemwise_is_input(ge, i))
      flat.single |= (uint64_t)1 << i;
  flat.may_be_single = flat.single;
  ga_elem_wanted strided = {.kind = GA_ELEM_STRIDED,
                            .nd = nd < ge->max_nd ? nd : ge->max_nd};
  const ga_elem_wanted *list[] = {&flat, &strided};
  atomic_store_explicit(&ge->is_prepared, true, memory_order_relaxed);
  *n = 0;
  for (unsigned int i = 0; i < (nd == 0 ? 1 : 2); i++) {
    ga_elem_variant *v;
    int status = ga__variant_get(&v, ge, list[i]);
    out[*n] = (ga_source){0};
    GA_THEN(status, variant_source(&out[*n], ge, v));
    GA_TRY(ga__sources_count(out, n, status));
  }
  return GA_NO_ERROR;
}
