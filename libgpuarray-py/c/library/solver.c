/* Factorizations by the vendor's dense solver (LAPACK's meaning): checks, dispatch, and
 * reports of failed matrices. */
#include <gpuarray/solver.h>

#include "c/array/array.h"
#include "c/library/kernels/report_info.inc"
#include "c/program/kernel_text.h"
#include "c/system/ending.h"

/* A call and its operands. */
typedef struct request {
  const char *operation;
  const char *failure; /* text of GA_LINALG_ERROR */
  gpucontext *context;
  ga_solver_call call;
  gpudata *own_info; /* if the caller passed no info */
} request;

static const ga_solver *solver_of(gpucontext *ctx) {
  const ga_solver *solver = ctx->backend->solver;
  return solver && ga__vendor_opens(solver->open, ctx->device) ? solver : NULL;
}

int gpuarray_solves(gpucontext *ctx) {
  return ga__context_check(ctx) == GA_NO_ERROR && solver_of(ctx) != NULL;
}

/* ---- checks ---- */

static int check_array(const request *r, const GpuArray *a, int typecode,
                       const char *role) {
  char text[GA_ARRAY_TEXT];
  if (a == NULL)
    return ga__fail_null(r->operation, role);
  GA_TRY(ga__array_check(a, r->operation));
  if (a->typecode != typecode)
    return GA_FAIL(GA_INVALID_ERROR, "%s: %s is %s, expected %s", r->operation, role,
                   ga__array_text(text, a), ga__dtype_name(typecode));
  if (GpuArray_context(a) != r->context)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s is on %s, expected %s; transfer it first",
                   r->operation, role, gpucontext_name(GpuArray_context(a)),
                   gpucontext_name(r->context));
  if (a->data->tape != NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "%s: a plan that is being bound cannot record it; call it beside "
                   "the plan",
                   r->operation);
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR, "%s: %s, %s, is not aligned; copy it",
                   r->operation, role, ga__array_text(text, a));
  return ga__array_writeable(a, r->operation);
}

/* Batch stride in elements, 0 for a single matrix; false if the spacing is uneven. */
static bool batch_step(ssize_t *step, size_t *batch, const GpuArray *a) {
  const ssize_t itemsize = (ssize_t)GpuArray_ITEMSIZE(a);
  ssize_t expected = 0;
  *step = 0;
  *batch = 1;
  for (unsigned int i = a->nd - 2; i-- > 0;) {
    if (a->dimensions[i] == 1)
      continue;
    if (*step == 0)
      *step = expected = a->strides[i];
    if (a->strides[i] != expected)
      return a->dimensions[i] == 0;
    expected *= (ssize_t)a->dimensions[i];
    *batch *= a->dimensions[i];
  }
  *step /= itemsize;
  return true;
}

/* Operand for a stack of column-major (m, n) matrices, A. */
static int take_matrices(ga_blas_operand *out, size_t *batch, const request *r,
                         const GpuArray *a, const char *role) {
  char text[GA_ARRAY_TEXT];
  const ssize_t itemsize = (ssize_t)GpuArray_ITEMSIZE(a);
  if (a->nd < 2)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s is %s, expected at least 2 axes",
                   r->operation, role, ga__array_text(text, a));
  const size_t m = a->dimensions[a->nd - 2], n = a->dimensions[a->nd - 1];
  const ssize_t ld =
      n <= 1 ? (ssize_t)(m > 0 ? m : 1) : a->strides[a->nd - 1] / itemsize;
  ssize_t step;
  const bool is_even = batch_step(&step, batch, a);
  const bool has_columns =
      (m <= 1 || a->strides[a->nd - 2] == itemsize) && ld >= (ssize_t)m && ld >= 1;
  const bool is_apart = *batch <= 1 || step >= ld * (ssize_t)n;
  if (ga__array_count(a) > 0 && !(is_even && has_columns && is_apart))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %s is %s, not a stack of column-major matrices; copy its "
                   "transposed view",
                   r->operation, role, ga__array_text(text, a));
  *out =
      (ga_blas_operand){.buffer = a->data, .offset = a->offset, .ld = ld, .step = step};
  return GA_NO_ERROR;
}

/* Operand for a vector of `length` elements per matrix. */
static int take_vectors(ga_blas_operand *out, const request *r, const GpuArray *a,
                        int typecode, size_t length, const char *role) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(check_array(r, a, typecode, role));
  if (!GpuArray_IS_C_CONTIGUOUS(a) || ga__array_count(a) != r->call.batch * length)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %s is %s, expected a C-contiguous array of %zu elements for "
                   "each of %zu matrices",
                   r->operation, role, ga__array_text(text, a), length, r->call.batch);
  *out = (ga_blas_operand){
      .buffer = a->data, .offset = a->offset, .ld = 1, .step = (ssize_t)length};
  return GA_NO_ERROR;
}

