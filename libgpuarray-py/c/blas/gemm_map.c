/* Fused epilogue: its kernel and arguments. */
#include "c/blas/gemm_map.h"

#include "c/blas/blas_kernels.h"
#include "c/elemwise/elemwise_launch.h"

int ga__mapped_kernel(gpukernel **out, const ga_product *p, enum ga_blas_kind kind,
                      const ga_mapping *map) {
  if (map == NULL)
    return ga__blas_kernel(out, p->context, kind, p->typecode);
  const uint64_t key = (uint64_t)kind << 32 | (uint64_t)p->typecode << 16 | map->made;
  *out = ga__elemwise_host(map->ge, key);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_elem_spec spec = map->ge->spec;
  ga_source source = {0};
  spec.made = &map->made;
  GA_TRY(ga__blas_mapped_source(&source, p->context, kind, p->typecode, &spec));
  int status = ga__kernel_get(out, p->context, &source);
  ga__strbuf_clear(&source.body);
  if (status == GA_NO_ERROR && !ga__kernel_takes(*out, GA_SIDE_ITEMS))
    return GA_FAIL(GA_DEVSUP_ERROR, "gemm: %s needs more registers than the device has",
                   source.name);
  return status == GA_NO_ERROR ? ga__elemwise_note_host(map->ge, key, *out) : status;
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

void ga__mapped_args(ga_args *args, const ga_product *p, const ga_factor *c,
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
