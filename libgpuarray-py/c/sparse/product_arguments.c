/* Arguments of products, as kernels/row_words.cl.h has them. */
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

static ssize_t stride(const GpuArray *a, unsigned int axis) {
  return axis < a->nd ? a->strides[axis] / (ssize_t)gpuarray_get_elsize(a->typecode)
                      : 0;
}

void ga__sparse_add_product(ga_args *args, const ga_sparse_product *p,
                            const ga_sparse_sizes *s, const GpuArray *list,
                            const GpuArray *parts) {
  const GpuSparse *a = p->a;
  /* what has no elements has no memory, and is not read */
  const bool is_empty = ga__sparse_count(a) == 0;
  const GpuArray *values = is_empty ? &a->indptr : &a->values;
  const GpuArray *x = p->x && !is_empty ? p->x : values, *y = p->y;
  const int typecode = a->values.typecode;
  ga__sparse_add(args, y, false);
  ga__sparse_add_matrix(args, a);
  ga__sparse_add(args, x, true);
  ga__sparse_add(args, list->data ? list : y, false);
  ga__sparse_add(args, parts->data ? parts : y, false);
  ga__args_u64(args, a->rows);
  ga__args_u64(args, a->columns);
  ga__args_u64(args, ga__sparse_count(a));
  ga__args_u64(args, s->width);
  ga__args_i64(args, stride(x, 0));
  ga__args_i64(args, stride(y, 0));
  ga__args_i64(args, stride(y, 1));
  ga__args_i64(args, p->offset);
  ga__args_u64(args, s->limit);
  ga__args_u64(args, s->piece);
  ga__args_u64(args, s->room);
  ga__sparse_add_factor(args, typecode, p->alpha, 1);
  ga__sparse_add_factor(args, typecode, p->beta, 0);
  ga__args_i32(args, p->beta && (p->beta[0] != 0 || p->beta[1] != 0));
}
