/* Arrays without a device: making, flags, views, slices, reshapes, blocks to and from
 * the host. */
#include "check.h"

#include "c/array/array.h"

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }
#define STRIDES(...)                                                                   \
  (const ssize_t[]) {                                                                  \
    __VA_ARGS__                                                                        \
  }
#define LIST(...)                                                                      \
  (const ssize_t[]) {                                                                  \
    __VA_ARGS__                                                                        \
  }
#define BOTH (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS)

static GpuArray empty(gpucontext *ctx, int typecode, unsigned int nd,
                      const size_t *dims, ga_order order) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, nd, dims, order));
  return a;
}

static int order_flags(const GpuArray *a) {
  return a->flags & BOTH;
}

static bool has_shape(const GpuArray *a, unsigned int nd, const size_t *dims) {
  return a->nd == nd && memcmp(a->dimensions, dims, nd * sizeof *dims) == 0;
}

static bool has_strides(const GpuArray *a, const ssize_t *strides) {
  return memcmp(a->strides, strides, a->nd * sizeof *strides) == 0;
}

static unsigned int references(const GpuArray *a) {
  unsigned int n = 0;
  CHECK_OK(gpudata_property(a->data, GA_BUFFER_PROP_REFCNT, &n));
  return n;
}

static void test_making(gpucontext *ctx) {
  GpuArray a = empty(ctx, GA_FLOAT, 2, SHAPE(3, 4), GA_C_ORDER);
  CHECK(has_strides(&a, STRIDES(16, 4)));
  CHECK(a.flags == GA_CARRAY);
  CHECK(GpuArray_context(&a) == ctx);
  CHECK(GpuArray_error(&a, 0) == gpuarray_error_text());
  GpuArray_clear(&a);
  CHECK(a.data == NULL);
  GpuArray_clear(&a);

  a = empty(ctx, GA_DOUBLE, 2, SHAPE(3, 4), GA_F_ORDER);
  CHECK(has_strides(&a, STRIDES(8, 24)));
  CHECK(a.flags == GA_FARRAY);
  GpuArray_clear(&a);

  a = empty(ctx, GA_HALF, 0, NULL, GA_ANY_ORDER);
  CHECK(a.flags == (BOTH | GA_BEHAVED));
  GpuArray_clear(&a);

  a = empty(ctx, GA_BYTE, 2, SHAPE(1, 3), GA_C_ORDER);
  CHECK(order_flags(&a) == BOTH);
  GpuArray_clear(&a);

  a = empty(ctx, GA_INT, 3, SHAPE(2, 0, 3), GA_C_ORDER);
  CHECK(order_flags(&a) == BOTH);
  CHECK(ga__array_count(&a) == 0);
  GpuArray_clear(&a);

  int bytes[6] = {1, 1, 1, 1, 1, 1};
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_INT, 2, SHAPE(2, 3), GA_C_ORDER));
  CHECK_OK(GpuArray_read(bytes, sizeof bytes, &a));
  for (int i = 0; i < 6; i++)
    CHECK(bytes[i] == 0);
  GpuArray_clear(&a);
}

static void test_refused_making(gpucontext *ctx) {
  GpuArray a = {.offset = 77};
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_empty(&a, ctx, GA_FLOAT, 1, SHAPE(3), (ga_order)5));
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_empty(&a, ctx, GA_SIZE, 1, SHAPE(3), GA_C_ORDER));
  CHECK_STATUS(GA_XLARGE_ERROR, GpuArray_empty(&a, ctx, GA_FLOAT, 2,
                                               SHAPE(SIZE_MAX / 2, 4), GA_C_ORDER));
  CHECK_TEXT("empty");
  CHECK_STATUS(GA_XLARGE_ERROR,
               GpuArray_empty(&a, ctx, GA_DOUBLE, 1, SHAPE(SIZE_MAX / 4), GA_C_ORDER));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_empty(&a, ctx, GA_FLOAT, GA_MAX_NDIM + 1,
                                              SHAPE(1), GA_C_ORDER));
  CHECK(a.offset == 77);
}