/* Operand for further (m, n) matrices. */
static int take_others(ga_blas_operand *out, const request *r, const GpuArray *a,
                       size_t m, size_t n, const char *role) {
  char text[GA_ARRAY_TEXT];
  size_t batch = 0;
  GA_TRY(check_array(r, a, r->call.typecode, role));
  GA_TRY(take_matrices(out, &batch, r, a, role));
  if (a->dimensions[a->nd - 2] != m || a->dimensions[a->nd - 1] != n ||
      batch != r->call.batch)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s is %s, expected %zu matrices of (%zu, %zu)",
                   r->operation, role, ga__array_text(text, a), r->call.batch, m, n);
  return GA_NO_ERROR;
}

static int real_type(int typecode) {
  return typecode == GA_CFLOAT    ? GA_FLOAT
         : typecode == GA_CDOUBLE ? GA_DOUBLE
                                  : typecode;
}

/* Start of every routine: checks A, square if `is_square`. */
static int begin(request *r, enum ga_solver_routine routine, const GpuArray *a,
                 bool is_square, const char *operation) {
  char text[GA_ARRAY_TEXT];
  *r = (request){.operation = operation, .call = {.routine = routine}};
  if (a == NULL)
    return ga__fail_null(operation, "A");
  GA_TRY(ga__array_check(a, operation));
  r->context = GpuArray_context(a);
  GA_TRY(ga__context_check(r->context));
  const int t = a->typecode;
  if (t != GA_FLOAT && t != GA_DOUBLE && t != GA_CFLOAT && t != GA_CDOUBLE)
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: A is %s, expected float32, float64, complex64 or complex128",
                   operation, ga__array_text(text, a));
  GA_TRY(check_array(r, a, t, "A"));
  GA_TRY(take_matrices(&r->call.a, &r->call.batch, r, a, "A"));
  r->call.typecode = t;
  r->call.m = a->dimensions[a->nd - 2];
  r->call.n = a->dimensions[a->nd - 1];
  if (is_square && r->call.m != r->call.n)
    return GA_FAIL(GA_VALUE_ERROR, "%s: A is %s, expected square matrices", operation,
                   ga__array_text(text, a));
  return GA_NO_ERROR;
}

static int check_uplo(const char *operation, cb_uplo uplo) {
  if (uplo == cb_upper || uplo == cb_lower)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR, "%s: uplo is %d, expected cb_upper or cb_lower",
                 operation, (int)uplo);
}

/* ---- running ---- */

static int report_kernel(gpukernel **out, gpucontext *ctx) {
  ga_source source = {0};
  ga_strbuf text = {0};
  ga__strbuf_add(&text, report_info_text);
  int status = ga__text_finish_named(&source, "report_info", NULL,
                                     "#define REPORT_INFO_NAME %\n", &text);
  GA_THEN(status, ga__kernel_get(out, ctx, &source));
  ga__strbuf_clear(&source.body);
  return status;
}

static int report_failures(const request *r) {
  gpukernel *kernel;
  ga_args args;
  args.n = 0;
  GA_TRY(report_kernel(&kernel, r->context));
  ga__args_pointer(&args, r->own_info, 0, true);
  ga__args_u64(&args, r->call.batch);
  GA_TRY(ga__args_report(&args, r->context, r->failure));
  const size_t threads = 64, blocks = (r->call.batch - 1) / threads + 1;
  const ga_launch launch = {.nd = 1,
                            .grid = {blocks < 1024 ? blocks : 1024},
                            .block = {threads},
                            .n_args = args.n,
                            .args = args.list};
  return ga__kernel_launch(kernel, &launch);
}

/* Queues the call on this thread's queue. */
static int queue_call(const request *r, const ga_solver *solver) {
  const ga_solver_call *c = &r->call;
  gpudata *const buffers[] = {c->a.buffer,      c->b.buffer,    c->c.buffer,
                              c->values.buffer, c->info.buffer, c->work};
  ga_use uses[6];
  unsigned int n = 0;
  void *device;
  for (int i = 0; i < 6; i++)
    if (buffers[i])
      uses[n++] = (ga_use){buffers[i], true};
  GA_TRY(ga__context_status(r->context, ga__queue_begin(&device, r->context, n, uses)));
  gpuqueue *q = ga__queue_current(r->context);
  ga__launches_add(&r->context->errors.launches, r->operation, q->place);
  ga_span span = ga__profile_begin(r->context, device);
  int status = solver->call(device, c);
  ga__profile_end(&span, r->operation, GPUARRAY_SPAN_LIBRARY, 0);
  if (status == GA_NO_ERROR && r->context->is_blocking)
    status = ga__queue_wait(q);
  ga__queue_end(r->context, n, uses);
  return ga__context_status(r->context, status);
}

