/* Builds of OpenCL's programs: their options, the headers that they are spared, and the
 * places that a compiler's messages name. */
#include "discrete_gpu.h"

#include "opencl/kernel.h"

/* What NVIDIA's compiler says: it counts the lines before the body too. */
static cl_int log_of_nvidia(cl_program made, cl_device_id device, cl_uint what,
                            size_t size, void *value, size_t *real_size) {
  static const char said[] = "<kernel>:5:10: error: x\n<kernel>:2:1: note\n<kernel>:?";
  (void)made, (void)device, (void)what;
  if (real_size)
    *real_size = sizeof said;
  if (value)
    memcpy(value, said, size < sizeof said ? size : sizeof said);
  return CL_SUCCESS;
}

static void test_places_of_a_log(gpucontext *ctx) {
  __typeof__(api->clGetProgramBuildInfo) real = api->clGetProgramBuildInfo;
  void *made = NULL;
  ga_strbuf log = {0};
  api->clGetProgramBuildInfo = log_of_nvidia;
  CHECK_STATUS(GA_COMPILE_ERROR,
               ctx->backend->compile(&made, ctx->device,
                                     "// of\n// ours\n#line 1\n\nnowhere\n", &log));
  CHECK(strcmp(log.text, "<kernel>:2:10: error: x\n<kernel>:2:1: note\n<kernel>:?") ==
        0);
  ga__strbuf_clear(&log);
  CHECK_STATUS(GA_COMPILE_ERROR,
               ctx->backend->compile(&made, ctx->device, "nowhere\n", &log));
  CHECK(strncmp(log.text, "<kernel>:5:10:", 14) == 0);
  ga__strbuf_clear(&log);
  api->clGetProgramBuildInfo = real;
}

/* A choice is told to the driver, and is in the keys of kernels on disk. */
static void test_choice(const char *variable, const char *value, const char *option) {
  static const char *const values[] = {"0", "1", ""};
  const char *chosen = getenv(variable);
  char *before = chosen ? strdup(chosen) : NULL;
  for (int i = 0; i < 3; i++) {
    setenv(variable, values[i], 1);
    gpucontext *ctx = open_device();
    const bool has_option = strcmp(values[i], value) == 0;
    CHECK((strstr(device_of(ctx)->options, option) != NULL) == has_option);
    CHECK((strstr(ctx->info.bin_id, option) != NULL) == has_option);
    gpucontext_deref(ctx);
  }
  unsetenv(variable);
  if (before)
    setenv(variable, before, 1);
  free(before);
}

static __typeof__(api->clBuildProgram) real_build;
static int builds;
static char built_with[256];

static cl_int counted_build(cl_program made, cl_uint n, const cl_device_id *devices,
                            const char *options, void (*notify)(void), void *data) {
  builds++;
  snprintf(built_with, sizeof built_with, "%s", options);
  return real_build(made, n, devices, options, notify, data);
}

/* How often a kernel that computes `expression` is built; with a text of before, one of
 * the library. */
static int builds_of(gpucontext *ctx, const char *before, const char *expression) {
  void *made = NULL;
  ga_strbuf text = {0}, log = {0};
  ga__strbuf_add(&text, ctx->backend->prelude);
  ga__strbuf_addf(
      &text, "\n#line 1\nKERNEL void f(GLOBAL_MEM float *x) {\n  %s x[0] = %s;\n}\n",
      before, expression);
  builds = 0;
  CHECK_OK(ctx->backend->compile(&made, ctx->device, text.text, &log));
  if (made)
    ctx->backend->unload(ctx->device, made);
  ga__strbuf_clear(&text);
  ga__strbuf_clear(&log);
  return builds;
}

/* The library's texts are built without the header of a runtime that has a long one;
 * what needs it gets it. */
static void test_headers_that_are_skipped(gpucontext *ctx) {
  const ga_opencl_device *d = device_of(ctx);
  const int reloads = d->reloads;
  real_build = api->clBuildProgram;
  api->clBuildProgram = counted_build;
  CHECK(builds_of(ctx, "", "exp(x[1])") == 1 + reloads);
  CHECK(strcmp(built_with, d->options) == 0);
  CHECK(builds_of(ctx, "KERNEL_BEGIN;", "exp(x[1]) + max(3, (int)x[2])") ==
        1 + reloads);
  const size_t length = strlen(d->options);
  if (d->skipping && !reloads) /* Intel's ends with the build of the binary */
    CHECK(strncmp(built_with, d->options, length) == 0 &&
          strcmp(built_with + length, d->skipping) == 0);
  CHECK(builds_of(ctx, "KERNEL_BEGIN;", "native_exp(x[1])") ==
        1 + reloads + d->stores_sources);
  CHECK(strcmp(built_with, d->options) == 0);
  api->clBuildProgram = real_build;
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  gpucontext *ctx = open_opencl();
  test_places_of_a_log(ctx);
  test_headers_that_are_skipped(ctx);
  test_choice("GPUARRAY_OPENCL_OPTIMIZE", "0", "-cl-opt-disable");
  test_choice("GPUARRAY_OPENCL_FLUSH", "1", "-cl-denorms-are-zero");
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
