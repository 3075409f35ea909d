/* Elementwise expressions of the element's number (GE_INDEX), in any layout, by the
 * kernels for processors and by those for GPUs, which a processor can run, too. */
#include "device_context.h"

#include "c/array/array.h"
#include "c/device/context.h"
#include <gpuarray/elemwise.h>

#define MOST 4096

/* An array of one byte, broadcast to a shape: it has no memory for its elements. */
static GpuArray space_of(gpucontext *ctx, unsigned int nd, const size_t *dims) {
  GpuArray one = {0}, space = {0};
  CHECK_OK(GpuArray_zeros(&one, ctx, GA_BYTE, 0, NULL, GA_C_ORDER));
  CHECK_OK(GpuArray_broadcast_to(&space, &one, nd, dims));
  GpuArray_clear(&one);
  return space;
}

static GpuElemwise *numbering(gpucontext *ctx, const char *expr) {
  gpuelemwise_arg args[] = {
      {"o", GA_LONG, GE_WRITE}, {"a", GA_LONG, GE_READ}, {"i", GA_ULONG, GE_INDEX}};
  GpuElemwise *ge = NULL;
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, expr, 3, args, 0));
  return ge;
}

static size_t product(unsigned int nd, const size_t *dims) {
  size_t n = 1;
  for (unsigned int k = 0; k < nd; k++)
    n *= dims[k];
  return n;
}

/* Whether the elements in C order are 0, `step`, 2 `step`, ..., plus 3. */
static bool counts(const GpuArray *a, long step) {
  static int64_t got[MOST];
  const size_t n = ga__array_count(a);
  GpuArray c = {0};
  CHECK_OK(GpuArray_copy(&c, a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(got, n * sizeof *got, &c));
  GpuArray_clear(&c);
  for (size_t k = 0; k < n; k++)
    if (got[k] != step * (int64_t)k + 3)
      return false;
  return true;
}

/* o = i * 2 + a + 3, of an input of any order and an output of any order. */
static void test_orders(gpucontext *ctx) {
  const size_t shapes[][3] = {{7, 5, 3}, {1, 9, 2},    {64, 1, 3},  {2, 33, 17},
                              {0, 4, 2}, {1, 1, 1003}, {1024, 2, 1}};
  GpuElemwise *ge = numbering(ctx, "o = (ga_long)i * 2 + a + 3");
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int of_in = 0; of_in < 2; of_in++)
      for (int of_out = 0; of_out < 2; of_out++) {
        GpuArray space = space_of(ctx, 3, shapes[s]), a = {0}, o = {0};
        CHECK_OK(GpuArray_zeros(&a, ctx, GA_LONG, 3, shapes[s],
                                of_in ? GA_F_ORDER : GA_C_ORDER));
        CHECK_OK(GpuArray_empty(&o, ctx, GA_LONG, 3, shapes[s],
                                of_out ? GA_F_ORDER : GA_C_ORDER));
        void *args[] = {&o, &a, &space};
        CHECK_OK(GpuElemwise_call(ge, args, 0));
        CHECK(counts(&o, 2));
        GpuArray_clear(&space), GpuArray_clear(&a), GpuArray_clear(&o);
      }
  GpuElemwise_free(ge);
}

/* Views: the numbers are those of the view's own shape. */
static void test_views(gpucontext *ctx) {
  const size_t dims[] = {12, 10}, seen[] = {6, 5};
  const ssize_t starts[] = {11, 9}, stops[] = {-1, -1}, steps[] = {-2, -2};
  GpuArray whole = {0}, o = {0}, a = {0}, space = space_of(ctx, 2, seen);
  CHECK_OK(GpuArray_empty(&whole, ctx, GA_LONG, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_index(&o, &whole, starts, stops, steps));
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_LONG, 2, seen, GA_C_ORDER));
  GpuElemwise *ge = numbering(ctx, "o = (ga_long)i + a + 3");
  void *args[] = {&o, &a, &space};
  CHECK_OK(GpuElemwise_call(ge, args, 0));
  CHECK(counts(&o, 1));
  GpuElemwise_free(ge);
  GpuArray_clear(&whole), GpuArray_clear(&o), GpuArray_clear(&a),
      GpuArray_clear(&space);
}

