/* Kernels of users as they were written for libgpuarray 0.7, on a device: launches,
 * bound arguments, mistakes, atomics. See test_compat.c. */
#include "device_context.h"

#include <gpuarray/kernel.h>

static gpucontext *ctx;

static GpuKernel kernel(const char *text, unsigned int n, const int *types, int flags) {
  GpuKernel k;
  char *log = NULL;
  int status = GpuKernel_init(&k, ctx, 1, &text, NULL, "f", n, types, flags, &log);
  CHECK(log == NULL || (fprintf(stderr, "%s\n", log), false));
  free(log);
  if (status != GA_NO_ERROR) {
    fprintf(stderr, "no kernel: %s\n", gpuarray_error_text());
    exit(1);
  }
  return k;
}

/* A kernel without a loop sees every element, however many there are. */
static void test_sched(void) {
  const char *text = "#include \"cluda.h\"\n"
                     "KERNEL void f(GLOBAL_MEM ga_uint *x, ga_size n) {\n"
                     "  ga_size i = GID_0 * LDIM_0 + LID_0;\n"
                     "  if (i < n) x[i] += 1;\n"
                     "}\n";
  const int types[] = {GA_BUFFER, GA_SIZE};
  const size_t sizes[] = {1, 100000, 3000001};
  GpuKernel k = kernel(text, 2, types, 0);
  for (int s = 0; s < 3; s++) {
    size_t n = sizes[s], gs = 0, ls = 0, missed = 0;
    uint32_t *got = calloc(n, sizeof *got);
    gpudata *x = gpudata_alloc(ctx, n * sizeof *got, got, GA_BUFFER_INIT, NULL);
    CHECK_OK(GpuKernel_sched(&k, n, &gs, &ls));
    CHECK_OK(GpuKernel_setarg(&k, 0, x));
    CHECK_OK(GpuKernel_setarg(&k, 1, &n));
    CHECK_OK(GpuKernel_call(&k, 1, &gs, &ls, 0, NULL));
    CHECK_OK(gpudata_read(got, x, 0, n * sizeof *got));
    for (size_t i = 0; i < n; i++)
      missed += got[i] != 1;
    CHECK(missed == 0);
    gpudata_release(x);
    free(got);
  }
  GpuKernel_clear(&k);
}

/* Two handles of one source do not see each other's arguments, and a value that was set
 * may go. */
static void test_two_handles(void) {
  const char *text = "#include \"cluda.h\"\n"
                     "KERNEL void f(GLOBAL_MEM ga_int *x, ga_int v) { x[0] = v; }\n";
  const int types[] = {GA_BUFFER, GA_INT};
  GpuKernel k[2] = {kernel(text, 2, types, 0), kernel(text, 2, types, 0)};
  gpudata *x[2];
  const size_t one = 1;
  for (int i = 0; i < 2; i++) {
    int32_t value = 5 + i;
    x[i] = gpudata_alloc(ctx, 4, NULL, 0, NULL);
    CHECK_OK(GpuKernel_setarg(&k[i], 0, x[i]));
    CHECK_OK(GpuKernel_setarg(&k[i], 1, &value));
    value = -1;
  }
  for (int i = 0; i < 2; i++)
    CHECK_OK(GpuKernel_call(&k[i], 1, &one, &one, 0, NULL));
  for (int i = 0; i < 2; i++) {
    int32_t got = 0;
    CHECK_OK(gpudata_read(&got, x[i], 0, 4));
    CHECK(got == 5 + i);
    gpudata_release(x[i]);
    GpuKernel_clear(&k[i]);
  }
}

/* A list of types that is empty makes a kernel, as pygpu's tests do. Launching it with
 * too few arguments, or too many threads, is refused and harms nothing. */
