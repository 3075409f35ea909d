/* Matrix products by cuBLAS, and plans that become graphs, on a mock of the driver. */
#include "mock_context.h"

#include <gpuarray/plan.h>
#include <math.h>

enum { ROOM = 512 }; /* elements of a host block */

/* A view of a block of host numbers, and the same block on a device. */
typedef struct view {
  double values[ROOM];
  bool is_double;
  GpuArray array;
} view;

/* Small whole numbers, exact in every type; NaN where an output is not to be read. */
static void fill(view *v, gpucontext *ctx, bool is_nan, int seed) {
  static float narrow[ROOM];
  for (int i = 0; i < ROOM; i++) {
    v->values[i] = is_nan ? (double)NAN : (double)((i * 7 + seed) % 11 - 5);
    narrow[i] = (float)v->values[i];
  }
  size_t size = v->is_double ? sizeof v->values : sizeof narrow;
  void *bytes = v->is_double ? (void *)v->values : (void *)narrow;
  v->array.data = gpudata_alloc(ctx, size, bytes, GA_BUFFER_INIT, NULL);
}

static void take_view(view *v, unsigned int nd, const size_t *dims,
                      const ptrdiff_t *steps, size_t first) {
  const size_t itemsize = v->is_double ? 8 : 4;
  gpudata *data = v->array.data;
  ssize_t strides[2];
  for (unsigned int i = 0; i < nd; i++)
    strides[i] = steps[i] * (ssize_t)itemsize;
  CHECK_OK(GpuArray_fromdata(&v->array, data, first * itemsize,
                             v->is_double ? GA_DOUBLE : GA_FLOAT, nd, dims, strides,
                             1));
  gpudata_release(data);
}

enum layout { C_ORDER, F_ORDER, C_GAPS, F_GAPS, N_LAYOUTS };

enum { ROWS = 3, TERMS = 4, COLUMNS = 2 };

static view make_matrix(gpucontext *ctx, bool is_double, enum layout layout, size_t m,
                        size_t n, bool is_nan) {
  const ptrdiff_t gap = layout >= C_GAPS ? 3 : 0, first = gap * 2;
  view v = {.is_double = is_double};
  fill(&v, ctx, is_nan, (int)m);
  const ptrdiff_t by_rows[] = {(ptrdiff_t)n + gap, 1},
                  by_columns[] = {1, (ptrdiff_t)m + gap};
  take_view(&v, 2, (size_t[]){m, n},
            layout == C_ORDER || layout == C_GAPS ? by_rows : by_columns,
            (size_t)first);
  return v;
}

/* ---- products ---- */

static double get(const view *v, size_t i, size_t j) {
  ptrdiff_t itemsize = v->is_double ? 8 : 4;
  ptrdiff_t at = (ptrdiff_t)v->array.offset + (ptrdiff_t)i * v->array.strides[0];
  if (v->array.nd == 2)
    at += (ptrdiff_t)j * v->array.strides[1];
  return v->values[at / itemsize];
}

static view make_vector(gpucontext *ctx, bool is_double, ptrdiff_t step, size_t n,
                        bool is_nan) {
  view v = {.is_double = is_double};
  fill(&v, ctx, is_nan, 3);
  take_view(&v, 1, &n, &step, step < 0 ? (n - 1) * (size_t)-step : 5);
  return v;
}

/* alpha op(a) b + beta c at (i, j). */
static double expected(const view *a, const view *b, const view *c, bool ta, bool tb,
                       size_t k, double alpha, double beta, size_t i, size_t j) {
  double sum = 0;
  for (size_t l = 0; l < k; l++)
    sum += (ta ? get(a, l, i) : get(a, i, l)) * (tb ? get(b, j, l) : get(b, l, j));
  return alpha * sum + (beta == 0 ? 0 : beta * get(c, i, j));
}

/* Whether c on the device is what is expected, and all around it as it was. */
static bool is_product(view *c, const view *a, const view *b, bool ta, bool tb,
                       size_t m, size_t n, size_t k, double alpha, double beta) {
  static float narrow[ROOM];
  view got = *c;
  size_t size = c->is_double ? sizeof got.values : sizeof narrow;
  CHECK_OK(gpudata_read(c->is_double ? (void *)got.values : (void *)narrow,
                        c->array.data, 0, size));
  for (int i = 0; !c->is_double && i < ROOM; i++)
    got.values[i] = (double)narrow[i];
  size_t changed = 0;
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      if (get(&got, i, j) != expected(a, b, c, ta, tb, k, alpha, beta, i, j))
        return false;
  for (int i = 0; i < ROOM; i++)
    changed += memcmp(&got.values[i], &c->values[i], sizeof got.values[i]) != 0;
  return changed <= m * n;
}

