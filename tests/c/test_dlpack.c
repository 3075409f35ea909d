/* DLPack's tensors: out of arrays and into arrays, on host memory and on the mock of
 * CUDA. */
#include "mock_context.h"
#include "null_context.h"

#include <gpuarray/dlpack.h>
#include <pthread.h>

#include "c/array/array.h"

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

static unsigned int references(const GpuArray *a) {
  unsigned int n = 0;
  CHECK_OK(gpudata_property(a->data, GA_BUFFER_PROP_REFCNT, &n));
  return n;
}

static GpuArray numbers(gpucontext *ctx, unsigned int nd, const size_t *dims) {
  GpuArray a;
  float values[24];
  for (int i = 0; i < 24; i++)
    values[i] = (float)i;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, nd, dims, NULL));
  return a;
}

/* ---- out ---- */

static void test_out(gpucontext *ctx, int type) {
  GpuArray a = numbers(ctx, 2, SHAPE(4, 6)), v;
  DLManagedTensorVersioned *t = NULL;
  CHECK_OK(GpuArray_index(&v, &a, (const ssize_t[]){3, 1}, (const ssize_t[]){-1, 6},
                          (const ssize_t[]){-2, 2}));
  CHECK_OK(GpuArray_to_dlpack(&t, &v, -1));
  CHECK(t->version.major == DLPACK_MAJOR_VERSION);
  CHECK(t->flags == 0);
  CHECK((int)t->dl_tensor.device.device_type == type);
  CHECK(t->dl_tensor.device.device_id == 0);
  CHECK(t->dl_tensor.ndim == 2);
  CHECK(t->dl_tensor.dtype.code == kDLFloat && t->dl_tensor.dtype.bits == 32 &&
        t->dl_tensor.dtype.lanes == 1);
  CHECK(t->dl_tensor.shape[0] == 2 && t->dl_tensor.shape[1] == 3);
  CHECK(t->dl_tensor.strides[0] == -12 && t->dl_tensor.strides[1] == 2);
  CHECK(t->dl_tensor.byte_offset == 0);
  CHECK((char *)t->dl_tensor.data == (char *)ga__buffer_memory(a.data) + v.offset);
  CHECK(references(&a) == 3);
  GpuArray_clear(&v);
  CHECK(references(&a) == 2);
  t->deleter(t);
  CHECK(references(&a) == 1);
  GpuArray_clear(&a);
}

/* Memory that the host shares, and a card's, which it does not. */
static void test_out_on_host(gpucontext *ctx, bool is_shared) {
  GpuArray a = numbers(ctx, 2, SHAPE(4, 6)), row;
  DLManagedTensorVersioned *t = NULL;
  DLManagedTensor *old = NULL;
  DLDevice device;
  CHECK_OK(GpuArray_index(&row, &a, (const ssize_t[]){2, 0}, (const ssize_t[]){0, 6},
                          (const ssize_t[]){0, 1}));
  CHECK_OK(GpuArray_dlpack_device(&device, &row));
  CHECK((device.device_type == kDLCPU) == is_shared);
  if (is_shared) {
    CHECK_OK(GpuArray_to_dlpack_host(&t, &row));
    CHECK_OK(GpuArray_to_dlpack_host_unversioned(&old, &row));
    CHECK(references(&a) == 4);
    CHECK(t->dl_tensor.device.device_type == kDLCPU && t->dl_tensor.byte_offset == 0);
    CHECK(((float *)t->dl_tensor.data)[1] == 13);
    CHECK(((float *)old->dl_tensor.data)[5] == 17);
    t->deleter(t);
    old->deleter(old);
  } else {
    CHECK_STATUS(GA_DEVSUP_ERROR, GpuArray_to_dlpack_host(&t, &row));
    CHECK_TEXT("the host does not share");
    CHECK_STATUS(GA_DEVSUP_ERROR, GpuArray_to_dlpack_host_unversioned(&old, &row));
    CHECK(t == NULL && old == NULL);
  }
  CHECK(references(&a) == 2);
  GpuArray_clear(&row);
  GpuArray_clear(&a);
}