static int ask_workspace(request *r, const ga_solver *solver) {
  GA_TRY(ga__vendor_enter());
  int status =
      solver->workspace(&r->call.work_size, ga__queue_device(r->context), &r->call);
  ga__vendor_leave();
  return status;
}

static int run_call(request *r, const ga_solver *solver) {
  GA_TRY(ask_workspace(r, solver));
  if (r->call.work_size > 0)
    GA_TRY(ga__buffer_new(&r->call.work, r->context, r->call.work_size));
  int status = queue_call(r, solver);
  if (r->call.work)
    gpudata_release(r->call.work);
  return status;
}

/* Runs the call. Without the caller's info, failures are reported by the next wait. */
static int run(request *r, GpuArray *info) {
  const ga_solver *solver = solver_of(r->context);
  if (info)
    GA_TRY(take_vectors(&r->call.info, r, info, GA_INT, 1, "info"));
  if (solver == NULL || !solver->serves(r->context->device, &r->call))
    return GA_FAIL(
        GA_DEVSUP_ERROR,
        "%s: %s has no installed vendor library for it; see python -m gpuarray.doctor",
        r->operation, r->context->name);
  if (r->call.batch == 0 || r->call.m == 0 || r->call.n == 0 ||
      (r->call.routine == GA_SOLVER_LU_SOLVE && r->call.k == 0))
    return info ? GpuArray_memset(info, 0) : GA_NO_ERROR;
  if (info == NULL) {
    GA_TRY(ga__buffer_new(&r->own_info, r->context, r->call.batch * sizeof(int)));
    r->call.info = (ga_blas_operand){.buffer = r->own_info, .ld = 1, .step = 1};
  }
  int status = run_call(r, solver);
  if (status == GA_NO_ERROR && r->own_info && r->failure)
    status = report_failures(r);
  if (r->own_info)
    gpudata_release(r->own_info);
  return status;
}

/* Runs LU or LU_SOLVE with 32-bit pivots where the vendor's batched routine has
 * them. */
static int run_pivots(request *r, GpuArray *pivots, GpuArray *info) {
  const ga_solver *solver = solver_of(r->context);
  const bool is_read = r->call.routine == GA_SOLVER_LU_SOLVE;
  GpuArray narrow = {0};
  if (solver == NULL || !solver->narrows(r->context->device, &r->call))
    return run(r, info);
  GA_TRY(is_read ? GpuArray_astype(&narrow, pivots, GA_INT, GA_C_ORDER)
                 : GpuArray_empty(&narrow, r->context, GA_INT, pivots->nd,
                                  pivots->dimensions, GA_C_ORDER));
  r->call.values.buffer = narrow.data;
  r->call.values.offset = narrow.offset;
  int status = run(r, info);
  if (status == GA_NO_ERROR && !is_read)
    status = GpuArray_setarray(pivots, &narrow);
  GpuArray_clear(&narrow);
  return status;
}

/* ---- routines ---- */

int GpuArray_cholesky(GpuArray *A, cb_uplo uplo, GpuArray *info) {
  request r;
  GA_TRY(check_uplo("cholesky", uplo));
  GA_TRY(begin(&r, GA_SOLVER_CHOLESKY, A, true, "cholesky"));
  r.failure = "cholesky: a matrix is not positive definite";
  r.call.is_upper = uplo == cb_upper;
  return run(&r, info);
}

int GpuArray_lu(GpuArray *A, GpuArray *pivots, GpuArray *info) {
  request r;
  GA_TRY(begin(&r, GA_SOLVER_LU, A, false, "lu"));
  r.failure = "lu: a matrix is singular";
  const size_t n = r.call.m < r.call.n ? r.call.m : r.call.n;
  GA_TRY(take_vectors(&r.call.values, &r, pivots, GA_LONG, n, "pivots"));
  return run_pivots(&r, pivots, info);
}

