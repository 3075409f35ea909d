/* What an old driver or library lacks, and single calls that fail: the status and the
 * text, and that all works again with them. On the mock. */
#include "mock_context.h"

#include <gpuarray/blas.h>
#include <gpuarray/buffer_collectives.h>
#include <gpuarray/extension.h>
#include <gpuarray/kernel.h>

#include "c/device/context.h"

enum { FAILED = 999 /* CUDA_ERROR_UNKNOWN */ };

static CUresult no_count(int *count) {
  (void)count;
  return FAILED;
}
static CUresult no_device(CUdevice *device) {
  (void)device;
  return FAILED;
}
static nvrtcResult no_architectures(int *count) {
  *count = 0;
  return 0;
}
static ncclResult no_id(ncclUniqueId *id) {
  (void)id;
  return 1;
}
static const char *name_of_status(cublasStatus status) {
  return status ? "CUBLAS_STATUS_MOCK" : "";
}
static const char *text_of_status(cublasStatus status) {
  return status ? "it is a mock" : "";
}
static cublasStatus no_product(cublasHandle handle, int ta, int tb, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               const void *b, int b_type, int ldb, const void *beta,
                               void *c, int c_type, int ldc, int compute,
                               int algorithm) {
  (void)handle, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a;
  (void)a_type, (void)lda, (void)b, (void)b_type, (void)ldb, (void)beta, (void)c;
  (void)c_type, (void)ldc, (void)compute, (void)algorithm;
  return 13;
}
static cublasStatus no_algorithm(cublasLtHandle handle, cublasLtObject desc,
                                 cublasLtObject a, cublasLtObject b, cublasLtObject c,
                                 cublasLtObject d, cublasLtObject preference,
                                 int wanted, cublasLtHeuristic *results, int *found) {
  (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference;
  (void)wanted, (void)results;
  *found = 0;
  return 0;
}

/* Runs the block with `other` in the place of a function of the libraries. */
#define WITH(name, other)                                                              \
  for (ga_cuda_api before = ga__cuda, *again = (ga__cuda.name = (other), &before);     \
       again; ga__cuda.name = before.name, again = NULL)

static void test_devices(void) {
  ga_device_info info;
  unsigned int n;
  WITH(cuDeviceGetCount, no_count) {
    CHECK_STATUS(GA_IMPL_ERROR, ga__cuda_backend.device_count(&n, 0));
    CHECK_TEXT("cuDeviceGetCount");
  }
  CHECK_STATUS(GA_NODEV_ERROR, ga__cuda_backend.probe(&info, 0, 99));
  CHECK_TEXT("cuda99: the driver has 2 devices");
  CHECK_OK(ga__cuda_backend.probe(&info, 0, 1));
}

static void test_adopting(gpucontext *ctx) {
  CUcontext native = NULL;
  gpucontext *made = NULL;
  CHECK(ga__cuda.cuDevicePrimaryCtxRetain(&native, 0) == 0);
  WITH(cuCtxGetDevice, no_device) {
    CHECK_STATUS(GA_IMPL_ERROR,
                 ga__context_adopt(&made, &ga__cuda_backend, native, NULL));
    CHECK_TEXT("cuCtxGetDevice");
  }
  CHECK(made == NULL);
  CHECK_OK(ga__context_adopt(&made, &ga__cuda_backend, native, NULL));
  gpucontext_deref(made);
  CHECK(ga__cuda.cuDevicePrimaryCtxRelease(0) == 0);
  CHECK_OK(gpucontext_sync(ctx));
}

static void test_sharing_between_processes(gpucontext *ctx) {
  int (*get_handle)(gpudata *, GpuArrayIpcMemHandle *);
  gpudata *(*open_handle)(gpucontext *, GpuArrayIpcMemHandle *, size_t);
  void *symbols[2] = {gpuarray_get_extension("cuda_get_ipc_handle"),
                      gpuarray_get_extension("cuda_open_ipc_handle")};
  memcpy(&get_handle, &symbols[0], sizeof get_handle);
  memcpy(&open_handle, &symbols[1], sizeof open_handle);
  GpuArrayIpcMemHandle handle = {{0}};
  gpudata *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  WITH(cuIpcGetMemHandle, NULL) {
    CHECK_STATUS(GA_DEVSUP_ERROR, get_handle(b, &handle));
    CHECK_TEXT("shares no memory between processes");
  }
  WITH(cuMemGetAddressRange, NULL) {
    CHECK_STATUS(GA_DEVSUP_ERROR, get_handle(b, &handle));
  }
  WITH(cuIpcOpenMemHandle, NULL) {
    CHECK(open_handle(ctx, &handle, 64) == NULL);
    CHECK_TEXT("cuda_open_ipc_handle: this driver shares no memory");
  }
  gpudata_release(b);
}

static void test_kernels(gpucontext *ctx) {
  const char *text = "KERNEL void f() {}";
  const ga_backend *cuda = ctx->backend;
  GpuKernel k = {NULL, NULL};
  unsigned int n;
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 0, NULL, 0, NULL));
  GpuKernel_clear(&k);
  text = "KERNEL void f() {;}";
  WITH(nvrtcGetNumSupportedArchs, no_architectures) {
    CHECK_STATUS(GA_IMPL_ERROR,
                 GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 0, NULL, 0, NULL));
    CHECK_TEXT("NVRTC does not report the architectures");
  }
  CHECK(k.k == NULL);
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 0, NULL, 0, NULL));
  GpuKernel_clear(&k);
  WITH(cuFuncGetParamInfo, NULL)
  CHECK_STATUS(GA_DEVSUP_ERROR, cuda->kernel_parameters(&n, ctx->device, NULL));
  CHECK_TEXT("does not report a kernel's parameters");
  WITH(cuStreamBeginCapture, NULL)
  CHECK_STATUS(GA_DEVSUP_ERROR, cuda->graph_begin(ctx->device, 0));
  CHECK_TEXT("this driver has no graphs");
}