static void test_fromdata(gpucontext *ctx) {
  GpuArray a = empty(ctx, GA_INT, 2, SHAPE(4, 6), GA_C_ORDER), v;
  CHECK_OK(GpuArray_fromdata(&v, a.data, 4, GA_INT, 2, SHAPE(4, 5), STRIDES(24, 4), 0));
  CHECK(references(&a) == 2);
  CHECK(!GpuArray_ISWRITEABLE(&v));
  CHECK(order_flags(&v) == 0);
  GpuArray_clear(&v);
  CHECK(references(&a) == 1);

  CHECK_OK(GpuArray_fromdata(&v, a.data, 92, GA_INT, 1, SHAPE(24), STRIDES(-4), 1));
  GpuArray_clear(&v);
  CHECK_OK(GpuArray_fromdata(&v, a.data, 2, GA_INT, 1, SHAPE(3), STRIDES(4), 1));
  CHECK(!GpuArray_ISALIGNED(&v));
  GpuArray_clear(&v);
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_fromdata(&v, a.data, 4, GA_INT, 1, SHAPE(24), STRIDES(4), 1));
  CHECK_TEXT("96 bytes");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_fromdata(&v, a.data, 0, GA_INT, 1, SHAPE(2), STRIDES(-4), 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fromdata(&v, a.data, 0, GA_INT, 1, SHAPE(3),
                                                 STRIDES((ssize_t)1 << 62), 1));
  CHECK_OK(GpuArray_fromdata(&v, a.data, 96, GA_INT, 1, SHAPE(0), STRIDES(4), 1));
  GpuArray_clear(&v);
  GpuArray_clear(&a);
}

/* The slice of a vector of 8 ints has these values. */
static void check_slice(gpucontext *ctx, ssize_t start, ssize_t stop, ssize_t step,
                        size_t length, ssize_t first) {
  GpuArray a = empty(ctx, GA_INT, 1, SHAPE(8), GA_C_ORDER), r;
  CHECK_OK(GpuArray_index(&r, &a, &start, &stop, &step));
  CHECK(has_shape(&r, 1, &length));
  CHECK(length == 0 || r.offset == (size_t)(4 * first));
  CHECK(length < 2 || r.strides[0] == 4 * step);
  CHECK(references(&a) == 2);
  GpuArray_clear(&r);
  GpuArray_clear(&a);
}

static void check_refused_slice(gpucontext *ctx, ssize_t start, ssize_t stop,
                                ssize_t step) {
  GpuArray a = empty(ctx, GA_INT, 1, SHAPE(8), GA_C_ORDER), r;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_index(&r, &a, &start, &stop, &step));
  CHECK_TEXT("index");
  GpuArray_clear(&a);
}

static void test_slices(gpucontext *ctx) {
  check_slice(ctx, 0, 8, 1, 8, 0);
  check_slice(ctx, 2, 7, 2, 3, 2);
  check_slice(ctx, 7, -1, -1, 8, 7);
  check_slice(ctx, 7, -1, -3, 3, 7);
  check_slice(ctx, 3, 2, 2, 0, 0);
  check_slice(ctx, 8, 8, 1, 0, 0);
  check_slice(ctx, -1, -1, -1, 0, 0);
  check_slice(ctx, 5, 6, 1000, 1, 5);
  check_refused_slice(ctx, 3, 2, 1);
  check_refused_slice(ctx, -1, 4, 1);
  check_refused_slice(ctx, -1, 0, 1);
  check_refused_slice(ctx, 8, -1, -1);
  check_refused_slice(ctx, 0, 9, 1);
  check_refused_slice(ctx, -2, 4, 1);
  check_refused_slice(ctx, 8, 0, 0);
  check_refused_slice(ctx, -1, 0, 0);

  GpuArray a = empty(ctx, GA_FLOAT, 3, SHAPE(4, 5, 6), GA_C_ORDER), r;
  CHECK_OK(GpuArray_index(&r, &a, LIST(1, 2, 5), LIST(4, 0, -1), LIST(2, 0, -2)));
  CHECK(has_shape(&r, 2, SHAPE(2, 3)));
  CHECK(has_strides(&r, STRIDES(240, -8)));
  CHECK(r.offset == 4 * (30 + 12 + 5));
  GpuArray_clear(&r);
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_index(&r, &a, NULL, LIST(4, 0, -1), LIST(2, 0, -2)));
  CHECK_OK(GpuArray_index_inplace(&a, LIST(0, 0, 0), LIST(4, 5, 1), LIST(1, 1, 1)));
  CHECK(has_shape(&a, 3, SHAPE(4, 5, 1)));
  CHECK(references(&a) == 1);
  GpuArray_clear(&a);
}

