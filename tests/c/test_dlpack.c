/* DLPack's tensors: out of arrays and into arrays, on host memory and on the mock of
 * CUDA. */
#include "dlpack_tensors.h"

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

/* ---- streams ---- */

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
  gpucontext_deref(cuda);
  gpucontext_deref(null);
  check_given_back();
  return check_result("test_dlpack");
}