static void test_products(gpucontext *ctx) {
  const size_t dims[2] = {300, 300};
  const cb_transpose no = cb_no_trans;
  GpuArray a, c, v;
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&c, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&v, ctx, GA_FLOAT, 1, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_rgemm(no, no, 1, &a, &a, 0, &a, 0));
  WITH(cublasGemmEx, no_product) {
    ga__cuda.cublasGetStatusName = name_of_status;
    ga__cuda.cublasGetStatusString = text_of_status;
    CHECK_STATUS(GA_IMPL_ERROR, GpuArray_rgemm(no, no, 1, &a, &a, 0, &a, 0));
    CHECK_TEXT("gemm: CUBLAS_STATUS_MOCK: it is a mock");
    ga__cuda.cublasGetStatusName = before.cublasGetStatusName;
    ga__cuda.cublasGetStatusString = before.cublasGetStatusString;
  }
  CHECK_OK(GpuArray_gemm_bias(no, no, &a, &a, &v, GA_ACTIVATION_NONE, &c, 0));
  CHECK(mock->asked.epilogue != 0);
  WITH(cublasLtMatmulAlgoGetHeuristic, no_algorithm) /* the bias is added afterwards */
  CHECK_OK(GpuArray_gemm_bias(cb_trans, no, &a, &a, &v, GA_ACTIVATION_NONE, &c, 0));
  CHECK(mock->asked.epilogue == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&c);
  GpuArray_clear(&v);
}

static void test_cliques(gpucontext *ctx) {
  gpucommCliqueId id = {{0}};
  CHECK_OK(gpucomm_gen_clique_id(ctx, &id)); /* opens NCCL */
  WITH(ncclGetUniqueId, no_id) {
    CHECK_STATUS(GA_COMM_ERROR, gpucomm_gen_clique_id(ctx, &id));
    CHECK_TEXT("ncclGetUniqueId");
  }
}

int main(int argc, char **argv) {
  (void)argc;
  open_mock();
  setenv("GPUARRAY_BLAS", "vendor", 1);
  gpucontext *ctx = open_cuda("cuda0");
  test_devices();
  test_adopting(ctx);
  test_sharing_between_processes(ctx);
  test_kernels(ctx);
  test_products(ctx);
  test_cliques(ctx);
  gpucontext_deref(ctx);
  check_given_back();
  return check_result(argv[0]);
}