static void test_reshape(gpucontext *ctx) {
  GpuArray a = empty(ctx, GA_INT, 3, SHAPE(24, 0, 33), GA_C_ORDER), r;
  CHECK_OK(GpuArray_reshape_inplace(&a, 3, SHAPE(0, 24, 33), GA_ANY_ORDER));
  CHECK_OK(GpuArray_reshape_inplace(&a, 3, SHAPE(24, 33, 0), GA_ANY_ORDER));
  GpuArray_clear(&a);

  a = empty(ctx, GA_INT, 2, SHAPE(4, 6), GA_C_ORDER);
  CHECK_OK(GpuArray_reshape(&r, &a, 3, SHAPE(2, 2, 6), GA_C_ORDER, 1));
  CHECK(has_strides(&r, STRIDES(48, 24, 4)));
  CHECK(r.data == a.data);
  GpuArray_clear(&r);
  CHECK_STATUS(GA_COPY_ERROR, GpuArray_reshape(&r, &a, 1, SHAPE(24), GA_F_ORDER, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_reshape(&r, &a, 1, SHAPE(25), GA_C_ORDER, 0));
  CHECK_TEXT("24 elements");
  CHECK_STATUS(GA_XLARGE_ERROR,
               GpuArray_reshape(&r, &a, 2, SHAPE(SIZE_MAX, 3), GA_C_ORDER, 0));
  CHECK_OK(GpuArray_index_inplace(&a, LIST(0, 0), LIST(4, 4), LIST(1, 1)));
  CHECK_STATUS(GA_COPY_ERROR, GpuArray_reshape_inplace(&a, 1, SHAPE(16), GA_C_ORDER));
  CHECK_OK(GpuArray_reshape_inplace(&a, 3, SHAPE(4, 2, 2), GA_C_ORDER));
  CHECK(has_strides(&a, STRIDES(24, 8, 4)));
  GpuArray_clear(&a);
}

static void test_axes(gpucontext *ctx) {
  GpuArray a = empty(ctx, GA_INT, 3, SHAPE(2, 3, 4), GA_C_ORDER), r;
  CHECK_OK(GpuArray_transpose(&r, &a, NULL));
  CHECK(has_shape(&r, 3, SHAPE(4, 3, 2)));
  CHECK(order_flags(&r) == GA_F_CONTIGUOUS);
  GpuArray_clear(&r);
  const unsigned int twice[] = {0, 0, 1}, outside[] = {0, 1, 3}, good[] = {1, 2, 0};
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_transpose(&r, &a, twice));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_transpose(&r, &a, outside));
  CHECK_OK(GpuArray_transpose(&r, &a, good));
  CHECK(has_strides(&r, STRIDES(16, 4, 48)));
  GpuArray_clear(&r);

  const int pattern[] = {-1, 2, 0, -1, 1}, lacking[] = {0, 1};
  CHECK_OK(GpuArray_dimshuffle(&r, &a, 5, pattern));
  CHECK(has_shape(&r, 5, SHAPE(1, 4, 2, 1, 3)));
  GpuArray_clear(&r);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_dimshuffle(&r, &a, 2, lacking));
  CHECK_OK(GpuArray_index_inplace(&a, LIST(0, 0, 0), LIST(2, 3, 1), LIST(1, 1, 1)));
  CHECK_OK(GpuArray_dimshuffle(&r, &a, 2, lacking));
  CHECK(has_shape(&r, 2, SHAPE(2, 3)));
  GpuArray_clear(&r);

  CHECK_OK(GpuArray_broadcast_to(&r, &a, 4, SHAPE(5, 2, 3, 7)));
  CHECK(has_strides(&r, STRIDES(0, 48, 16, 0)));
  CHECK(!GpuArray_ISWRITEABLE(&r));
  GpuArray_clear(&r);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_broadcast_to(&r, &a, 3, SHAPE(2, 4, 7)));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_broadcast_to(&r, &a, 2, SHAPE(3, 7)));
  GpuArray_clear(&a);
}

static void test_share(gpucontext *ctx) {
  GpuArray a = empty(ctx, GA_INT, 1, SHAPE(8), GA_C_ORDER), low, high, other;
  other = empty(ctx, GA_INT, 1, SHAPE(8), GA_C_ORDER);
  CHECK_OK(GpuArray_index(&low, &a, LIST(3), LIST(-1), LIST(-1)));
  CHECK_OK(GpuArray_index(&high, &a, LIST(4), LIST(8), LIST(1)));
  CHECK(GpuArray_share(&a, &low) == 1);
  CHECK(GpuArray_share(&a, &a) == 1);
  CHECK(GpuArray_share(&low, &high) == 0);
  CHECK(GpuArray_share(&a, &other) == 0);
  GpuArray_clear(&low);
  GpuArray_clear(&high);
  GpuArray_clear(&other);
  GpuArray_clear(&a);
}

