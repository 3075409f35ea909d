/* What is refused for its size, for having no memory yet, and for what a backend does
 * not have, where that takes more than a wrong argument. On the null backend. */
#include "null_context.h"

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpuarray/dlpack.h>
#include <gpuarray/index.h>
#include <gpuarray/plan.h>
#include <gpuarray/queue.h>
#include <gpuarray/random.h>
#include <gpuarray/reduction.h>

#include "c/system/host_blas.h"
#include "c/tape/record_replay.h"

static gpucontext *ctx;

#define REFUSED(status, text, call)                                                    \
  do {                                                                                 \
    CHECK_STATUS(GA_##status##_ERROR, call);                                           \
    CHECK_TEXT(text);                                                                  \
  } while (0)
#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

static GpuArray zeros(int typecode, unsigned int nd, const size_t *dims) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_zeros(&a, ctx, typecode, nd, dims, GA_C_ORDER));
  return a;
}

/* ---- buffers of a plan that is being bound ---- */

static void test_stand_ins(void) {
  gpucontext *other = NULL;
  ga_tape *tape;
  char bytes[16] = {0};
  int status = GA_NO_ERROR;
  DLManagedTensorVersioned *tensor = NULL;
  GpuArray planned = {0}, far = {0};
  CHECK_OK(gpucontext_open(&other, "null"));
  CHECK_OK(GpuArray_zeros(&far, other, GA_FLOAT, 1, SHAPE(4), GA_C_ORDER));
  CHECK_OK(ga__tape_new(&tape, ctx));
  ga__tape_enter(tape);
  CHECK_OK(GpuArray_empty(&planned, ctx, GA_FLOAT, 1, SHAPE(4), GA_C_ORDER));
  REFUSED(UNSUPPORTED, "gpudata_read: the buffer is of a plan",
          gpudata_read(bytes, planned.data, 0, 16));
  REFUSED(UNSUPPORTED, "gpudata_write: the buffer is of a plan",
          gpudata_write(planned.data, 0, bytes, 16));
  REFUSED(UNSUPPORTED, "copies between contexts cannot be recorded in a plan",
          gpudata_transfer(far.data, 0, planned.data, 0, 16));
  REFUSED(UNSUPPORTED, "a plan that is being bound",
          GpuArray_to_dlpack(&tensor, &planned, -1));
  CHECK(tensor == NULL);
  if (ctx->backend->host_alloc) {
    CHECK(gpudata_alloc(ctx, 8, NULL, GA_BUFFER_HOST, &status) == NULL);
    CHECK_STATUS(GA_UNSUPPORTED_ERROR, status);
    CHECK_TEXT("a plan cannot allocate host memory");
  }
  ga__tape_leave(tape);
  GpuArray_clear(&planned);
  GpuArray_clear(&far);
  ga__tape_free(tape);
  gpucontext_deref(other);
}

/* ---- sizes ---- */

static const size_t huge = (size_t)1 << 33; /* more than 32 bits count */

static void test_too_many_indices(void) {
  enum { ROW = 1 << 15 };
  const size_t *dims = SHAPE(1 << 16, ROW);
  GpuArray a = zeros(GA_FLOAT, 1, SHAPE(4)), places = zeros(GA_LONG, 1, SHAPE(ROW));
  GpuArray numbers = zeros(GA_FLOAT, 1, SHAPE(ROW)), many, values;
  const GpuArray *list[1] = {&many};
  CHECK_OK(GpuArray_broadcast_to(&many, &places, 2, dims));
  CHECK_OK(GpuArray_broadcast_to(&values, &numbers, 2, dims));
  REFUSED(XLARGE, "put: 2147483648 indices at once, expected at most 2147483646",
          GpuArray_put(&a, 1, list, 0, &values, GA_INDEX_WRAP));
  GpuArray_clear(&many);
  CHECK_OK(GpuArray_broadcast_to(&many, &places, 2, SHAPE(1 << 17, ROW)));
  REFUSED(XLARGE, "add_at: 4294967296 indices at once, expected at most 4293918720",
          GpuArray_add_at(&a, 1, list, 0, &numbers, GA_INDEX_WRAP));
  GpuArray *all[] = {&a, &places, &numbers, &many, &values};
  for (size_t i = 0; i < 5; i++)
    GpuArray_clear(all[i]);
}

/* Shapes that few elements stretch to, alone or together, whose elements or bytes no
 * integer counts. */
