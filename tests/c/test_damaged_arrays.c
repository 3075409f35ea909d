/* Arrays whose shapes, strides, offsets and flags were drawn at random, as of programs
 * that change them by hand, on a device: what an operation does not refuse lies in its
 * buffer, so that host and device touch nothing else. Every function and each kind of
 * damage by itself: REFUSES in null_arguments.h. */
#include "device_context.h"

#include <limits.h>

#include <gpuarray/array.h>
#include <gpuarray/elemwise.h>

#define SIZE 64 /* elements of a buffer */

static gpucontext *ctx;
static uint64_t state = 1;

static uint64_t draw(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

/* Mostly what is small, at times what is far. */
static ssize_t draw_stride(void) {
  const ssize_t some[] = {0, 4, -4, 16, 64, -64, 2, 252, 256, PTRDIFF_MAX, PTRDIFF_MIN};
  return some[draw(draw(4) ? 8 : sizeof some / sizeof *some)];
}

static void damage(GpuArray *a) {
  const size_t lengths[] = {0, 1, 2, 3, 4, 5, 16, 17, 64, 65, SIZE_MAX, SIZE_MAX / 2};
  const size_t offsets[] = {0, 4, 16, 1, 128, 252, 256, 260, SIZE_MAX, SIZE_MAX - 255};
  const unsigned int ranks[] = {1, 1, 2, 2, 3, 0, 33, UINT_MAX};
  a->nd = ranks[draw(draw(4) ? 6 : 8)];
  for (unsigned int i = 0; i < a->nd && i < GA_MAX_NDIM; i++) {
    a->dimensions[i] = lengths[draw(draw(4) ? 10 : 12)];
    a->strides[i] = draw_stride();
  }
  a->offset = offsets[draw(10)];
  if (draw(4))
    GpuArray_fix_flags(a);
}

/* Whether each element lies in the buffer, counted one axis after the other. */
static bool is_inside(const GpuArray *a) {
  long double low = (long double)a->offset, high = low + 4;
  for (unsigned int i = 0; i < a->nd; i++) {
    if (a->dimensions[i] == 0)
      return true;
    long double reach =
        (long double)(a->dimensions[i] - 1) * (long double)a->strides[i];
    *(reach < 0 ? &low : &high) += reach;
  }
  return low >= 0 && high <= 4 * SIZE;
}

static int accepted;

static void check_taken(int status, const GpuArray *a) {
  if (status == GA_NO_ERROR)
    accepted++;
  CHECK(status != GA_NO_ERROR || is_inside(a));
}

static void test_draws(void) {
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  GpuElemwise *ge = NULL;
  const size_t length = SIZE;
  GpuArray x, y, made;
  float host[SIZE];
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "y = x + 1", 2, args, 0));
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &length, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 1, &length, GA_C_ORDER));
  for (int i = 0; i < 4000; i++) {
    GpuArray a = x, b = y;
    damage(&a);
    void *both[2] = {&b, &a};
    int status = GpuElemwise_apply1(ge, &made, &a);
    check_taken(status, &a);
    if (status == GA_NO_ERROR)
      GpuArray_clear(&made);
    check_taken(GpuArray_memset(&a, 1), &a);
    status = GpuArray_copy(&made, &a, GA_F_ORDER);
    check_taken(status, &a);
    if (status == GA_NO_ERROR)
      GpuArray_clear(&made);
    if (a.nd < 4) {
      size_t bytes = 4;
      for (unsigned int k = 0; k < a.nd; k++)
        bytes *= a.dimensions[k];
      if (bytes <= sizeof host)
        check_taken(GpuArray_read(host, bytes, &a), &a);
    }
    b = a; /* the same shape elsewhere */
    b.data = y.data;
    damage(&b);
    check_taken(GpuElemwise_call(ge, both, GE_BROADCAST | GE_PADSHAPE), &b);
    check_taken(GpuArray_setarray(&b, &a), &b);
  }
  CHECK(accepted > 500);
  CHECK_OK(gpucontext_sync(ctx));
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuElemwise_free(ge);
}

int main(int argc, char **argv) {
  (void)argc;
  ctx = open_device();
  test_draws();
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
