/* Saved plans on a device: constants that are views of a larger buffer, and kernels
 * that others ask for by their text. */
#include "device_context.h"

#include <unistd.h>

#include <gpuarray/elemwise.h>
#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>

#define N 3

static char path[] = "/tmp/gpuarray-saved-XXXXXX";

/* y = x, by a kernel on whatever layout it has. */
static int duplicate(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  (void)data, (void)ints;
  return GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
}

/* The sum of an input (N, N) and of two constants on one buffer, each copied by a step;
 * by a function where the library could not bind it. */
static GpuPlan *build(gpucontext *ctx, const GpuArray *a, const GpuArray *b,
                      bool by_function) {
  const gpuplan_type type = {GA_FLOAT, 2};
  const gpuelemwise_arg out = {"y", GA_FLOAT, GE_WRITE};
  const gpuelemwise_arg ins[3] = {
      {"x", GA_FLOAT, GE_READ}, {"a", GA_FLOAT, GE_READ}, {"b", GA_FLOAT, GE_READ}};
  unsigned int values[3], sum;
  const int inplace = -1;
  const unsigned int stretch[3] = {0, 0, 0};
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "sum",
                           .preamble = "",
                           .expr = "y = x + a + b",
                           .n_out = 1,
                           .out_args = &out,
                           .inplace = &inplace,
                           .n_in = 3,
                           .in_args = ins,
                           .ins = values,
                           .stretch = stretch};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "views"));
  CHECK_OK(GpuPlan_input(p, &values[0], GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_constant(p, &values[1], a));
  CHECK_OK(GpuPlan_constant(p, &values[2], b));
  if (by_function)
    CHECK_OK(GpuPlan_function(p, &values[2], "duplicate", duplicate, NULL, 1,
                              &values[2], 1, &type, NULL));
  CHECK_OK(GpuPlan_elemwise(p, &sum, &step));
  CHECK_OK(GpuPlan_output(p, sum));
  return p;
}

static void check_sums(GpuPlan *p, gpucontext *ctx, const float *wanted) {
  GpuArray x = {0}, y = {0};
  float found[N * N] = {0};
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){N, N}, GA_C_ORDER));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&y}, (const GpuArray *[]){&x}, NULL));
  CHECK_OK(GpuArray_read(found, sizeof found, &y));
  for (int i = 0; i < N * N; i++)
    CHECK(found[i] == wanted[i]);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
}

/* Columns backwards from one place, and a row that repeats from another. */
static void test_constants_that_are_views(gpucontext *ctx, bool by_function) {
  float host[40], wanted[N * N];
  const size_t length = 40;
  GpuArray whole = {0};
  GpuPlan *again = NULL;
  for (int i = 0; i < 40; i++)
    host[i] = (float)i;
  CHECK_OK(GpuArray_copy_from_host(&whole, ctx, host, GA_FLOAT, 1, &length, NULL));
  GpuArray a = whole, b = whole;
  a.nd = b.nd = 2;
  a.dimensions[0] = a.dimensions[1] = b.dimensions[0] = b.dimensions[1] = N;
  a.offset = 30 * sizeof(float);
  a.strides[0] = -5 * (ssize_t)sizeof(float);
  a.strides[1] = sizeof(float);
  b.offset = 4 * sizeof(float);
  b.strides[0] = 0;
  b.strides[1] = 7 * sizeof(float);
  GpuArray_fix_flags(&a);
  GpuArray_fix_flags(&b);
  for (int i = 0; i < N * N; i++)
    wanted[i] = host[30 - 5 * (i / N) + i % N] + host[4 + 7 * (i % N)];
  GpuPlan *p = build(ctx, &a, &b, by_function);
  GpuArray_clear(&whole);
  check_sums(p, ctx, wanted);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  for (int i = 0; i < 2; i++) { /* what was loaded is saved, too */
    CHECK_OK(GpuPlan_load(&again, ctx, path));
    check_sums(again, ctx, wanted);
    CHECK_OK(GpuPlan_save(again, path));
    GpuPlan_free(again);
  }
}

