/* Routines that sort, fold, multiply and transform. */
#include "c/routines/calls.h"

#include <gpuarray/blas.h>
#include <gpuarray/scan.h>
#include <gpuarray/sort.h>

#include "c/library/fourier_spec.h"
#include "c/library/matrices_spec.h"
#include "c/reduce/reduction.h"

/* ---- sorting ---- */

int ga__run_sort(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  GA_TRY(empty_like(c, 0, a, a->typecode));
  return or_clear(
      c, GpuArray_sort(c->outs[0], a, as_int(c->params[0]), as_int(c->params[1])));
}

int ga__run_argsort(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  GA_TRY(empty_like(c, 0, a, GA_LONG));
  return or_clear(
      c, GpuArray_argsort(c->outs[0], a, as_int(c->params[0]), as_int(c->params[1])));
}

int ga__run_topk(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  size_t dims[GA_MAX_NDIM];
  unsigned int axis = 0;
  GA_TRY(check_axis(&axis, a, c->params[0], "topk"));
  if (c->ints[1] < 0)
    return GA_FAIL(GA_VALUE_ERROR, "topk: k is %lld, expected 0 or more", c->ints[1]);
  memcpy(dims, a->dimensions, a->nd * sizeof *dims);
  dims[axis] = (size_t)c->ints[1];
  GA_TRY(GpuArray_empty(c->outs[0], c->context, a->typecode, a->nd, dims, GA_C_ORDER));
  int status = GpuArray_empty(c->outs[1], c->context, GA_LONG, a->nd, dims, GA_C_ORDER);
  GA_THEN(status, GpuArray_topk(c->outs[0], c->outs[1], a, dims[axis], (int)axis,
                                c->params[1] != 0, 1));
  return or_clear(c, status);
}

/* ---- scans and reductions ---- */

int ga__run_scan(ga_routine_call *c) {
  static int (*const scans[])(GpuArray *, const GpuArray *, int, int) = {
      GpuArray_cumsum, GpuArray_cumprod, GpuArray_cummax, GpuArray_cummin};
  const long long kind = c->params[0];
  if (kind < 0 || kind >= (long long)(sizeof scans / sizeof *scans))
    return GA_FAIL(GA_VALUE_ERROR, "scan: unknown kind %lld", kind);
  GA_TRY(empty_like(c, 0, c->ins[0], c->types[0].typecode));
  return or_clear(c, scans[kind](c->outs[0], c->ins[0], as_int(c->params[1]),
                                 as_int(c->params[2])));
}

int ga__run_extremum(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  const int wanted = as_int(c->params[2]);
  GpuArray results[2];
  GpuReduction *gr;
  unsigned int axis = 0;
  GA_TRY(check_axis(&axis, a, c->params[0], "extremum"));
  if (wanted < GA_EXTREMUM_VALUE || wanted > GA_EXTREMUM_BOTH ||
      c->n_out != (wanted == GA_EXTREMUM_BOTH ? 2u : 1u))
    return GA_FAIL(GA_VALUE_ERROR,
                   "extremum: the results %d do not match %u output arrays", wanted,
                   c->n_out);
  GA_TRY(ga__extremum_get(&gr, c->context, a->typecode, c->params[1] != 0, wanted));
  const void *ins[] = {a};
  GA_TRY(ga__reduction_apply(gr, results, (void *const *)(uintptr_t)ins, 1, &axis, 0));
  for (unsigned int i = 0; i < c->n_out; i++)
    *c->outs[i] = results[i];
  return GA_NO_ERROR;
}

/* ---- products ---- */

/* Casts const away for functions that only read. */
static GpuArray *input(const ga_routine_call *c, unsigned int i) {
  return (GpuArray *)(uintptr_t)c->ins[i];
}

enum product_kind { DOT, GEMV, GEMM, GEMM_BATCH };

int ga__run_product(ga_routine_call *c) {
  const long long *p = c->params;
  GpuArray *a = input(c, 0), *b = input(c, 1), *r = c->outs[0];
  if (p[1] < cb_no_trans || p[1] > cb_conj_trans || p[2] < cb_no_trans ||
      p[2] > cb_conj_trans)
    return GA_FAIL(GA_VALUE_ERROR,
                   "product: got transpositions %lld and %lld, expected cb_no_trans, "
                   "cb_trans or cb_conj_trans",
                   p[1], p[2]);
  const cb_transpose ta = (cb_transpose)p[1], tb = (cb_transpose)p[2];
  const double alpha[2] = {as_double(p[3]), as_double(p[4])};
  const double beta[2] = {as_double(p[5]), as_double(p[6])};
  GA_TRY(GpuArray_view(r, c->ins[2]));
  switch (p[0]) {
  case DOT:
    return or_clear(c, GpuArray_rdot(a, b, r, 0));
  case GEMV:
    return or_clear(c, GpuArray_cgemv(ta, alpha, a, b, beta, r, 0));
  case GEMM:
    return or_clear(c, GpuArray_cgemm(ta, tb, alpha, a, b, beta, r, 0));
  case GEMM_BATCH:
    return or_clear(c, GpuArray_cgemmBatch_3d(ta, tb, alpha, a, b, beta, r, 0));
  default:
    return or_clear(c, GA_FAIL(GA_VALUE_ERROR, "product: unknown kind %lld", p[0]));
  }
}

int ga__run_ger(ga_routine_call *c) {
  const double alpha[2] = {as_double(c->params[0]), as_double(c->params[1])};
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_cgeru(alpha, input(c, 1), input(c, 2), c->outs[0], 0));
}

/* Factorizations and solves: the kind, flags, and the bits of a cutoff. */
int ga__run_matrices(ga_routine_call *c) {
  const ga_matrices_call m = {.kind = (enum ga_matrices_kind)c->params[0],
                              .flags = (unsigned int)as_int(c->params[1]),
                              .cutoff = as_double(c->params[2]),
                              .failure = c->texts[0]};
  if (c->params[0] < 0 || c->params[0] >= GA_MATRICES_N)
    return GA_FAIL(GA_VALUE_ERROR, "matrices: unknown kind %lld", c->params[0]);
  return ga__matrices_run(c->outs, c->n_out, c->ins, c->n_in, &m);
}

/* ---- transforms ---- */

int ga__run_fft(ga_routine_call *c) {
  const long long flags = c->params[1];
  return ga__fourier(c->outs[0], c->ins[0], c->params[0], c->ints[1],
                     flags < 0 || flags > INT32_MAX ? UINT32_MAX : (unsigned int)flags);
}
