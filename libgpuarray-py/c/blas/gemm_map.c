/* Fused epilogue: its kernel and arguments. */
#include "c/blas/gemm_map.h"

#include "c/blas/blas_kernels.h"
#include "c/elemwise/elemwise_launch.h"

typedef struct kind_spec {
  int32_t kind, typecode;
} kind_spec;

static int write_mapped(ga_source *out, const gpucontext *ctx, const void *spec,
                        const ga_elem_spec *map) {
  const kind_spec *s = spec;
  return ga__blas_mapped_source(out, ctx, (enum ga_blas_kind)s->kind, s->typecode, map);
}

int ga__product_kernel(gpukernel **out, const ga_product *p, enum ga_blas_kind kind,
                       const ga_mapping *map) {
  const kind_spec spec = {(int32_t)kind, p->typecode};
  if (map == NULL)
    return ga__blas_kernel(out, p->context, kind, p->typecode);
  return ga__mapped_kernel(out, map, write_mapped, &spec, sizeof spec, GA_SIDE_ITEMS);
}

/* An array with its two strides; broadcast axes have stride 0. */
static void add_array(ga_args *args, const GpuElemwise *ge, unsigned int i,
                      const GpuArray *a, bool is_flipped) {
  const ssize_t size = (ssize_t)GpuArray_ITEMSIZE(a);
  ssize_t strides[2] = {0, 0};
  for (unsigned int k = 0; k < a->nd; k++)
    if (a->dimensions[k] != 1)
      strides[2 - a->nd + k] = a->strides[k] / size;
  ga__launch_add_buffer(args, ge, i, a->data, a->offset);
  ga__args_numbers(args, 2, (ssize_t[]){strides[is_flipped], strides[!is_flipped]});
}

void ga__product_args(ga_args *args, const ga_product *p, const ga_factor *c,
                      bool is_flipped, const ga_mapping *map) {
  if (map == NULL) {
    ga__args_factor(args, c, true);
    ga__args_numbers(args, 2, (ssize_t[]){c->si, c->sj});
    ga__args_scale(args, p);
    return;
  }
  for (unsigned int i = 0; i < map->ge->n; i++)
    if (ga__elemwise_is_scalar(map->ge, i))
      ga__launch_add_scalar(args, map->ge, i, map->values[i]);
    else if (i != map->made)
      add_array(args, map->ge, i, map->values[i], is_flipped);
}