static void test_stretched_beyond_counting(void) {
  GpuArray one = zeros(GA_FLOAT, 1, SHAPE(1)), places = zeros(GA_LONG, 1, SHAPE(1));
  GpuArray view = {.nd = 77}, out = {.nd = 77}, column, row, high, wide;
  const gpuelemwise_arg args[2] = {{"a", GA_FLOAT, GE_READ}, {"b", GA_FLOAT, GE_READ}};
  const gpureduction_spec spec = {.size = sizeof spec,
                                  .map = "a * b",
                                  .combine = "a + b",
                                  .identity = "0",
                                  .acc_typecode = GA_FLOAT,
                                  .out_typecode = GA_FLOAT,
                                  .n = 2,
                                  .inputs = args};
  int status = GA_NO_ERROR;
  REFUSED(XLARGE, "broadcast: shape (4611686018427387904,) of float32 has more than",
          GpuArray_broadcast_to(&view, &one, 1, SHAPE((size_t)1 << 62)));
  REFUSED(XLARGE, "broadcast: shape (8589934592, 8589934592) has more elements",
          GpuArray_broadcast_to(&view, &one, 2, SHAPE(huge, huge)));
  CHECK(view.nd == 77);
  CHECK_OK(GpuArray_broadcast_to(&column, &one, 2, SHAPE(huge, 1)));
  CHECK_OK(GpuArray_broadcast_to(&row, &one, 2, SHAPE(1, huge)));
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &status);
  CHECK_OK(status);
  REFUSED(XLARGE, "reduction: shape (8589934592, 8589934592) has more elements",
          GpuReduction_apply(gr, &out, (void *[]){&column, &row}, 3, 0));
  CHECK(out.nd == 77);
  GpuReduction_free(gr);

  GpuArray square = zeros(GA_FLOAT, 2, SHAPE(4, 4));
  CHECK_OK(GpuArray_broadcast_to(&high, &places, 2, SHAPE(huge, 1)));
  CHECK_OK(GpuArray_broadcast_to(&wide, &places, 2, SHAPE(1, huge)));
  const GpuArray *list[2] = {&high, &wide};
  REFUSED(XLARGE, "put: shape (8589934592, 8589934592) has more elements",
          GpuArray_put(&square, 2, list, 0, &one, GA_INDEX_WRAP));
  REFUSED(XLARGE, "add_at: shape (8589934592, 8589934592) has more elements",
          GpuArray_add_at(&square, 2, list, 0, &one, GA_INDEX_WRAP));
  REFUSED(XLARGE, "take: shape (8589934592, 8589934592) has more elements",
          GpuArray_take(&out, &square, 2, list, 0, GA_INDEX_WRAP));
  GpuArray *all[] = {&one, &places, &column, &row, &high, &wide, &square};
  for (size_t i = 0; i < 7; i++)
    GpuArray_clear(all[i]);
}

/* A strided axis of more elements than 32 bits count. */
static void test_long_axes(void) {
  GpuArray pair = zeros(GA_BOOL, 2, SHAPE(2, 1)), stretched, strided = {0};
  GpuArray floats = zeros(GA_FLOAT, 1, SHAPE(2));
  const ssize_t strides[2] = {4, 0};
  size_t count = 77;
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  CHECK_OK(GpuArray_broadcast_to(&stretched, &pair, 2, SHAPE(2, huge)));
  REFUSED(XLARGE, "a strided axis has 8589934592 elements",
          GpuArray_count_nonzero(&count, &stretched));
  CHECK(count == 77);
  CHECK_OK(GpuArray_fromdata(&strided, floats.data, 0, GA_FLOAT, 2, SHAPE(2, huge),
                             strides, 1));
  REFUSED(XLARGE, "a strided axis has 8589934592 elements",
          GpuArray_random_uniform(&strided, &g, 0, 1));
  GpuArray *all[] = {&pair, &stretched, &strided, &floats};
  for (size_t i = 0; i < 4; i++)
    GpuArray_clear(all[i]);
}

