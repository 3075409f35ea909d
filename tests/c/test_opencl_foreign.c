/* Contexts and memory of OpenCL that an application made: what is adopted, what is
 * refused, and what is mapped for the host. */
#include "application_memory.h"
#include "discrete_gpu.h"
#include "failing_opencl.h"

#include <gpuarray/blas.h>
#include <gpuarray/dlpack.h>

/* A cl_context is asked for its device by way of its own driver: the slots are those of
 * the driver's functions in api.def. */
static cl_int no_device(cl_context context, cl_uint what, size_t size, void *value,
                        size_t *real_size) {
  (void)context, (void)what, (void)size, (void)value;
  if (real_size)
    *real_size = 0;
  return CL_SUCCESS;
}
static cl_int strange_device(cl_context context, cl_uint what, size_t size, void *value,
                             size_t *real_size) {
  (void)what;
  if (value)
    memcpy(value, &context, size < sizeof context ? size : sizeof context);
  if (real_size)
    *real_size = sizeof context;
  return CL_SUCCESS;
}
static cl_int device_that_fails(cl_context context, cl_uint what, size_t size,
                                void *value, size_t *real_size) {
  if (value)
    return CL_OUT_OF_RESOURCES;
  return strange_device(context, what, size, value, real_size);
}

static void check_not_adopted(any_function *get_info, int status, const char *text) {
  any_function *table[128] = {NULL};
  struct {
    any_function **table;
  } object = {table};
  gpucontext *ctx = NULL;
  table[8] = get_info;
  CHECK_STATUS(status, ga__context_adopt(&ctx, &ga__opencl_backend, &object, NULL));
  CHECK_TEXT(text);
  CHECK(ctx == NULL);
}

static void test_contexts_that_are_not_adopted(void) {
  failure = CL_OUT_OF_RESOURCES;
  check_not_adopted((any_function *)fail_clGetContextInfo, GA_IMPL_ERROR,
                    "clGetContextInfo failed");
  check_not_adopted((any_function *)device_that_fails, GA_IMPL_ERROR,
                    "clGetContextInfo failed");
  check_not_adopted((any_function *)no_device, GA_NODEV_ERROR, "has no device");
  check_not_adopted((any_function *)strange_device, GA_NODEV_ERROR,
                    "of no OpenCL platform that was found");
}

static void test_what_is_not_ours(gpucontext *ctx) {
  gpucontext *other = open_device(), *null = NULL;
  CHECK_OK(gpucontext_open(&null, "null"));
  cl_mem memory = make_memory(other);
  CHECK(make_buf(ctx, memory) == NULL);
  CHECK_TEXT("cl_make_buf: the memory is of another cl_context");
  CHECK(make_buf(null, memory) == NULL);
  CHECK_TEXT("cl_make_buf: null is not an OpenCL context");
  CHECK(make_buf(NULL, memory) == NULL);
  CHECK_TEXT("NULL is not an OpenCL context");
  api->clReleaseMemObject(memory);
  gpucontext_deref(other);
  gpucontext_deref(null);
}

/* Tensors whose memory is no address, so that OpenCL is asked what it is. */
static void test_tensors(gpucontext *ctx) {
  int64_t shape[1] = {BYTES};
  gpucontext *other = open_device();
  cl_mem ours = make_memory(ctx), foreign = make_memory(other);
  DLManagedTensorVersioned t = {.version = {DLPACK_MAJOR_VERSION, 0}};
  GpuArray out = {.nd = 77};
  t.dl_tensor = (DLTensor){.ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = shape};
  CHECK_OK(gpucontext_dlpack_device(ctx, &t.dl_tensor.device));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT("has elements, but its data pointer is NULL");
  t.dl_tensor.data = foreign;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT("from_dlpack: the memory is of another cl_context");
  t.dl_tensor.data = ours;
  t.dl_tensor.byte_offset = 1;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_from_dlpack(&out, ctx, &t, -1));
  CHECK_TEXT("from_dlpack: ");
  CHECK(out.nd == 77);
  api->clReleaseMemObject(ours);
  api->clReleaseMemObject(foreign);
  gpucontext_deref(other);
}

/* A product by the host's BLAS of memory that has to be mapped for it. */
static void test_mapped_products(gpucontext *ctx) {
  const size_t dims[2] = {64, 64};
  cl_mem memory = make_memory(ctx);
  gpudata *b = make_buf(ctx, memory);
  GpuArray x, y, z, *all[3] = {&x, &y, &z};
  for (size_t i = 0; i < 3; i++)
    CHECK_OK(GpuArray_fromdata(all[i], b, i * 64 * 64 * 4, GA_FLOAT, 2, dims, NULL, 1));
  const char *const functions[] = {"clEnqueueMapBuffer", "clEnqueueUnmapMemObject"};
  for (size_t i = 0; i < 2; i++) {
    const failing_case one = {
        .name = functions[i], .code = CL_OUT_OF_RESOURCES, .status = GA_IMPL_ERROR};
    int status = GA_NO_ERROR;
    current = &one;
    FAILING(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &x, &y, 0, &z, 0));
    CHECK_STATUS(GA_IMPL_ERROR, status);
    CHECK_TEXT(functions[i]);
  }
  current = NULL;
  CHECK_OK(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &x, &y, 0, &z, 0));
  CHECK_OK(gpucontext_sync(ctx));
  for (size_t i = 0; i < 3; i++)
    GpuArray_clear(all[i]);
  gpudata_release(b);
  api->clReleaseMemObject(memory);
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_opencl();
  test_contexts_that_are_not_adopted();
  test_what_is_not_ours(ctx);
  test_tensors(ctx);
  if (device_of(ctx)->shares_memory && ga__context_blas(ctx))
    test_mapped_products(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