static void clear(view *a, view *b, view *c) {
  GpuArray_clear(&a->array);
  GpuArray_clear(&b->array);
  GpuArray_clear(&c->array);
}

/* One product of each layout of each operand; `way` has a bit for each choice. */
static void check_gemm(gpucontext *ctx, unsigned int way) {
  const size_t m = 3, n = 4, k = way & 16 ? 5 : 1;
  const bool is_double = way & 1, ta = way & 2, tb = way & 4;
  const double alpha = 0.5, beta = way & 8 ? 2 : 0;
  for (int la = 0; la < N_LAYOUTS; la++)
    for (int lb = 0; lb < N_LAYOUTS; lb++)
      for (int lc = 0; lc < N_LAYOUTS; lc++) {
        view a =
            make_matrix(ctx, is_double, (enum layout)la, ta ? k : m, ta ? m : k, false);
        view b =
            make_matrix(ctx, is_double, (enum layout)lb, tb ? n : k, tb ? k : n, false);
        view c = make_matrix(ctx, is_double, (enum layout)lc, m, n, beta == 0);
        CHECK_OK(GpuArray_rgemm(ta ? cb_trans : cb_no_trans,
                                tb ? cb_trans : cb_no_trans, alpha, &a.array, &b.array,
                                beta, &c.array, 1));
        CHECK(is_product(&c, &a, &b, ta, tb, m, n, k, alpha, beta));
        clear(&a, &b, &c);
      }
}

static void test_gemm(void) {
  gpucontext *ctx = open_cuda("cuda0");
  for (unsigned int way = 0; way < 32; way++)
    check_gemm(ctx, way);
  gpucontext_deref(ctx);
  CHECK(mock->launches == 0); /* cuBLAS walks all of these layouts */
  check_given_back();
}

static ga_blas_operand as_operand(const view *v, ssize_t ld) {
  return (ga_blas_operand){
      .buffer = v->array.data, .offset = v->array.offset, .ld = ld};
}

static ssize_t step_of(const view *v) {
  return v->array.strides[0] / (v->is_double ? 8 : 4);
}

/* By the backend's own table: for small matrices the library prefers its kernels. */
static void check_gemv(gpucontext *ctx, unsigned int way, size_t m, size_t n) {
  const ptrdiff_t steps[] = {1, 3, -1, -2};
  const bool is_double = way & 1, ta = way & 2;
  const double alpha = 0.5, beta = way & 4 ? 2 : 0;
  const size_t results = ta ? n : m, terms = ta ? m : n;
  for (int x = 0; x < 4; x++)
    for (int y = 0; y < 4; y++) {
      view a = make_matrix(ctx, is_double, way & 8 ? F_GAPS : F_ORDER, m, n, false);
      view b = make_vector(ctx, is_double, steps[x], terms, false);
      view c = make_vector(ctx, is_double, steps[y], results, beta == 0);
      const ga_blas_call call = {.routine = GA_BLAS_GEMV,
                                 .typecode = is_double ? GA_DOUBLE : GA_FLOAT,
                                 .ta = ta ? cb_trans : cb_no_trans,
                                 .m = m,
                                 .n = n,
                                 .batch = 1,
                                 .alpha = {alpha, 0},
                                 .beta = {beta, 0},
                                 .a = as_operand(&a, (ssize_t)m + (way & 8 ? 3 : 0)),
                                 .b = as_operand(&b, step_of(&b)),
                                 .c = as_operand(&c, step_of(&c))};
      CHECK(ctx->backend->blas->serves(ctx->device, &call));
      CHECK(!ctx->backend->blas->prefers(ctx->device, &call));
      CHECK_OK(ctx->backend->blas->call(ctx->device, &call));
      CHECK(is_product(&c, &a, &b, ta, false, results, 1, terms, alpha, beta));
      clear(&a, &b, &c);
    }
}

static void test_gemv(void) {
  gpucontext *ctx = open_cuda("cuda0");
  CHECK_OK(ctx->backend->blas_open(ctx->device, false));
  for (unsigned int way = 0; way < 16; way++) {
    check_gemv(ctx, way, 3, 4);
    check_gemv(ctx, way, 1, 4);
    check_gemv(ctx, way, 4, 1);
  }
  gpucontext_deref(ctx);
  check_given_back();
}

