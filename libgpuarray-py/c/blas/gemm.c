/* Products: dispatch to the vendor's BLAS or our own kernels, with copies where
 * needed. */
#include "c/blas/products.h"

#include <string.h>

#include "c/tape/record_replay.h"

/* ---- conversion to BLAS calls ---- */

/* True if BLAS can address it column-major (or, `by_rows`, row-major). */
static bool has_lines(const ga_factor *f, bool by_rows) {
  const size_t length = by_rows ? f->n : f->m, lines = by_rows ? f->m : f->n;
  const ssize_t step = by_rows ? f->sj : f->si, ld = by_rows ? f->si : f->sj;
  return (length == 1 || step == 1) && (lines == 1 || ld >= (ssize_t)length);
}

static ga_blas_operand lines_of(const ga_factor *f, bool by_rows) {
  const size_t length = by_rows ? f->n : f->m, lines = by_rows ? f->m : f->n;
  const ssize_t ld = by_rows ? f->si : f->sj;
  return (ga_blas_operand){.buffer = f->data,
                           .offset = f->offset,
                           .ld = lines == 1 ? (ssize_t)length : ld,
                           .step = f->step};
}

/* An input as a BLAS operand; false if BLAS has no such layout. */
static bool describe(ga_blas_operand *out, cb_transpose *how, const ga_factor *f) {
  const bool is_column_major = has_lines(f, false) && !f->is_conjugated;
  if (!is_column_major && !has_lines(f, true))
    return false;
  *out = lines_of(f, !is_column_major);
  *how = is_column_major ? cb_no_trans : f->is_conjugated ? cb_conj_trans : cb_trans;
  return true;
}

static bool describe_vector(ga_blas_operand *out, const ga_factor *f, bool is_row) {
  const ssize_t inc = is_row ? f->sj : f->si;
  const size_t n = is_row ? f->n : f->m;
  *out = (ga_blas_operand){.buffer = f->data, .offset = f->offset, .ld = inc};
  if (n == 1)
    out->ld = 1;
  return out->ld != 0 && (n == 1 || !f->is_conjugated);
}

static ga_blas_call begin_call(const ga_product *p) {
  ga_blas_call call = {.routine = GA_BLAS_GEMM,
                       .epilogue = p->epilogue,
                       .typecode = p->typecode,
                       .is_tf32 = atomic_load(&p->context->blas.is_tf32),
                       .batch = p->batch};
  memcpy(call.alpha, p->alpha, sizeof call.alpha);
  memcpy(call.beta, p->beta, sizeof call.beta);
  return call;
}

/* Bits 0 to 2: BLAS cannot address a, b, c; 0: *call is complete. A row-major c is
 * computed as its transpose. */
static int describe_gemm(ga_blas_call *call, const ga_product *p) {
  const bool flip = p->epilogue != GA_BLAS_PLAIN || !has_lines(&p->c, false);
  const ga_factor a = flip ? ga__factor_transposed(p->b) : p->a;
  const ga_factor b = flip ? ga__factor_transposed(p->a) : p->b;
  const ga_factor c = flip ? ga__factor_transposed(p->c) : p->c;
  *call = begin_call(p);
  call->m = c.m;
  call->n = c.n;
  call->k = a.n;
  call->c = lines_of(&c, false);
  if (p->epilogue != GA_BLAS_PLAIN)
    call->bias = (ga_blas_operand){.buffer = p->bias.data, .offset = p->bias.offset};
  const bool a_fits = describe(&call->a, &call->ta, &a);
  const bool b_fits = describe(&call->b, &call->tb, &b);
  return (a_fits ? 0
          : flip ? 2
                 : 1) |
         (b_fits ? 0
          : flip ? 1
                 : 2) |
         (has_lines(&c, false) ? 0 : 4);
}

