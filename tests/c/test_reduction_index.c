/* Reductions of the elements' numbers (GE_INDEX), in any layout and over any axes, by
 * the kernels for processors and by those for GPUs, which a processor can run, too. */
#include "device_context.h"

#include "c/array/array.h"
#include "c/device/context.h"
#include <gpuarray/reduction.h>

#define MOST 8192

static const gpuelemwise_arg inputs[] = {{"p", GA_ULONG, GE_INDEX},
                                         {"a", GA_LONG, GE_READ}};

/* The sum of `map`; the inputs are the number alone, or an array, too. */
static GpuReduction *sum_of(gpucontext *ctx, const char *map, unsigned int n) {
  int status = GA_NO_ERROR;
  const gpureduction_spec spec = {.size = sizeof spec,
                                  .map = map,
                                  .combine = "a + b",
                                  .identity = "0",
                                  .acc_typecode = GA_LONG,
                                  .out_typecode = GA_LONG,
                                  .n = n,
                                  .inputs = inputs};
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &status);
  CHECK_OK(status);
  return gr;
}

/* An array of one byte, broadcast to a shape: it has no memory for its elements. */
static GpuArray space_of(gpucontext *ctx, unsigned int nd, const size_t *dims) {
  GpuArray one = {0}, space = {0};
  CHECK_OK(GpuArray_zeros(&one, ctx, GA_BYTE, 0, NULL, GA_C_ORDER));
  CHECK_OK(GpuArray_broadcast_to(&space, &one, nd, dims));
  GpuArray_clear(&one);
  return space;
}

/* The sums of 3 p * p + 1 over the axes, where p are the numbers of a shape. */
static void expect(int64_t *sums, const size_t dims[3], unsigned int axes) {
  int64_t number = 0;
  const size_t kept[] = {axes & 1 ? 1 : dims[0], axes & 2 ? 1 : dims[1],
                         axes & 4 ? 1 : dims[2]};
  for (size_t i = 0; i < kept[0] * kept[1] * kept[2]; i++)
    sums[i] = 0;
  for (size_t x = 0; x < dims[0]; x++)
    for (size_t y = 0; y < dims[1]; y++)
      for (size_t z = 0; z < dims[2]; z++, number++)
        sums[((axes & 1 ? 0 : x) * kept[1] + (axes & 2 ? 0 : y)) * kept[2] +
             (axes & 4 ? 0 : z)] += 3 * number * number + 1;
}

static void check_sums(GpuReduction *gr, void *const *ins, const size_t dims[3],
                       unsigned int axes) {
  static int64_t got[MOST], expected[MOST];
  GpuArray out = {0};
  CHECK_OK(GpuReduction_apply(gr, &out, ins, axes, 0));
  const size_t n = ga__array_count(&out);
  CHECK_OK(GpuArray_read(got, n * sizeof *got, &out));
  expect(expected, dims, axes);
  for (size_t k = 0; k < n; k++)
    CHECK(got[k] == expected[k]);
  GpuArray_clear(&out);
}

static void test_axes(gpucontext *ctx) {
  const size_t shapes[][3] = {{7, 5, 3}, {1, 9, 2}, {33, 1, 70}, {2, 3, 2051}};
  GpuReduction *alone = sum_of(ctx, "3 * (ga_long)(p * p) + 1", 1);
  GpuReduction *both = sum_of(ctx, "3 * (ga_long)(p * p) + a", 2);
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (unsigned int axes = 1; axes < 8; axes++) {
      GpuArray space = space_of(ctx, 3, shapes[s]), a = {0}, one = {0};
      CHECK_OK(GpuArray_zeros(&a, ctx, GA_LONG, 3, shapes[s],
                              s % 2 ? GA_C_ORDER : GA_F_ORDER));
      CHECK_OK(GpuArray_zeros(&one, ctx, GA_LONG, 0, NULL, GA_C_ORDER));
      CHECK_OK(GpuArray_write(&one, &(int64_t){1}, sizeof(int64_t)));
      CHECK_OK(GpuArray_setarray(&a, &one));
      void *ins[] = {&space, &a}, *repeated[] = {&space, &one};
      check_sums(alone, ins, shapes[s], axes);
      check_sums(both, ins, shapes[s], axes);
      check_sums(both, repeated, shapes[s], axes);
      GpuArray_clear(&space), GpuArray_clear(&a), GpuArray_clear(&one);
    }
  GpuReduction_free(alone);
  GpuReduction_free(both);
}

static void test_refused(gpucontext *ctx) {
  gpuelemwise_arg wrong = {"p", GA_LONG, GE_INDEX};
  gpureduction_spec spec = {.size = sizeof spec,
                            .map = "p",
                            .combine = "a + b",
                            .identity = "0",
                            .acc_typecode = GA_LONG,
                            .out_typecode = GA_LONG,
                            .n = 1,
                            .inputs = &wrong};
  int status = GA_NO_ERROR;
  CHECK(GpuReduction_new(ctx, &spec, &status) == NULL);
  CHECK_STATUS(status, GA_INVALID_ERROR);
  CHECK_TEXT("the index `p` has flags 0x8 and type int64");
  wrong = (gpuelemwise_arg){"p", GA_ULONG, GE_INDEX | GE_READ};
  CHECK(GpuReduction_new(ctx, &spec, &status) == NULL);
  CHECK_TEXT("GE_INDEX alone");
}

int main(void) {
  gpucontext *ctx = open_device();
  const bool is_cpu = ctx->info.is_cpu;
  for (int as_gpu = 0; as_gpu < 2; as_gpu++) {
    ctx->info.is_cpu = is_cpu && !as_gpu;
    if (!as_gpu || ctx->info.warp > 1) /* GPUs' kernels need items side by side */
      test_axes(ctx);
  }
  ctx->info.is_cpu = is_cpu;
  test_refused(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  return check_result("test_reduction_index");
}