/* A large product of a matrix and a vector with few results is cuBLAS's. */
static void test_large_gemv(void) {
  enum { FEW = 64, MANY = 16384 };
  static float ones[FEW * MANY], got[FEW];
  gpucontext *ctx = open_cuda("cuda0");
  for (int i = 0; i < FEW * MANY; i++)
    ones[i] = 1;
  for (int transposed = 0; transposed < 2; transposed++) {
    const size_t few = FEW, many = MANY;
    const size_t dims[] = {transposed ? MANY : FEW, transposed ? FEW : MANY};
    GpuArray a = {0}, x = {0}, y = {0};
    CHECK_OK(GpuArray_copy_from_host(&a, ctx, ones, GA_FLOAT, 2, dims, NULL));
    CHECK_OK(GpuArray_copy_from_host(&x, ctx, ones, GA_FLOAT, 1, &many, NULL));
    CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 1, &few, GA_C_ORDER));
    CHECK_OK(
        GpuArray_rgemv(transposed ? cb_trans : cb_no_trans, 0.5, &a, &x, 0, &y, 1));
    CHECK(mock->asked.is_vector);
    CHECK_OK(GpuArray_read(got, sizeof got, &y));
    CHECK(got[0] == MANY / 2 && got[FEW - 1] == MANY / 2);
    GpuArray_clear(&a);
    GpuArray_clear(&x);
    GpuArray_clear(&y);
  }
  gpucontext_deref(ctx);
  CHECK(mock->launches == 0);
  check_given_back();
}

/* ---- which function ---- */

static int run_square(gpucontext *ctx, int typecode, unsigned int nd, double *factor,
                      cb_transpose ta) {
  const size_t dims[3] = {nd == 3 ? 5 : 8, 8, 8};
  GpuArray a = {0}, c = {0};
  GA_TRY(GpuArray_empty(&a, ctx, typecode, nd, dims, GA_C_ORDER));
  int status = GpuArray_empty(&c, ctx, typecode, nd, dims, GA_C_ORDER);
  double none[2] = {0, 0};
  if (status == GA_NO_ERROR)
    status = (nd == 3 ? GpuArray_cgemmBatch_3d
                      : GpuArray_cgemm)(ta, cb_no_trans, factor, &a, &a, none, &c, 1);
  GpuArray_clear(&a);
  GpuArray_clear(&c);
  return status;
}

/* Each type goes to cuBLAS under its numbers; tf32 only when it is asked for. */
static void test_routes(void) {
  static const struct {
    int typecode, type, compute, fast;
  } rows[] = {{GA_HALF, 2, 68, 68},   {GA_BFLOAT16, 14, 68, 68},
              {GA_FLOAT, 0, 68, 77},  {GA_DOUBLE, 1, 70, 70},
              {GA_CFLOAT, 4, 68, 77}, {GA_CDOUBLE, 5, 70, 70}};
  double one[2] = {1, 0};
  gpucontext *ctx = open_cuda("cuda0");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (unsigned int nd = 2; nd <= 3; nd++) {
      CHECK_OK(run_square(ctx, rows[i].typecode, nd, one, cb_conj_trans));
      CHECK(mock->asked.type == rows[i].type && mock->asked.compute == rows[i].compute);
      CHECK(mock->asked.batch == (nd == 3 ? 5 : 1));
      CHECK(mock->asked.tb == (rows[i].type > 3 && rows[i].type < 6 ? 2 : 1));
      CHECK_OK(gpucontext_set_tf32(ctx, 1));
      CHECK_OK(run_square(ctx, rows[i].typecode, nd, one, cb_no_trans));
      CHECK(mock->asked.compute == rows[i].fast);
      CHECK_OK(gpucontext_set_tf32(ctx, 0));
    }
  CHECK(mock->launches == 0);
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_set_tf32(NULL, 1));
  gpucontext_deref(ctx);
  check_given_back();
}