/* The same for products with a vector result. */
static int describe_gemv(ga_blas_call *call, const ga_product *p) {
  const bool flip = p->c.n != 1;
  const ga_factor a = flip ? ga__factor_transposed(p->b) : p->a;
  *call = begin_call(p);
  call->routine = GA_BLAS_GEMV;
  const bool a_fits = describe(&call->a, &call->ta, &a);
  call->m = call->ta == cb_no_trans ? a.m : a.n;
  call->n = call->ta == cb_no_trans ? a.n : a.m;
  const bool x_fits = describe_vector(&call->b, flip ? &p->a : &p->b, flip);
  const bool y_fits = describe_vector(&call->c, &p->c, flip);
  return (a_fits ? 0 : flip ? 2 : 1) | (x_fits ? 0 : flip ? 1 : 2) | (y_fits ? 0 : 4);
}

static bool has_gemv(const ga_product *p) {
  return p->batch == 1 && (p->c.m == 1 || p->c.n == 1) && p->epilogue == GA_BLAS_PLAIN;
}

static int describe_call(ga_blas_call *call, const ga_product *p) {
  return has_gemv(p) ? describe_gemv(call, p) : describe_gemm(call, p);
}

/* The tape, if a buffer is a placeholder. */
static ga_tape *any_tape(const ga_product *p) {
  const gpudata *const buffers[] = {p->a.data, p->b.data, p->c.data, p->bias.data};
  for (int i = 0; i < 4; i++)
    if (buffers[i] != NULL && buffers[i]->tape != NULL)
      return buffers[i]->tape;
  return NULL;
}

static int run_call(const ga_product *p, const ga_blas_call *call) {
  ga_tape *tape = any_tape(p);
  return tape != NULL ? ga__tape_blas(tape, call)
                      : ga__context_product(p->context, call);
}

/* ---- copies ---- */

/* Byte range of the elements, [*low, *high). */
static void extent(ptrdiff_t *low, ptrdiff_t *high, const ga_factor *f, size_t batch,
                   size_t itemsize) {
  const ptrdiff_t spans[] = {(ptrdiff_t)(f->m - 1) * f->si,
                             (ptrdiff_t)(f->n - 1) * f->sj,
                             (ptrdiff_t)(batch - 1) * f->step};
  ptrdiff_t first = 0, last = 0;
  for (int i = 0; i < 3; i++)
    *(spans[i] < 0 ? &first : &last) += spans[i];
  *low = (ptrdiff_t)f->offset + first * (ptrdiff_t)itemsize;
  *high = (ptrdiff_t)f->offset + (last + 1) * (ptrdiff_t)itemsize;
}

static bool overlaps_output(const ga_product *p, const ga_factor *f) {
  const size_t itemsize = gpuarray_get_elsize(p->typecode);
  ptrdiff_t low, high, out_low, out_high, between;
  if (p->c.data == NULL || !ga__buffers_meet(&between, f->data, p->c.data) ||
      f->m == 0 || f->n == 0)
    return false;
  extent(&low, &high, f, p->batch, itemsize);
  extent(&out_low, &out_high, &p->c, p->batch, itemsize);
  return low < out_high + between && out_low + between < high;
}

/* Replaces *f by a contiguous copy, owned by `copy`. A batch stride of 0 is kept. */
static int copy_factor(ga_factor *f, GpuArray *copy, const ga_product *p) {
  const ssize_t itemsize = (ssize_t)gpuarray_get_elsize(p->typecode);
  const size_t dims[] = {f->step == 0 ? 1 : p->batch, f->m, f->n};
  const ssize_t strides[] = {f->step * itemsize, f->si * itemsize, f->sj * itemsize};
  GpuArray view;
  GA_TRY(
      GpuArray_fromdata(&view, f->data, f->offset, p->typecode, 3, dims, strides, 0));
  int status = GpuArray_copy(copy, &view, GA_C_ORDER);
  GpuArray_clear(&view);
  GA_TRY(status);
  f->data = copy->data;
  f->offset = copy->offset;
  f->si = (ssize_t)f->n;
  f->sj = 1;
  f->step = f->step == 0 ? 0 : (ssize_t)(f->m * f->n);
  return GA_NO_ERROR;
}