/* ---- a user's kernel of a text that the context has compiled with others ---- */

enum { TEXTS = 40 }; /* more than there are threads, so that some share a program */

static void write_text(char text[256], char name[16], int number) {
  snprintf(name, 16, "shift_%d", number);
  snprintf(text, 256,
           "GA_SELF_CONTAINED\n"
           "KERNEL void %s(GLOBAL_MEM const ga_float *x, GLOBAL_MEM ga_float *y) {\n"
           "  y[LID_0] = x[LID_0] + %d;\n"
           "}\n",
           name, number);
}

static GpuKernel user_kernel(gpucontext *ctx, int number) {
  char text[256], name[16];
  const char *source = text;
  GpuKernel k;
  const int types[] = {GA_INPUT, GA_BUFFER};
  write_text(text, name, number);
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &source, NULL, name, 2, types, 0, NULL));
  return k;
}

/* Every text's kernel, one after the other. */
static int shift(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints) {
  GpuKernel *kernels = data;
  const size_t one = 1, length = N;
  (void)ints;
  int status = GpuArray_empty(outs[0], GpuArray_context(ins[0]), GA_FLOAT, 1, &length,
                              GA_C_ORDER);
  for (int i = 0; status == GA_NO_ERROR && i < TEXTS; i++) {
    void *arguments[] = {ins[0]->data, outs[0]->data};
    status = GpuKernel_call(&kernels[i], 1, &one, &length, 0, arguments);
  }
  return status;
}

static size_t made(gpucontext *ctx) {
  gpucontext_cache info = {0};
  CHECK_OK(gpucontext_cache_info(ctx, &info));
  return info.compiled + info.disk_hits;
}

static void call(GpuPlan *p, gpucontext *ctx) {
  const size_t length = N;
  float found[N];
  GpuArray x = {0}, y = {0};
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &length, GA_C_ORDER));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&y}, (const GpuArray *[]){&x}, NULL));
  CHECK_OK(GpuArray_read(found, sizeof found, &y));
  CHECK(found[0] == TEXTS - 1 && found[N - 1] == TEXTS - 1);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
}

static void test_texts_are_found_where_a_file_is_loaded(gpucontext *ctx) {
  const gpuplan_type vector = {GA_FLOAT, 1};
  unsigned int x, y;
  GpuKernel kernels[TEXTS];
  GpuPlan *earlier = NULL, *p = NULL, *loaded = NULL;
  CHECK_OK(GpuPlan_new(&earlier, ctx, "earlier"));
  for (int i = 0; i < TEXTS; i++) {
    char text[256], name[16];
    write_text(text, name, i);
    CHECK_OK(GpuPlan_needs_kernel(earlier, text, name));
  }
  CHECK_OK(GpuPlan_prepare(earlier));
  for (int i = 0; i < TEXTS; i++)
    kernels[i] = user_kernel(ctx, i);
  CHECK_OK(GpuPlan_new(&p, ctx, "later"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_function(p, &y, "shift", shift, kernels, 1, &x, 1, &vector, NULL));
  CHECK_OK(GpuPlan_output(p, y));
  call(p, ctx);
  CHECK_OK(GpuPlan_save(p, path));

  gpucontext *other = open_device();
  CHECK_OK(GpuPlan_load(&loaded, other, path));
  call(loaded, other);
  const size_t before = made(other);
  for (int i = 0; i < TEXTS; i++) {
    GpuKernel again = user_kernel(other, i);
    GpuKernel_clear(&again);
  }
  CHECK(made(other) == before);
  GpuPlan_free(loaded);
  gpucontext_deref(other);
  for (int i = 0; i < TEXTS; i++)
    GpuKernel_clear(&kernels[i]);
  GpuPlan_free(p);
  GpuPlan_free(earlier);
}

int main(void) {
  gpucontext *ctx = open_device();
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  test_constants_that_are_views(ctx, false);
  test_constants_that_are_views(ctx, true);
  test_texts_are_found_where_a_file_is_loaded(ctx);
  gpucontext_deref(ctx);
  unlink(path);
  return check_result("test_saved_plan_device");
}
