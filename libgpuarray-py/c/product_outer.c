/* Products of few terms: alone, or with what is computed of each of their elements. */
#include "c/elemwise_launch.h"
#include "c/product_mapped.h"
#include "c/product_sides.h"

static enum ga_blas_kind kind_of(const ga_sides *s) {
  return (enum ga_blas_kind)(GA_OUTER + (int)s->a.n - 1);
}

typedef struct geometry {
  size_t lanes, slots; /* of a group: items beside each other, and rows at a time */
  size_t rows;         /* of a group */
  size_t grid[3];
} geometry;

static geometry geometry_of(const ga_product *p, const ga_sides *s) {
  const ga_blas_shape shape = ga__blas_shape(p->context, kind_of(s), p->typecode);
  geometry g = {.lanes = ga__power_above(ga__ceil_div(s->c.n, shape.broad)),
                .rows = shape.rows};
  g.lanes = g.lanes < 16 ? 16 : g.lanes > 128 ? 128 : g.lanes;
  g.slots = shape.items / g.lanes;
  const size_t across = ga__ceil_div(s->c.n, shape.broad * g.lanes);
  while (g.rows > g.slots &&
         2 * ga__ceil_div(s->c.m, g.rows) * across < p->context->info.processors)
    g.rows /= 2;
  g.grid[0] = ga__ceil_div(s->c.m, g.rows);
  g.grid[1] = across;
  g.grid[2] = 1;
  return g;
}

/* What both kernels are given first. */
static void add_factors(ga_args *args, const ga_sides *s, size_t rows) {
  args->n = 0;
  ga__args_factor(args, &s->a, false);
  ga__args_factor(args, &s->b, false);
  ga__args_numbers(args, 7,
                   (ssize_t[]){(ssize_t)s->c.m, (ssize_t)s->c.n, (ssize_t)rows, s->a.si,
                               s->a.sj, s->b.si, s->b.sj});
}

int ga__product_outer(const ga_product *p, const ga_sides *s) {
  const geometry g = geometry_of(p, s);
  gpukernel *kernel;
  GA_TRY(ga__blas_kernel(&kernel, p->context, kind_of(s), p->typecode));
  ga_args args;
  add_factors(&args, s, g.rows);
  ga__args_factor(&args, &s->c, true);
  ga__args_numbers(&args, 2, (ssize_t[]){s->c.si, s->c.sj});
  ga__args_scale(&args, p);
  return ga__product_launch(kernel, &args, g.grid, g.lanes, g.slots);
}

/* ---- with what is computed of it ---- */

/* An array of the expression, with the strides of its two axes; it may lack the first
 * and be repeated along others. */
static void add_array(ga_args *args, const GpuElemwise *ge, unsigned int i,
                      const GpuArray *a, bool is_flipped) {
  const ssize_t size = (ssize_t)GpuArray_ITEMSIZE(a);
  ssize_t strides[2] = {0, 0};
  for (unsigned int k = 0; k < a->nd; k++)
    if (a->dimensions[k] != 1)
      strides[2 - a->nd + k] = a->strides[k] / size;
  ga__launch_add_buffer(args, ge, i, a->data, a->offset);
  ga__args_numbers(
      args, 2, (ssize_t[]){strides[is_flipped ? 1 : 0], strides[is_flipped ? 0 : 1]});
}

int ga__product_mapped(const ga_product *p, const GpuElemwise *ge, unsigned int made,
                       void *const *values) {
  const ga_sides s = ga__sides_of(p);
  const geometry g = geometry_of(p, &s);
  ga_elem_spec spec = ge->spec;
  ga_source source = {0};
  gpukernel *kernel;
  spec.made = (uint64_t)1 << made;
  GA_TRY(ga__blas_mapped_source(&source, p->context, kind_of(&s), p->typecode, &spec));
  int status = ga__kernel_get(&kernel, p->context, &source);
  ga__strbuf_clear(&source.body);
  GA_TRY(status);
  ga_args args;
  add_factors(&args, &s, g.rows);
  for (unsigned int i = 0; i < ge->n; i++)
    if (ga__elemwise_is_scalar(ge, i))
      ga__launch_add_scalar(&args, ge, i, values[i]);
    else if (i != made)
      add_array(&args, ge, i, values[i], s.is_flipped);
  return ga__product_launch(kernel, &args, g.grid, g.lanes, g.slots);
}
