/* Arguments of users' kernels on CUDA, whose driver reads as many of them as the kernel
 * has parameters, however many there are. */
#include "mock_context.h"

#include <gpuarray/kernel.h>

static const char *text = "KERNEL void f(GLOBAL_MEM ga_float *x, ga_size n) {}";
static const int types[3] = {GA_BUFFER, GA_SIZE, GA_SIZE};

/* A kernel of two parameters that was made for `n` arguments. */
static int launch(gpucontext *ctx, unsigned int n) {
  GpuKernel k;
  const size_t one = 1;
  size_t value = 5;
  gpudata *x = gpudata_alloc(ctx, 4, NULL, 0, NULL);
  void *args[3] = {x, &value, &value};
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", n, types, 0, NULL));
  int status = GpuKernel_call(&k, 1, &one, &one, 0, args);
  GpuKernel_clear(&k);
  gpudata_release(x);
  return status;
}

int main(int argc, char **argv) {
  (void)argc;
  open_mock();
  gpucontext *ctx = open_cuda("cuda0");
  for (unsigned int n = 0; n <= 3; n++) {
    long launches = mock->launches;
    CHECK_STATUS(n == 2 ? GA_NO_ERROR : GA_VALUE_ERROR, launch(ctx, n));
    CHECK_OK(gpucontext_sync(ctx));
    CHECK(mock->launches == launches + (n == 2));
    if (n != 2)
      CHECK_TEXT("kernel f: the source has 2 parameters, but");
  }
  gpucontext_deref(ctx);
  check_given_back();
  return check_result(argv[0]);
}
