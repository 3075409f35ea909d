/* Small-K GEMM: few terms (outer products). */
#include "c/blas/gemm_sides.h"

static enum ga_blas_kind kind_of(const ga_sides *s) {
  return (enum ga_blas_kind)(GA_OUTER + (int)s->a.n - 1);
}

typedef struct geometry {
  size_t lanes, slots; /* of a group: adjacent items, and rows at a time */
  size_t rows;         /* per group */
  size_t grid[3];
} geometry;

/* An epilogue waits for its own loads: then more groups per processor, of fewer
 * rows. */
static geometry geometry_of(const ga_product *p, const ga_sides *s, bool has_epilogue) {
  const ga_blas_shape shape = ga__blas_shape(p->context, kind_of(s), p->typecode);
  geometry g = {.lanes = ga__power_above(ga__ceil_div(s->c.n, shape.broad)),
                .rows = shape.rows};
  g.lanes = g.lanes < 16 ? 16 : g.lanes > 128 ? 128 : g.lanes;
  g.slots = shape.items / g.lanes;
  const size_t across = ga__ceil_div(s->c.n, shape.broad * g.lanes);
  const size_t busy = p->context->info.processors;
  while (g.rows > g.slots &&
         2 * ga__ceil_div(s->c.m, g.rows) * across < (has_epilogue ? 8 * busy : busy))
    g.rows /= 2;
  g.grid[0] = ga__ceil_div(s->c.m, g.rows);
  g.grid[1] = across;
  g.grid[2] = 1;
  return g;
}

int ga__product_outer(const ga_product *p, const ga_sides *s, const ga_mapping *map) {
  const geometry g = geometry_of(p, s, map != NULL);
  gpukernel *kernel;
  ga_args args;
  GA_TRY(ga__product_kernel(&kernel, p, kind_of(s), map));
  args.n = 0;
  ga__args_factor(&args, &s->a, false);
  ga__args_factor(&args, &s->b, false);
  ga__args_numbers(&args, 7,
                   (ssize_t[]){(ssize_t)s->c.m, (ssize_t)s->c.n, (ssize_t)g.rows,
                               s->a.si, s->a.sj, s->b.si, s->b.sj});
  ga__product_args(&args, p, &s->c, s->is_flipped, map);
  return ga__product_launch(kernel, &args, g.grid, g.lanes, g.slots);
}