/* c = a b + bias, cut off below 0, by cuBLASLt where that is preferred. */
static int run_bias(gpucontext *ctx, bool is_double, float *got) {
  static const double wide[16] = {1, -2, 3, -4, 5, -6, 7, -8,
                                  9, -1, 2, -3, 4, -5, 6, -7};
  float narrow[16];
  const size_t dims[] = {4, 4};
  GpuArray a = {0}, v = {0}, c = {0};
  for (int i = 0; i < 16; i++)
    narrow[i] = (float)wide[i];
  const int typecode = is_double ? GA_DOUBLE : GA_FLOAT;
  const void *host = is_double ? (const void *)wide : narrow;
  int status = GpuArray_copy_from_host(&a, ctx, host, typecode, 2, dims, NULL);
  if (status == GA_NO_ERROR)
    status = GpuArray_copy_from_host(&v, ctx, host, typecode, 1, dims, NULL);
  if (status == GA_NO_ERROR)
    status = GpuArray_empty(&c, ctx, typecode, 2, dims, GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_gemm_bias(cb_no_trans, cb_trans, &a, &a, &v, GA_ACTIVATION_RELU,
                                &c, 1);
  if (status == GA_NO_ERROR && !is_double)
    status = GpuArray_read(got, 16 * sizeof *got, &c);
  GpuArray_clear(&a);
  GpuArray_clear(&v);
  GpuArray_clear(&c);
  return status;
}

static void test_bias(void) {
  float got[16];
  setenv("GPUARRAY_BLAS", "vendor", 1);
  gpucontext *ctx = open_cuda("cuda0");
  for (int i = 0; i < 2; i++) {
    CHECK_OK(run_bias(ctx, false, got));
    CHECK(mock->asked.epilogue == 6 && mock->asked.compute == 68);
  }
  CHECK(got[0] == 31 && got[1] == 68 && got[3] == 56);
  CHECK_OK(run_bias(ctx, true, got));
  CHECK(mock->asked.epilogue == 6 && mock->asked.compute == 70);
  gpucontext_deref(ctx);
  check_given_back();
  mock->fail_with = 999;
  int n = 0, failed = 0;
  for (bool is_over = false; !is_over; n++) {
    ctx = open_cuda("cuda0");
    mock->fail_at = n;
    int status = run_bias(ctx, false, got);
    is_over = mock->fail_at >= 0;
    mock->fail_at = -1;
    CHECK(status == GA_NO_ERROR || status == GA_IMPL_ERROR);
    failed += status != GA_NO_ERROR;
    gpucontext_deref(ctx);
    check_given_back();
  }
  CHECK(n > 20 && failed > 10);
  unsetenv("GPUARRAY_BLAS");
}

/* ---- plans ---- */

/* A handle made while a graph is recorded would be the queue's, not the recording's:
 * the product would run at once and not be in the graph. It is made before. */
static void test_handles_are_made_before_a_recording(bool has_bias) {
  gpucontext *ctx = open_cuda("cuda0");
  const ga_backend *cuda = ctx->backend;
  gpuqueue *q = NULL;
  gpudata *x = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  const ga_blas_operand one = {.buffer = x, .ld = 1};
  const ga_blas_call call = {.routine = GA_BLAS_GEMM,
                             .epilogue = has_bias ? GA_BLAS_BIAS : GA_BLAS_PLAIN,
                             .typecode = GA_FLOAT,
                             .m = 1,
                             .n = 1,
                             .k = 1,
                             .batch = 1,
                             .alpha = {1},
                             .a = one,
                             .b = one,
                             .c = one,
                             .bias = one};
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpucontext_use_queue(ctx, q));
  CHECK_OK(cuda->blas_open(ctx->device, false));
  void *device = ga__queue_device(ctx);
  for (int i = 0; i < 3; i++) {
    void *graph = NULL;
    const bool is_open = i == (has_bias ? 2 : 1);
    if (i > 0)
      CHECK_OK(cuda->blas_open(device, i == 2));
    CHECK_OK(cuda->graph_begin(device, 0));
    CHECK_STATUS(is_open || i == 2 ? GA_NO_ERROR : GA_UNSUPPORTED_ERROR,
                 cuda->blas->call(device, &call));
    if (cuda->graph_end(&graph, device) == GA_NO_ERROR)
      cuda->graph_free(ctx->device, graph);
  }
  CHECK_OK(gpucontext_use_queue(ctx, NULL));
  gpudata_release(x);
  gpuqueue_release(q);
  gpucontext_deref(ctx);
  check_given_back();
}

int main(void) {
  open_mock();
  test_gemm();
  test_gemv();
  test_large_gemv();
  test_routes();
  test_bias();
  test_handles_are_made_before_a_recording(false);
  test_handles_are_made_before_a_recording(true);
  return check_result("cuda products");
}