/* A number of fewer axes, or of axes of length 1, repeats; the shape may be its own. */
static void test_broadcast(gpucontext *ctx) {
  const size_t row[] = {1, 4}, one[] = {1, 1}, dims[] = {3, 4};
  GpuArray by_row = space_of(ctx, 2, row), by_one = space_of(ctx, 2, one);
  GpuArray whole = space_of(ctx, 2, dims), a = {0};
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_LONG, 2, dims, GA_C_ORDER));
  GpuElemwise *ge = numbering(ctx, "o = (ga_long)i + a + 3");
  GpuArray *const spaces[] = {&by_row, &by_one, &whole};
  for (int s = 0; s < 3; s++) {
    int64_t got[12];
    GpuArray o = {0};
    GpuArray *outs[] = {&o};
    void *ins[] = {&a, spaces[s]};
    CHECK_OK(GpuElemwise_apply(ge, outs, ins));
    CHECK_OK(GpuArray_read(got, sizeof got, &o));
    for (int k = 0; k < 12; k++)
      CHECK(got[k] == 3 + (s == 0 ? k % 4 : s == 1 ? 0 : k));
    GpuArray_clear(&o);
  }
  GpuElemwise_free(ge);

  gpuelemwise_arg alone[] = {{"o", GA_LONG, GE_WRITE}, {"i", GA_ULONG, GE_INDEX}};
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "o = (ga_long)i + 3", 2, alone, 0));
  GpuArray o = {0};
  GpuArray *outs[] = {&o};
  void *ins[] = {&whole};
  CHECK_OK(GpuElemwise_apply(ge, outs, ins));
  CHECK(o.nd == 2 && product(2, o.dimensions) == 12 && counts(&o, 1));
  GpuElemwise_free(ge);
  GpuArray_clear(&o), GpuArray_clear(&a), GpuArray_clear(&whole),
      GpuArray_clear(&by_row), GpuArray_clear(&by_one);
}

static void test_refused(gpucontext *ctx) {
  gpuelemwise_arg args[] = {{"o", GA_LONG, GE_WRITE}, {"i", GA_LONG, GE_INDEX}};
  GpuElemwise *ge = NULL;
  CHECK_STATUS(GpuElemwise_create(&ge, ctx, NULL, "o = i", 2, args, 0),
               GA_INVALID_ERROR);
  CHECK_TEXT("index 'i'");
  args[1] = (gpuelemwise_arg){"i", GA_ULONG, GE_INDEX | GE_READ};
  CHECK_STATUS(GpuElemwise_create(&ge, ctx, NULL, "o = i", 2, args, 0),
               GA_INVALID_ERROR);
  CHECK_TEXT("GE_INDEX alone");
}

/* Floats beside 64-bit numbers of one element: a vector is one of floats. */
static void test_vectors(gpucontext *ctx) {
  enum { N = 1027 };
  static float got[N];
  const size_t dims[] = {N}, one[] = {1};
  gpuelemwise_arg args[] = {
      {"o", GA_FLOAT, GE_WRITE}, {"a", GA_LONG, GE_READ}, {"i", GA_ULONG, GE_INDEX}};
  GpuElemwise *ge = NULL;
  GpuArray a = {0}, o = {0}, space = space_of(ctx, 1, dims);
  GpuArray *outs[] = {&o};
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_LONG, 1, one, GA_C_ORDER));
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "o = i + a + 3", 3, args, 0));
  void *ins[] = {&a, &space};
  CHECK_OK(GpuElemwise_apply(ge, outs, ins));
  CHECK_OK(GpuArray_read(got, sizeof got, &o));
  for (int k = 0; k < N; k++)
    CHECK(got[k] == (float)(k + 3));
  GpuElemwise_free(ge);
  GpuArray_clear(&a), GpuArray_clear(&o), GpuArray_clear(&space);
}

int main(void) {
  gpucontext *ctx = open_device();
  const bool is_cpu = ctx->info.is_cpu;
  for (int as_gpu = 0; as_gpu < 2; as_gpu++) {
    ctx->info.is_cpu = is_cpu && !as_gpu;
    test_orders(ctx);
    test_views(ctx);
    test_broadcast(ctx);
    test_vectors(ctx);
  }
  ctx->info.is_cpu = is_cpu;
  test_refused(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  return check_result("test_elemwise_index");
}