static int copy_overlapping(ga_product *p, GpuArray copies[2], int nocopy) {
  ga_factor *const factors[] = {&p->a, &p->b};
  for (int i = 0; i < 2; i++) {
    if (!overlaps_output(p, factors[i]))
      continue;
    if (nocopy)
      return GA_FAIL(
          GA_COPY_ERROR,
          "%s: %s overlaps the output %s, and needs a copy, which nocopy forbids",
          p->operation, p->names[i], p->names[2]);
    GA_TRY(copy_factor(factors[i], &copies[i], p));
  }
  return GA_NO_ERROR;
}

/* ---- dispatch ---- */

static bool uses_vendor(const ga_product *p, const ga_blas *blas,
                        const ga_blas_call *call) {
  void *const device = p->context->device;
  return blas->serves(device, call) &&
         (ga__product_is_vendors(p) || blas->prefers(device, call));
}

/* True if our tiles take it; the vendor's BLAS is not even loaded. */
static bool is_ours(const ga_product *p) {
  return !ga__product_is_vendors(p) && ga__product_is_small(p);
}

/* Multiply-adds from which a copy is cheap compared with the gain. */
#define WORTH_A_COPY ((double)(1 << 26))

static bool is_worth_a_copy(const ga_product *p) {
  return ga__product_work(p) >= WORTH_A_COPY;
}

/* Copies unreadable inputs for the vendor's BLAS if that pays, which is decided before
 * copying. */
static int make_readable(ga_product *p, GpuArray copies[2], int unreadable,
                         const ga_blas *blas) {
  ga_blas_call call;
  ga_product readable = *p;
  if (!is_worth_a_copy(p))
    return GA_NO_ERROR;
  if (unreadable & 1)
    readable.a.si = (ssize_t)p->a.n, readable.a.sj = 1;
  if (unreadable & 2)
    readable.b.si = (ssize_t)p->b.n, readable.b.sj = 1;
  if (describe_call(&call, &readable) != 0 || !uses_vendor(p, blas, &call))
    return GA_NO_ERROR;
  if (unreadable & 1)
    GA_TRY(copy_factor(&p->a, &copies[0], p));
  if (unreadable & 2)
    GA_TRY(copy_factor(&p->b, &copies[1], p));
  return GA_NO_ERROR;
}

static int compute(ga_product *p, GpuArray copies[2], int nocopy) {
  ga_blas_call call;
  GA_TRY(copy_overlapping(p, copies, nocopy));
  if (!ga__product_is_vendors(p) && ga__product_is_narrow(p))
    return ga__product_narrow(p);
  const ga_blas *blas = is_ours(p) || p->a.n == 0 ? NULL : ga__context_blas(p->context);
  if (blas == NULL)
    return ga__product_own(p);
  int unreadable = describe_call(&call, p);
  if (unreadable != 0 && !(unreadable & 4) && !nocopy && !has_gemv(p)) {
    GA_TRY(make_readable(p, copies, unreadable, blas));
    unreadable = describe_call(&call, p);
  }
  if (unreadable == 0 && uses_vendor(p, blas, &call))
    return run_call(p, &call);
  return ga__product_own(p);
}

int ga__product(const ga_product *product, int nocopy) {
  ga_product p = *product;
  GpuArray copies[2] = {{0}, {0}};
  if (p.c.m == 0 || p.c.n == 0 || p.batch == 0)
    return GA_NO_ERROR;
  int status = compute(&p, copies, nocopy);
  GpuArray_clear(&copies[0]);
  GpuArray_clear(&copies[1]);
  return status;
}

bool ga__product_is_vendored(const ga_product *p) {
  const ga_blas *blas = is_ours(p) ? NULL : ga__context_blas(p->context);
  ga_blas_call call;
  if (blas == NULL)
    return false;
  return describe_call(&call, p) == 0 ? uses_vendor(p, blas, &call)
                                      : is_worth_a_copy(p);
}

bool ga__product_fuses(const ga_product *p) {
  const ga_blas *blas = p->a.n > 0 ? ga__context_blas(p->context) : NULL;
  ga_blas_call call;
  return blas != NULL && p->c.m > 0 && p->c.n > 0 && p->batch == 1 &&
         !overlaps_output(p, &p->a) && !overlaps_output(p, &p->b) &&
         describe_gemm(&call, p) == 0 && uses_vendor(p, blas, &call);
}