/* Inputs of many axes that cannot be joined take more arguments than a kernel has. */
static void test_too_many_arguments(void) {
  enum { INPUTS = 8, AXES = 24 };
  gpuelemwise_arg args[INPUTS];
  const char *const names[INPUTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  size_t dims[AXES];
  unsigned int every_second = 0;
  void *ins[INPUTS];
  ssize_t strides[AXES];
  GpuArray row = zeros(GA_FLOAT, 1, SHAPE(AXES + 1)), folded, out = {.nd = 77};
  gpureduction_spec spec = {.size = sizeof spec,
                            .map = "a + b + c + d + e + f + g + h",
                            .combine = "a + b",
                            .identity = "0",
                            .acc_typecode = GA_FLOAT,
                            .out_typecode = GA_FLOAT,
                            .n = INPUTS,
                            .inputs = args};
  int status = GA_NO_ERROR;
  for (unsigned int k = 0; k < AXES; k++) {
    dims[k] = 2;
    strides[k] = 4;
    every_second |= (k % 2) << k;
  }
  CHECK_OK(GpuArray_fromdata(&folded, row.data, 0, GA_FLOAT, AXES, dims, strides, 1));
  for (int i = 0; i < INPUTS; i++) {
    args[i] = (gpuelemwise_arg){names[i], GA_FLOAT, GE_READ};
    ins[i] = &folded;
  }
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &status);
  CHECK_OK(status);
  REFUSED(UNSUPPORTED, "8 inputs over 24 axes take more than a kernel's 256 arguments",
          GpuReduction_apply(gr, &out, ins, every_second, 0));
  CHECK(out.nd == 77);
  GpuArray three = zeros(GA_FLOAT, 1, SHAPE(3));
  ins[1] = &three;
  REFUSED(VALUE, "reduction: ", GpuReduction_apply(gr, &out, ins, 1, 0));
  CHECK(out.nd == 77);
  GpuReduction_free(gr);
  GpuArray_clear(&row);
  GpuArray_clear(&three);
  GpuArray_clear(&folded);
}

/* ---- tensors ---- */