static void test_wrong_launches(void) {
  const char *text = "#include \"cluda.h\"\n"
                     "KERNEL void f(GLOBAL_MEM ga_int *x) { x[LID_0] = 3; }\n";
  const int types[] = {GA_BUFFER, GA_INT, GA_INT};
  const size_t one = 1, none = 0, many = 1 << 20;
  size_t largest = 0;
  int32_t got = 0;
  gpudata *x = gpudata_alloc(ctx, 4, &got, GA_BUFFER_INIT, NULL);
  GpuKernel k = kernel(text, 0, NULL, 0);
  CHECK(GpuKernel_call(&k, 1, &one, &one, 0, NULL) != GA_NO_ERROR);
  GpuKernel_clear(&k);
  k = kernel(text, 3, types, 0);
  int32_t value = 1;
  void *args[] = {x, &value, &value};
  CHECK(GpuKernel_call(&k, 1, &one, &one, 0, args) != GA_NO_ERROR);
  GpuKernel_clear(&k);

  k = kernel(text, 1, types, 0);
  CHECK_OK(gpukernel_property(k.k, GA_KERNEL_PROP_MAXLSIZE, &largest));
  largest++;
  CHECK_STATUS(GA_LIMIT_ERROR, GpuKernel_call(&k, 1, &one, &largest, 0, args));
  CHECK_STATUS(GA_LIMIT_ERROR, GpuKernel_call(&k, 1, &one, &many, 0, args));
  CHECK_STATUS(GA_LIMIT_ERROR, GpuKernel_call(&k, 1, &one, &none, 0, args));
  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_call(&k, 4, &one, &one, 0, args));
  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_call(&k, 0, &one, &one, 0, args));
  CHECK_STATUS(GA_LIMIT_ERROR,
               GpuKernel_call(&k, 1, &one, &one, (size_t)1 << 40, args));
  CHECK_OK(GpuKernel_call(&k, 1, &none, &one, 0, args));
  CHECK_OK(gpudata_read(&got, x, 0, 4));
  CHECK(got == 0);
  CHECK_OK(GpuKernel_call(&k, 1, &one, &one, 0, args));
  CHECK_OK(gpudata_read(&got, x, 0, 4));
  CHECK(got == 3);
  GpuKernel_clear(&k);
  gpudata_release(x);
}

/* The status, a text, and the compiler's words with the numbered source. */
static void test_compile_error(void) {
  const char *text =
      "#include \"cluda.h\"\nKERNEL void f(GLOBAL_MEM ga_int *x) { y; }\n";
  const int types[] = {GA_BUFFER};
  char *log = NULL;
  GpuKernel k = {NULL, NULL};
  CHECK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 1, types, 0, &log) != GA_NO_ERROR);
  CHECK(k.k == NULL && log != NULL && strstr(log, "{ y; }") != NULL);
  CHECK(gpucontext_error(ctx, 0)[0] != '\0');
  free(log);
}

/* Atomics give what was there before, on every device. */
static void test_atomics(void) {
  const char *text =
      "#include \"cluda.h\"\n"
      "KERNEL void f(GLOBAL_MEM ga_float *x, GLOBAL_MEM ga_int *n,\n"
      "              GLOBAL_MEM ga_float *old, GLOBAL_MEM ga_int *old_n) {\n"
      "  old[0] = atom_add_fg(x, 2.0f);\n"
      "  old[1] = atom_xchg_fg(x, 9.0f);\n"
      "  old_n[0] = atom_add_ig(n, 5);\n"
      "  old_n[1] = atom_xchg_ig(n, 1);\n"
      "}\n";
  const int types[] = {GA_BUFFER, GA_BUFFER, GA_BUFFER, GA_BUFFER};
  float x = 1.5f, old[2] = {0, 0};
  int32_t n = 4, old_n[2] = {0, 0};
  const size_t one = 1;
  GpuKernel k = kernel(text, 4, types, 0);
  gpudata *dx = gpudata_alloc(ctx, 4, &x, GA_BUFFER_INIT, NULL);
  gpudata *dn = gpudata_alloc(ctx, 4, &n, GA_BUFFER_INIT, NULL);
  gpudata *dold = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpudata *dold_n = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  void *args[] = {dx, dn, dold, dold_n};
  CHECK_OK(GpuKernel_call(&k, 1, &one, &one, 0, args));
  CHECK_OK(gpudata_read(old, dold, 0, sizeof old));
  CHECK_OK(gpudata_read(old_n, dold_n, 0, sizeof old_n));
  CHECK_OK(gpudata_read(&x, dx, 0, 4));
  CHECK(old[0] == 1.5f && old[1] == 3.5f && x == 9 && old_n[0] == 4 && old_n[1] == 9);
  for (int i = 0; i < 4; i++)
    gpudata_release(args[i]);
  GpuKernel_clear(&k);
}

/* Complex numbers are offered, flag and all. */
static void test_complex(void) {
  const char *text = "#include \"cluda.h\"\n"
                     "KERNEL void f(GLOBAL_MEM ga_cfloat *x) { x[0].y = x[0].x; }\n";
  const int types[] = {GA_BUFFER};
  const size_t one = 1;
  float x[2] = {3, 4};
  GpuKernel k = kernel(text, 1, types, GA_USE_COMPLEX | GA_USE_HALF | GA_USE_SMALL);
  gpudata *b = gpudata_alloc(ctx, sizeof x, x, GA_BUFFER_INIT, NULL);
  void *args[] = {b};
  CHECK_OK(GpuKernel_call(&k, 1, &one, &one, 0, args));
  CHECK_OK(gpudata_read(x, b, 0, sizeof x));
  CHECK(x[0] == 3 && x[1] == 3);
  gpudata_release(b);
  GpuKernel_clear(&k);
}

int main(int argc, char **argv) {
  (void)argc;
  ctx = open_device();
  test_sched();
  test_two_handles();
  test_wrong_launches();
  test_compile_error();
  test_atomics();
  test_complex();
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
