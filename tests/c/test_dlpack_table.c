/* DLPack's exchange table, streams, devices and threads. */
#include "dlpack_tensors.h"

/* ---- the exchange table ---- */

static char said[256];

static void keep_error(void *context, const char *kind, const char *text) {
  snprintf(said, sizeof said, "%s %s: %s", (const char *)context, kind, text);
}

static void test_table(void) {
  const DLPackExchangeAPI *table = gpuarray_dlpack_exchange_api();
  DLManagedTensorVersioned *made = NULL, model = foreign();
  void *stream = &model, *object = NULL;
  CHECK(table->header.version.major == DLPACK_MAJOR_VERSION);
  CHECK(table->header.prev_api == NULL);
  CHECK(table->current_work_stream(kDLCUDA, 0, &stream) == 0 && stream == NULL);
  CHECK(table->managed_tensor_allocator(&model.dl_tensor, &made, "it", keep_error) ==
        0);
  CHECK(made && made->dl_tensor.shape[1] == 3 && made->dl_tensor.strides[0] == 3);
  CHECK(table->managed_tensor_to_py_object_no_sync(made, &object) == 0);
  GpuArray *a = object;
  CHECK(a->nd == 2 && a->typecode == GA_FLOAT);
  CHECK(table->managed_tensor_from_py_object_no_sync(a, &made) == 0);
  GpuArray_clear(a);
  free(a);
  made->deleter(made);

  model.dl_tensor.dtype.lanes = 2;
  made = NULL;
  CHECK(table->managed_tensor_allocator(&model.dl_tensor, &made, "it", keep_error) ==
        -1);
  CHECK(made == NULL && strstr(said, "it BufferError: ") && strstr(said, "2 lanes"));
  model.dl_tensor.device.device_type = kDLMetal;
  CHECK(table->managed_tensor_to_py_object_no_sync(&model, &object) == -1);
  CHECK_TEXT("expected type 2 (CUDA)");
  model.version.major = 7;
  CHECK(table->managed_tensor_to_py_object_no_sync(&model, &object) == -1);
  CHECK_TEXT("DLPack 7.0");
  CHECK(table->managed_tensor_to_py_object_no_sync(NULL, &object) == -1);
  CHECK(table->managed_tensor_from_py_object_no_sync(NULL, &made) == -1);
}

/* ---- streams ---- */

/* Another library's stream on the mock, where work runs when it is waited for. */
static void test_streams(gpucontext *ctx) {
  CUstream theirs = NULL;
  CUcontext previous = NULL;
  intptr_t ours = 0;
  float values[24], three[3] = {7, 8, 9};
  GpuArray a = numbers(ctx, 1, SHAPE(24)), b;
  DLManagedTensorVersioned *t = NULL;
  CHECK_OK(gpucontext_dlpack_stream(ctx, &ours));
  CHECK(ours != 0 && ours != -1);
  CHECK(ga__cuda.cuCtxGetCurrent(&previous) == 0 && previous != NULL);
  CHECK(ga__cuda.cuStreamCreate(&theirs, 0) == 0);

  /* What they read is what we have queued before. */
  CHECK_OK(GpuArray_memset(&a, 0));
  CHECK_OK(GpuArray_to_dlpack(&t, &a, (intptr_t)theirs));
  CUdeviceptr memory = (CUdeviceptr)(uintptr_t)t->dl_tensor.data;
  CHECK(ga__cuda.cuMemcpyDtoHAsync(values, memory, sizeof values, theirs) == 0);
  CHECK(ga__cuda.cuStreamSynchronize(theirs) == 0);
  CHECK(values[0] == 0 && values[23] == 0);

  /* What we read is what they have queued before. */
  CHECK(ga__cuda.cuMemcpyHtoDAsync(memory, three, sizeof three, theirs) == 0);
  CHECK_OK(GpuArray_from_dlpack(&b, ctx, t, (intptr_t)theirs));
  CHECK_OK(GpuArray_read(values, sizeof values, &b));
  CHECK(values[0] == 7 && values[2] == 9 && values[3] == 0);
  GpuArray_clear(&b);

  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_to_dlpack(&t, &a, 0));
  CHECK_TEXT("0 would mean either");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_to_dlpack(&t, &a, -2));
  mock->fail_at = 0;
  mock->fail_with = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK_STATUS(GA_MEMORY_ERROR, GpuArray_to_dlpack(&t, &a, (intptr_t)theirs));
  mock->fail_at = -1;
  CHECK(references(&a) == 1);

  /* A tensor that cannot be ordered is not taken. */
  CHECK_OK(GpuArray_to_dlpack(&t, &a, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&b, ctx, t, 0));
  CHECK(references(&a) == 2);
  t->deleter(t);
  GpuArray_clear(&a);
  CHECK(ga__cuda.cuStreamDestroy(theirs) == 0);
}

static void test_devices(void) {
  gpucontext *ctx = open_cuda("cuda1");
  DLDevice device;
  CHECK_OK(gpucontext_dlpack_device(ctx, &device));
  CHECK(device.device_type == kDLCUDA && device.device_id == 1);
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_dlpack_device(ctx, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_dlpack_device(NULL, &device));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_dlpack_stream(ctx, NULL));
  DLManagedTensorVersioned t = foreign();
  refused(ctx, GA_INVALID_ERROR, t, "the context cuda1 is (2, 1)");
  gpucontext_deref(ctx);

  ctx = open_null();
  intptr_t stream = 0;
  CHECK_OK(gpucontext_dlpack_stream(ctx, &stream));
  CHECK(stream == -1);
  hooked.sharing = NULL;
  CHECK_STATUS(GA_DEVSUP_ERROR, gpucontext_dlpack_device(ctx, &device));
  gpucontext_deref(ctx);
}

/* Tensors of one array come and go on several threads, each deleted on another one. */
#define THREADS 4
#define ROUNDS 500

static void *exchange(void *argument) {
  GpuArray *a = argument;
  DLManagedTensorVersioned *t = NULL;
  DLManagedTensor *old = NULL;
  GpuArray b;
  for (int i = 0; i < ROUNDS; i++) {
    CHECK_OK(GpuArray_to_dlpack(&t, a, -1));
    CHECK_OK(GpuArray_from_dlpack(&b, GpuArray_context(a), t, -1));
    CHECK_OK(GpuArray_to_dlpack_unversioned(&old, &b, -1));
    GpuArray_clear(&b);
    old->deleter(old);
  }
  CHECK_OK(GpuArray_to_dlpack(&t, a, -1));
  return t;
}

static void test_threads(gpucontext *ctx) {
  GpuArray a = numbers(ctx, 1, SHAPE(5));
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, exchange, &a) == 0);
  for (int i = 0; i < THREADS; i++) {
    void *left = NULL;
    CHECK(pthread_join(threads[i], &left) == 0);
    DLManagedTensorVersioned *t = left;
    t->deleter(t);
  }
  CHECK(references(&a) == 1);
  GpuArray_clear(&a);
}

int main(void) {
  open_mock();
  gpucontext *null = open_null(), *cuda = open_cuda("cuda0");
  test_threads(null);
  test_threads(cuda);
  test_table();
  test_streams(cuda);
  test_devices();
  gpucontext_deref(cuda);
  gpucontext_deref(null);
  check_given_back();
  return check_result("test_dlpack_table");
}