static void test_tensors(void) {
  static char memory[16];
  int64_t shape[2] = {INT64_C(1) << 62, 3}, strides[2] = {INT64_C(1) << 62, 1};
  const DLPackExchangeAPI *table = gpuarray_dlpack_exchange_api();
  DLManagedTensorVersioned t = {.version = {DLPACK_MAJOR_VERSION, 0}}, *made = NULL;
  GpuArray out = {.nd = 77};
  t.dl_tensor = (DLTensor){.data = memory,
                           .device = {kDLCPU, 0},
                           .ndim = 2,
                           .dtype = {kDLInt, 8, 1},
                           .shape = shape};
  REFUSED(XLARGE, "more bytes than can be addressed",
          GpuArray_from_dlpack(&out, ctx, &t, -1));
  shape[0] = shape[1] = 2;
  strides[1] = strides[0];
  t.dl_tensor.strides = strides;
  REFUSED(VALUE, "strides exceed the address space",
          GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK(out.nd == 77);
  shape[1] = -1;
  CHECK(table->managed_tensor_allocator(&t.dl_tensor, &made, NULL, NULL) == -1);
  CHECK_TEXT("axis 1 has length -1");
  CHECK(table->managed_tensor_allocator(&t.dl_tensor, NULL, NULL, NULL) == -1);
  CHECK_TEXT("expected a prototype of 0 to");
  CHECK(made == NULL);
}

/* ---- plans ---- */

/* y = x + z, where axes of z stretch only if the plan says so; the same reshaped to
 * (rows, -1). */
static GpuPlan *make_plan(long long rows) {
  const gpuelemwise_arg in[2] = {{"x", GA_FLOAT, GE_READ}, {"z", GA_FLOAT, GE_READ}};
  const gpuelemwise_arg y[1] = {{"y", GA_FLOAT, GE_WRITE}};
  unsigned int ins[2], sum, dims[2], shaped;
  gpuplan_elemwise step = {.size = sizeof step,
                           .expr = "y = x + z",
                           .n_out = 1,
                           .out_args = y,
                           .n_in = 2,
                           .in_args = in,
                           .ins = ins};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "p"));
  CHECK_OK(GpuPlan_input(p, &ins[0], GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(p, &ins[1], GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_elemwise(p, &sum, &step));
  CHECK_OK(GpuPlan_int(p, &dims[0], rows));
  CHECK_OK(GpuPlan_int(p, &dims[1], -1));
  CHECK_OK(GpuPlan_reshape(p, &shaped, "shaped", sum, 2, dims));
  CHECK_OK(GpuPlan_output(p, shaped));
  return p;
}

static void test_plans(void) {
  GpuArray x = zeros(GA_FLOAT, 2, SHAPE(2, 3)), row = zeros(GA_FLOAT, 2, SHAPE(1, 3));
  GpuArray out = {0}, *outs[1] = {&out};
  char folder[] = "/tmp/gpuarray-limits-XXXXXX";
  GpuPlan *p = make_plan(2);
  REFUSED(VALUE, "axis 0 has length 1 but was not declared broadcastable",
          GpuPlan_run(p, outs, (const GpuArray *[]){&x, &row}, NULL));
  CHECK_OK(GpuPlan_run(p, outs, (const GpuArray *[]){&x, &x}, NULL));
  GpuArray_clear(&out);
  CHECK(mkdtemp(folder) != NULL);
  REFUSED(SYS, "cannot write", GpuPlan_save(p, folder)); /* a folder is in its place */
  CHECK(rmdir(folder) == 0);                             /* and nothing beside it */
  GpuPlan_free(p);
  p = make_plan(4);
  REFUSED(VALUE, "6 elements do not fill the -1 of a shape whose other axes have 4",
          GpuPlan_run(p, outs, (const GpuArray *[]){&x, &x}, NULL));
  GpuPlan_free(p);
  p = make_plan(-2);
  REFUSED(VALUE, "axis 0 of the new shape has length -2",
          GpuPlan_run(p, outs, (const GpuArray *[]){&x, &x}, NULL));
  GpuPlan_free(p);
  GpuArray_clear(&x);
  GpuArray_clear(&row);
}

/* ---- queues and backends ---- */

static void test_queues_of_many_contexts(void) {
  enum { MOST = 16 };
  gpucontext *contexts[MOST + 1];
  gpuqueue *queues[MOST + 1];
  for (int i = 0; i <= MOST; i++) {
    CHECK_OK(gpucontext_open(&contexts[i], "null"));
    CHECK_OK(gpuqueue_new(&queues[i], contexts[i]));
  }
  for (int i = 0; i < MOST; i++)
    CHECK_OK(gpucontext_use_queue(contexts[i], queues[i]));
  REFUSED(UNSUPPORTED, "this thread uses queues of 16 contexts already",
          gpucontext_use_queue(contexts[MOST], queues[MOST]));
  CHECK_OK(gpucontext_use_queue(contexts[0], NULL));
  CHECK_OK(gpucontext_use_queue(contexts[MOST], queues[MOST]));
  for (int i = 0; i <= MOST; i++) {
    CHECK_OK(gpucontext_use_queue(contexts[i], NULL));
    gpuqueue_release(queues[i]);
    gpucontext_deref(contexts[i]);
  }
}

static void test_what_a_backend_lacks(void) {
  gpuqueue *q = NULL, *other = NULL;
  gpuevent *e = NULL;
  void *program = NULL;
  GpuArray floats = zeros(GA_FLOAT, 1, SHAPE(4)), longs = zeros(GA_LONG, 1, SHAPE(4));
  REFUSED(UNSUPPORTED, "convert it first", GpuArray_transfer(&floats, &longs));
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpuqueue_new(&other, ctx));
  CHECK_OK(gpuevent_record(&e, q));
  int (*event_order)(void *device, void *event) = hooked.event_order;
  hooked.event_order = NULL;
  REFUSED(UNSUPPORTED, "has one queue per device", gpuqueue_wait_event(other, e));
  hooked.event_order = event_order;
  CHECK_OK(gpuqueue_wait_event(other, e));
  REFUSED(COMPILE, "not a program of the null device",
          ctx->backend->load(&program, ctx->device, "abc", 3));
  CHECK(program == NULL);
  gpuevent_release(e);
  gpuqueue_release(q);
  gpuqueue_release(other);
  GpuArray_clear(&floats);
  GpuArray_clear(&longs);
}

/* In a process of its own, for a library is looked for once. */
static void test_no_host_blas(void) {
  int status = 1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    check_failures = 0;
    setenv("GPUARRAY_HOST_BLAS", "/no/such.so", 1);
    REFUSED(LOAD, "install libopenblas, or name the file in GPUARRAY_HOST_BLAS",
            ga__host_blas_open());
    exit(check_failures != 0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  test_no_host_blas();
  ctx = open_null();
  test_stand_ins();
  test_too_many_indices();
  test_stretched_beyond_counting();
  test_long_axes();
  test_too_many_arguments();
  test_tensors();
  test_plans();
  test_queues_of_many_contexts();
  test_what_a_backend_lacks();
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