int GpuArray_lu_solve(cb_transpose trans, GpuArray *LU, GpuArray *pivots, GpuArray *B) {
  request r;
  if (trans != cb_no_trans && trans != cb_trans && trans != cb_conj_trans)
    return GA_FAIL(
        GA_INVALID_ERROR,
        "lu_solve: trans is %d, expected cb_no_trans, cb_trans or cb_conj_trans",
        (int)trans);
  GA_TRY(begin(&r, GA_SOLVER_LU_SOLVE, LU, true, "lu_solve"));
  r.call.trans = trans;
  GA_TRY(take_vectors(&r.call.values, &r, pivots, GA_LONG, r.call.n, "pivots"));
  GA_TRY(check_array(&r, B, r.call.typecode, "B"));
  r.call.k = B->nd > 0 ? B->dimensions[B->nd - 1] : 0;
  GA_TRY(take_others(&r.call.b, &r, B, r.call.n, r.call.k, "B"));
  return run_pivots(&r, pivots, NULL);
}

int GpuArray_qr(GpuArray *A, GpuArray *tau) {
  request r;
  GA_TRY(begin(&r, GA_SOLVER_QR, A, false, "qr"));
  const size_t n = r.call.m < r.call.n ? r.call.m : r.call.n;
  GA_TRY(take_vectors(&r.call.values, &r, tau, r.call.typecode, n, "tau"));
  return run(&r, NULL);
}

int GpuArray_qr_vectors(GpuArray *A, GpuArray *tau) {
  request r;
  GA_TRY(begin(&r, GA_SOLVER_QR_VECTORS, A, false, "qr_vectors"));
  GA_TRY(check_array(&r, tau, r.call.typecode, "tau"));
  r.call.k = tau->nd > 0 ? tau->dimensions[tau->nd - 1] : 0;
  GA_TRY(take_vectors(&r.call.values, &r, tau, r.call.typecode, r.call.k, "tau"));
  if (r.call.k > r.call.n || r.call.n > r.call.m)
    return GA_FAIL(GA_VALUE_ERROR,
                   "qr_vectors: %zu reflectors for matrices of (%zu, %zu), expected at "
                   "most as many as columns, and those at most as many as rows",
                   r.call.k, r.call.m, r.call.n);
  return run(&r, NULL);
}

int GpuArray_svd(GpuArray *A, GpuArray *S, GpuArray *U, GpuArray *Vh, GpuArray *info) {
  request r;
  GA_TRY(begin(&r, GA_SOLVER_SVD, A, false, "svd"));
  r.failure = "svd: an iteration does not converge";
  const size_t m = r.call.m, n = r.call.n;
  if (m < n || (U == NULL) != (Vh == NULL))
    return GA_FAIL(GA_VALUE_ERROR,
                   m < n ? "svd: matrices of (%zu, %zu), expected at least as many "
                           "rows as columns; decompose the transposed ones"
                         : "svd: of (%zu, %zu): give both of U and Vh or neither",
                   m, n);
  GA_TRY(take_vectors(&r.call.values, &r, S, real_type(A->typecode), n, "S"));
  if (U) {
    GA_TRY(check_array(&r, U, A->typecode, "U"));
    r.call.has_vectors = true;
    r.call.is_full = U->nd > 1 && U->dimensions[U->nd - 1] != n;
    GA_TRY(take_others(&r.call.b, &r, U, m, r.call.is_full ? m : n, "U"));
    GA_TRY(take_others(&r.call.c, &r, Vh, n, n, "Vh"));
  }
  return run(&r, info);
}

int GpuArray_eigh(GpuArray *A, cb_uplo uplo, int vectors, GpuArray *W, GpuArray *info) {
  request r;
  GA_TRY(check_uplo("eigh", uplo));
  GA_TRY(begin(&r, GA_SOLVER_EIGH, A, true, "eigh"));
  r.failure = "eigh: an iteration does not converge";
  r.call.is_upper = uplo == cb_upper;
  r.call.has_vectors = vectors != 0;
  GA_TRY(take_vectors(&r.call.values, &r, W, real_type(A->typecode), r.call.n, "W"));
  return run(&r, info);
}

int GpuArray_eig(GpuArray *A, GpuArray *W, GpuArray *V, GpuArray *info) {
  request r;
  GA_TRY(begin(&r, GA_SOLVER_EIG, A, true, "eig"));
  r.failure = "eig: an iteration does not converge";
  if (ga__dtype_kind(A->typecode) != 'c')
    return GA_FAIL(GA_INVALID_ERROR, "eig: A is of %s, expected a complex type",
                   ga__dtype_name(A->typecode));
  GA_TRY(take_vectors(&r.call.values, &r, W, A->typecode, r.call.n, "W"));
  r.call.has_vectors = V != NULL;
  if (V)
    GA_TRY(take_others(&r.call.b, &r, V, r.call.n, r.call.n, "V"));
  return run(&r, info);
}