static void test_out_unversioned(gpucontext *ctx) {
  GpuArray a = numbers(ctx, 1, SHAPE(5)), wide;
  DLManagedTensor *t = NULL;
  CHECK_OK(GpuArray_to_dlpack_unversioned(&t, &a, -1));
  GpuArray_clear(&a); /* the tensor keeps the memory */
  CHECK(t->dl_tensor.shape[0] == 5 && t->dl_tensor.strides[0] == 1);
  t->deleter(t);

  a = numbers(ctx, 1, SHAPE(5));
  CHECK_OK(GpuArray_broadcast_to(&wide, &a, 2, SHAPE(3, 5)));
  DLManagedTensor *none = NULL;
  CHECK_STATUS(GA_READONLY_ERROR, GpuArray_to_dlpack_unversioned(&none, &wide, -1));
  CHECK(none == NULL);
  DLManagedTensorVersioned *read_only = NULL;
  CHECK_OK(GpuArray_to_dlpack(&read_only, &wide, -1));
  CHECK(read_only->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  CHECK(read_only->dl_tensor.strides[0] == 0);
  read_only->deleter(read_only);
  GpuArray_clear(&wide);
  GpuArray_clear(&a);
}

static void test_empty_and_scalar(gpucontext *ctx) {
  GpuArray a;
  DLManagedTensorVersioned *t = NULL;
  CHECK_OK(GpuArray_empty(&a, ctx, GA_BOOL, 2, SHAPE(0, 3), GA_C_ORDER));
  CHECK_OK(GpuArray_to_dlpack(&t, &a, -1));
  CHECK(t->dl_tensor.data == NULL && t->dl_tensor.dtype.code == kDLBool);
  GpuArray_clear(&a);
  CHECK_OK(GpuArray_from_dlpack(&a, ctx, t, -1));
  CHECK(a.nd == 2 && a.dimensions[0] == 0 && a.dimensions[1] == 3);
  GpuArray_clear(&a);

  CHECK_OK(GpuArray_empty(&a, ctx, GA_CDOUBLE, 0, NULL, GA_C_ORDER));
  CHECK_OK(GpuArray_to_dlpack(&t, &a, -1));
  CHECK(t->dl_tensor.ndim == 0 && t->dl_tensor.dtype.bits == 128);
  t->deleter(t);
  GpuArray_clear(&a);
}

static void test_refused_out(gpucontext *ctx) {
  GpuArray a = numbers(ctx, 1, SHAPE(5)), cleared = {0};
  DLManagedTensorVersioned *t = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_to_dlpack(NULL, &a, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_to_dlpack(&t, &cleared, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_to_dlpack(&t, NULL, -1));
  GpuArray odd = a;
  odd.strides[0] = 6;
  odd.dimensions[0] = 2;
  GpuArray_fix_flags(&odd);
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_to_dlpack(&t, &odd, -1));
  CHECK_TEXT("6 bytes");
  CHECK(t == NULL && references(&a) == 1);
  GpuArray_clear(&a);
}

/* ---- in ---- */

static int deleted;

static void count_deletion(DLManagedTensorVersioned *self) {
  (void)self;
  deleted++;
}

static int64_t some_shape[2] = {2, 3}, some_strides[2] = {4, 1};
static _Alignas(256) float some_memory[64];

/* A foreign tensor of host memory. */
static DLManagedTensorVersioned foreign(void) {
  return (DLManagedTensorVersioned){.version = {1, 0},
                                    .deleter = count_deletion,
                                    .dl_tensor = {.data = some_memory,
                                                  .device = {kDLCPU, 0},
                                                  .ndim = 2,
                                                  .dtype = {kDLFloat, 32, 1},
                                                  .shape = some_shape,
                                                  .strides = some_strides,
                                                  .byte_offset = 8}};
}

static void test_in(gpucontext *ctx) {
  GpuArray a, v;
  float values[6];
  for (int i = 0; i < 64; i++)
    some_memory[i] = (float)i;
  DLManagedTensorVersioned t = foreign();
  deleted = 0;
  CHECK_OK(GpuArray_from_dlpack(&a, ctx, &t, -1));
  CHECK(a.nd == 2 && a.typecode == GA_FLOAT && GpuArray_ISWRITEABLE(&a));
  CHECK(a.strides[0] == 16 && a.strides[1] == 4);
  CHECK((char *)ga__buffer_memory(a.data) + a.offset == (char *)&some_memory[2]);
  CHECK_OK(GpuArray_view(&v, &a));
  GpuArray_clear(&a);
  CHECK(deleted == 0);
  for (int row = 0; row < 2; row++) {
    CHECK_OK(gpudata_read(values, v.data, v.offset + 16 * (size_t)row, 12));
    CHECK(values[0] == (float)(2 + 4 * row) && values[2] == (float)(4 + 4 * row));
  }
  GpuArray_clear(&v);
  CHECK(deleted == 1);

  t.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  t.deleter = NULL;
  t.dl_tensor.strides = NULL; /* C-contiguous, before DLPack 1.2 */
  CHECK_OK(GpuArray_from_dlpack(&a, ctx, &t, -1));
  CHECK(!GpuArray_ISWRITEABLE(&a) && GpuArray_IS_C_CONTIGUOUS(&a));
  CHECK(a.strides[0] == 12);
  GpuArray_clear(&a);
}

/* Memory before the first element, and a first element that is not at the start of an
 * aligned block. */
static void test_in_reversed(gpucontext *ctx) {
  GpuArray a;
  float value;
  DLManagedTensorVersioned t = foreign();
  some_strides[0] = -4;
  t.dl_tensor.byte_offset = 17 * sizeof(float);
  CHECK_OK(GpuArray_from_dlpack(&a, ctx, &t, -1));
  CHECK(((uintptr_t)ga__buffer_memory(a.data) & 255) == 0);
  CHECK_OK(gpudata_read(&value, a.data, (size_t)((ssize_t)a.offset + a.strides[0]),
                        sizeof value));
  CHECK(value == 17 - 4);
  some_strides[0] = 4;
  GpuArray_clear(&a);
}

/* A buffer starts at an aligned address; what lies before the tensor is another's. */
static void test_a_whole_buffer_is_set(gpucontext *ctx) {
  GpuArray a;
  DLManagedTensorVersioned t = foreign();
  for (int i = 0; i < 64; i++)
    some_memory[i] = (float)i;
  CHECK_OK(GpuArray_from_dlpack(&a, ctx, &t, -1));
  CHECK_OK(gpudata_memset(a.data, 0, 0));
  CHECK_OK(gpudata_sync(a.data));
  CHECK(some_memory[0] == 0 && some_memory[1] == 1); /* as they were */
  CHECK(some_memory[2] == 0 && some_memory[8] == 0 && some_memory[9] == 9);
  some_memory[2] = some_memory[3] = 5;
  CHECK_OK(gpudata_memset(a.data, a.offset + sizeof(float), 0));
  CHECK_OK(gpudata_sync(a.data));
  CHECK(some_memory[2] == 5 && some_memory[3] == 0);
  GpuArray_clear(&a);
}

static void test_round_trip(gpucontext *ctx) {
  static const int typecodes[] = {GA_BOOL,   GA_BYTE,   GA_UBYTE,    GA_SHORT,
                                  GA_USHORT, GA_INT,    GA_UINT,     GA_LONG,
                                  GA_ULONG,  GA_HALF,   GA_BFLOAT16, GA_FLOAT,
                                  GA_DOUBLE, GA_CFLOAT, GA_CDOUBLE};
  for (size_t i = 0; i < sizeof typecodes / sizeof *typecodes; i++) {
    GpuArray a, b;
    DLManagedTensorVersioned *t = NULL;
    DLManagedTensor *old = NULL;
    CHECK_OK(GpuArray_empty(&a, ctx, typecodes[i], 2, SHAPE(2, 3), GA_F_ORDER));
    CHECK_OK(GpuArray_to_dlpack(&t, &a, -1));
    CHECK_OK(GpuArray_from_dlpack(&b, ctx, t, -1));
    CHECK(b.typecode == typecodes[i] && GpuArray_IS_F_CONTIGUOUS(&b));
    GpuArray_clear(&b);
    CHECK_OK(GpuArray_to_dlpack_unversioned(&old, &a, -1));
    CHECK_OK(GpuArray_from_dlpack_unversioned(&b, ctx, old, -1));
    CHECK(references(&a) == 2);
    GpuArray_clear(&b);
    CHECK(references(&a) == 1);
    GpuArray_clear(&a);
  }
}

static void refused(gpucontext *ctx, int status, DLManagedTensorVersioned t,
                    const char *text) {
  GpuArray out, untouched;
  memset(&out, 0x5a, sizeof out);
  untouched = out;
  deleted = 0;
  CHECK_STATUS(status, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT(text);
  CHECK(deleted == 0);
  CHECK(memcmp(&out, &untouched, sizeof out) == 0);
}

#define REFUSED(ctx, status, text, ...)                                                \
  do {                                                                                 \
    DLManagedTensorVersioned t = foreign();                                            \
    __VA_ARGS__;                                                                       \
    refused(ctx, status, t, text);                                                     \
  } while (0)

static void test_refused_in(gpucontext *ctx) {
  static int64_t huge[2] = {INT64_MAX / 2, 3}, negative[2] = {-1, 3};
  GpuArray out;
  DLManagedTensorVersioned ok = foreign();
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&out, ctx, NULL, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(NULL, ctx, &ok, -1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&out, NULL, &ok, -1));
  REFUSED(ctx, GA_INVALID_ERROR, "DLPack 2.0", t.version.major = 2);
  REFUSED(ctx, GA_INVALID_ERROR, "(10, 0)", t.dl_tensor.device.device_type = kDLROCM);
  REFUSED(ctx, GA_INVALID_ERROR, "(1, 1)", t.dl_tensor.device.device_id = 1);
  REFUSED(ctx, GA_INVALID_ERROR, "4 lanes", t.dl_tensor.dtype.lanes = 4);
  REFUSED(ctx, GA_INVALID_ERROR, "kind 17", t.dl_tensor.dtype.code = kDLFloat4_e2m1fn);
  REFUSED(ctx, GA_INVALID_ERROR, "80 bits", t.dl_tensor.dtype.bits = 80);
  REFUSED(ctx, GA_VALUE_ERROR, "33 axes", t.dl_tensor.ndim = 33);
  REFUSED(ctx, GA_VALUE_ERROR, "-1 axes", t.dl_tensor.ndim = -1);
  REFUSED(ctx, GA_VALUE_ERROR, "no shape", t.dl_tensor.shape = NULL);
  REFUSED(ctx, GA_VALUE_ERROR, "length -1", t.dl_tensor.shape = negative);
  REFUSED(ctx, GA_XLARGE_ERROR, "more bytes than can be addressed",
          t.dl_tensor.shape = huge);
  REFUSED(ctx, GA_XLARGE_ERROR, "stride 0", t.dl_tensor.strides = huge);
  REFUSED(ctx, GA_VALUE_ERROR, "its data pointer is NULL", t.dl_tensor.data = NULL);
  REFUSED(ctx, GA_UNALIGNED_ERROR, "multiples of 4", t.dl_tensor.byte_offset = 6);
}

/* ---- memory that fails ---- */

static void test_failing_allocations(gpucontext *ctx) {
  GpuArray a = numbers(ctx, 1, SHAPE(5)), b;
  DLManagedTensorVersioned *t = NULL, borrowed = foreign();
  DLManagedTensor *old = NULL;
  ga__alloc_fail_at(0);
  CHECK_STATUS(GA_MEMORY_ERROR, GpuArray_to_dlpack(&t, &a, -1));
  ga__alloc_fail_at(0);
  CHECK_STATUS(GA_MEMORY_ERROR, GpuArray_to_dlpack_unversioned(&old, &a, -1));
  CHECK(references(&a) == 1);
  GpuArray kept[64]; /* so many structs that one must be allocated */
  int n = 0, status = GA_NO_ERROR;
  deleted = 0;
  while (n < 64 && status == GA_NO_ERROR) {
    ga__alloc_fail_at(0);
    status = GpuArray_from_dlpack(&b, ctx, &borrowed, -1);
    if (status == GA_NO_ERROR)
      kept[n++] = b;
  }
  ga__alloc_fail_at(-1);
  CHECK(status == GA_MEMORY_ERROR && deleted == 0);
  while (n > 0)
    GpuArray_clear(&kept[--n]);
  GpuArray_clear(&a);
}

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

static void test_everywhere(gpucontext *ctx, int type) {
  test_out(ctx, type);
  test_out_unversioned(ctx);
  test_empty_and_scalar(ctx);
  test_refused_out(ctx);
  test_round_trip(ctx);
}

int main(void) {
  open_mock();
  gpucontext *null = open_null(), *cuda = open_cuda("cuda0");
  test_everywhere(null, kDLCPU);
  test_everywhere(cuda, kDLCUDA);
  test_out_on_host(null, true);
  test_out_on_host(cuda, false);
  test_in(null);
  test_in_reversed(null);
  test_a_whole_buffer_is_set(null);
  test_refused_in(null);
  test_failing_allocations(null);
  test_threads(null);
  test_threads(cuda);
  test_table();
  test_streams(cuda);
  test_devices();
  gpucontext_deref(cuda);
  gpucontext_deref(null);
  check_given_back();
  return check_result("test_dlpack");
}