static void test_host(gpucontext *ctx) {
  const int values[] = {0, 1, 2, 3, 4, 5};
  int got[6] = {0};
  GpuArray a, part;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_INT, 2, SHAPE(2, 3), NULL));
  CHECK_OK(GpuArray_read(got, sizeof got, &a));
  CHECK(memcmp(got, values, sizeof got) == 0);
  got[5] = 77;
  CHECK_OK(GpuArray_read(got, sizeof got - 4, &a));
  CHECK(got[4] == 4 && got[5] == 77);
  CHECK_OK(GpuArray_write(&a, values, 8));
  CHECK_OK(GpuArray_read(NULL, 0, &a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_read(got, sizeof got + 4, &a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_write(&a, got, sizeof got + 4));
  CHECK_OK(GpuArray_index(&part, &a, LIST(0, 0), LIST(2, 2), LIST(1, 1)));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuArray_read(got, 16, &part));
  GpuArray_clear(&part);
  CHECK_OK(GpuArray_index(&part, &a, LIST(1, 0), LIST(0, 3), LIST(0, 1)));
  const int row[] = {7, 8, 9};
  CHECK_OK(GpuArray_write(&part, row, sizeof row));
  CHECK_OK(GpuArray_memset(&part, 0x11));
  CHECK_OK(GpuArray_read(got, sizeof got, &a));
  CHECK(got[2] == 2 && got[3] == 0x11111111 && got[5] == 0x11111111);
  part.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_write(&part, row, sizeof row));
  GpuArray_clear(&part);
  GpuArray_clear(&a);

  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values + 5, GA_INT, 2, SHAPE(3, 2),
                                   STRIDES(-4, -12)));
  CHECK_OK(GpuArray_read(got, sizeof got, &a));
  const int expected[] = {5, 2, 4, 1, 3, 0};
  CHECK(memcmp(got, expected, sizeof got) == 0);
  GpuArray_clear(&a);
}

static void test_copies(gpucontext *ctx) {
  const int values[] = {0, 1, 2, 3};
  int got[4] = {0};
  GpuArray a, b, low, high;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_INT, 1, SHAPE(4), NULL));
  CHECK_OK(GpuArray_copy(&b, &a, GA_C_ORDER));
  CHECK(GpuArray_share(&a, &b) == 0);
  CHECK_OK(GpuArray_read(got, sizeof got, &b));
  CHECK(memcmp(got, values, sizeof got) == 0);
  CHECK_OK(GpuArray_index(&low, &a, LIST(0), LIST(3), LIST(1)));
  CHECK_OK(GpuArray_index(&high, &a, LIST(1), LIST(4), LIST(1)));
  CHECK_OK(GpuArray_move(&high, &low));
  CHECK_OK(GpuArray_read(got, sizeof got, &a));
  CHECK(got[0] == 0 && got[1] == 0 && got[2] == 1 && got[3] == 2);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_move(&a, &low));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_setarray(&a, &low));
  CHECK_TEXT("setarray");
  CHECK_OK(GpuArray_transfer(&b, &a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_transfer(&b, &low));
  GpuArray_clear(&low);
  GpuArray_clear(&high);
  GpuArray_clear(&b);
  GpuArray_clear(&a);
}

static void test_reading_several(gpucontext *ctx) {
  GpuArray a = {0}, b = {0}, part = {0};
  char x[24], y[8], expected[24];
  memset(expected, 7, sizeof expected);
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, (size_t[]){2, 3}, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&b, ctx, GA_LONG, 0, NULL, GA_C_ORDER));
  CHECK_OK(GpuArray_memset(&a, 7));
  void *places[2] = {x, y};
  CHECK_OK(GpuArray_read_all(2, places, (const GpuArray *[]){&a, &b}));
  CHECK(memcmp(x, expected, sizeof x) == 0 && y[0] == 0 && y[7] == 0);
  CHECK_OK(GpuArray_read_all(0, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_read_all(1, NULL, (const GpuArray *[]){&a}));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_read_all(1, places, NULL));
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_read_all(1, places, (const GpuArray *[]){NULL}));
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuArray_read_all(1, (void *[]){NULL}, (const GpuArray *[]){&a}));
  CHECK_OK(GpuArray_index(&part, &a, (ssize_t[]){0, 0}, (ssize_t[]){2, 3},
                          (ssize_t[]){1, 2}));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR,
               GpuArray_read_all(1, places, (const GpuArray *[]){&part}));
  GpuArray_clear(&part);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx;
  CHECK_OK(gpucontext_open(&ctx, "null"));
  test_making(ctx);
  test_refused_making(ctx);
  test_fromdata(ctx);
  test_slices(ctx);
  test_reshape(ctx);
  test_axes(ctx);
  test_share(ctx);
  test_host(ctx);
  test_copies(ctx);
  test_reading_several(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
