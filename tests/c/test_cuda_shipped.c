/* Kernels that were compiled before there was a device, on the mock of CUDA. */
#include "mock_context.h"

#include <dirent.h>
#include <gpuarray/blas.h>
#include <sys/stat.h>
#include <unistd.h>

#include "c/blas/blas_kernels.h"

static char folder[] = "/tmp/gpuarray-test-XXXXXX";

/* The mock's kernels of an architecture, in a folder that is made for them. */
static const char *ship(const char *arch) {
  static char path[128];
  unsigned int n = 0;
  snprintf(path, sizeof path, "%s/with %s", folder, arch);
  const long before = mock->compilations;
  CHECK_OK(gpuarray_keep_products("cuda", arch, path, &n));
  CHECK(n == GA_BLAS_KIND_COUNT && mock->compilations == before + (long)n);
  CHECK(strcmp(mock->architecture, arch) == 0);
  return path;
}

/* How many kernels a product compiles on a new device of this capability. */
static long compiled(int capability, gpucontext_cache *counted) {
  GpuArray x = {0}, y = {0};
  const long before = mock->compilations;
  mock->capability = capability;
  gpucontext *ctx = open_cuda("cuda0");
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){64, 64}, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&y, ctx, GA_FLOAT, 2, (size_t[]){64, 64}, GA_C_ORDER));
  CHECK_OK(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &x, &x, 0, &y, 0));
  CHECK(strncmp(mock->queued.name, "gemm_", 5) == 0);
  *counted = ctx->cache.counters;
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  gpucontext_deref(ctx);
  check_given_back();
  return mock->compilations - before;
}

static void test_products_are_not_compiled(void) {
  gpucontext_cache counted;
  unsetenv("GPUARRAY_SHIPPED_KERNELS");
  const long alone = compiled(90, &counted);
  CHECK(alone > 0 && counted.disk_hits == 0);
  setenv("GPUARRAY_SHIPPED_KERNELS", ship("sm_90"), 1);
  CHECK(compiled(90, &counted) == 0);
  CHECK(counted.disk_hits == (size_t)alone && counted.compiled == 0);
  CHECK(compiled(80, &counted) == alone); /* they are for another one */
  setenv("GPUARRAY_SHIPPED_KERNELS", "", 1);
  CHECK(compiled(90, &counted) == alone);
}

static void test_a_family_has_one_code(void) {
  gpucontext_cache counted;
  setenv("GPUARRAY_SHIPPED_KERNELS", ship("sm_80"), 1);
  CHECK(compiled(80, &counted) == 0);
  CHECK(compiled(86, &counted) == 0);
  CHECK(compiled(75, &counted) > 0);
}

/* Sets the last byte of each file. */
static void damage(const char *path) {
  DIR *files = opendir(path);
  for (struct dirent *f = readdir(files); f; f = readdir(files)) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s", path, f->d_name);
    FILE *file = strstr(name, ".kernel") ? fopen(name, "r+b") : NULL;
    if (file == NULL)
      continue;
    CHECK(fseek(file, -1, SEEK_END) == 0 && fputc('?', file) == '?');
    fclose(file);
  }
  closedir(files);
}

/* A package's files belong to whoever installed it. */
static void test_a_folder_that_others_may_read(void) {
  gpucontext_cache counted;
  char path[160];
  const char *shipped = ship("sm_90");
  setenv("GPUARRAY_SHIPPED_KERNELS", shipped, 1);
  snprintf(path, sizeof path, "%s/sm_90", shipped);
  CHECK(chmod(path, 0777) == 0);
  CHECK(compiled(90, &counted) == 0);
  CHECK(chmod(path, 0700) == 0);
  damage(path);
  CHECK(compiled(90, &counted) > 0);
}

static void test_what_is_refused(void) {
  unsigned int n;
  CHECK_STATUS(GA_VALUE_ERROR, gpuarray_keep_products("cuda", "90", folder, &n));
  CHECK_TEXT("expected one such as \"sm_90\"");
  CHECK_STATUS(GA_VALUE_ERROR, gpuarray_keep_products("metal", "1", folder, &n));
  CHECK_TEXT("expected one of cuda, opencl, null");
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, gpuarray_keep_products("null", "1", folder, &n));
  CHECK_STATUS(GA_DEVSUP_ERROR, gpuarray_keep_products("cuda", "sm_103", folder, &n));
  CHECK_STATUS(GA_SYS_ERROR,
               gpuarray_keep_products("cuda", "sm_90", "/proc/no such folder", &n));
  CHECK_TEXT("/proc/no such folder");
}

int main(void) {
  char command[128];
  open_mock();
  CHECK(mkdtemp(folder) != NULL);
  test_products_are_not_compiled();
  test_a_family_has_one_code();
  test_a_folder_that_others_may_read();
  test_what_is_refused();
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
  return check_result("cuda shipped");
}
