/* take, put, add_at, masks and take1: failures on the null device, values on a device:
 * see device_context.h. */
#include "null_context.h"

#include "array_values.h"
#include "device_context.h"

#include "c/tape/record_replay.h"
#include <gpuarray/index.h>

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }
#define INDICES(...)                                                                   \
  (const GpuArray *const[]) {                                                          \
    __VA_ARGS__                                                                        \
  }

static GpuArray zeros(gpucontext *ctx, int typecode, unsigned int nd,
                      const size_t *dims) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_zeros(&a, ctx, typecode, nd, dims, GA_C_ORDER));
  return a;
}

/* Arrays that the checks of failures use. */
typedef struct fixture {
  gpucontext *ctx;
  GpuArray a, v, i, bad, mask, far, apart; /* apart: not aligned */
} fixture;

static void open_fixture(fixture *f) {
  f->ctx = open_null();
  gpucontext *other = open_null();
  f->a = zeros(f->ctx, GA_FLOAT, 2, SHAPE(4, 3));
  f->v = zeros(f->ctx, GA_FLOAT, 2, SHAPE(2, 3));
  f->i = zeros(f->ctx, GA_INT, 1, SHAPE(2));
  f->bad = zeros(f->ctx, GA_FLOAT, 1, SHAPE(2));
  f->mask = zeros(f->ctx, GA_BOOL, 1, SHAPE(4));
  f->far = zeros(other, GA_INT, 1, SHAPE(2));
  GpuArray bytes = zeros(f->ctx, GA_UBYTE, 1, SHAPE(64));
  CHECK_OK(GpuArray_fromdata(&f->apart, bytes.data, 1, GA_INT, 1, SHAPE(2), NULL, 1));
  GpuArray_clear(&bytes);
  gpucontext_deref(other);
}

static void close_fixture(fixture *f) {
  GpuArray_clear(&f->a), GpuArray_clear(&f->v), GpuArray_clear(&f->i);
  GpuArray_clear(&f->bad), GpuArray_clear(&f->mask), GpuArray_clear(&f->far);
  GpuArray_clear(&f->apart);
  gpucontext_deref(f->ctx);
}

/* A failing call must leave `out` as it was. */
static bool is_untouched(const GpuArray *out) {
  GpuArray same;
  memset(&same, 0x5a, sizeof same);
  return memcmp(out, &same, sizeof same) == 0;
}

static void test_take_failures(fixture *f) {
  GpuArray out, none = {0};
  memset(&out, 0x5a, sizeof out);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(NULL, &f->a, 1, INDICES(&f->i), 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, NULL, 1, INDICES(&f->i), 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &none, 1, INDICES(&f->i), 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &f->a, 1, NULL, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &f->a, 1, INDICES(NULL), 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &f->a, 1, INDICES(&f->i), 2, 0));
  CHECK_TEXT("got 1 index arrays from axis 2 on, more than the array has axes (2)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &f->a, 1, INDICES(&f->i), 0, 7));
  CHECK_TEXT("mode 7");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &f->a, 1, INDICES(&f->far), 0, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take(&out, &f->a, 1, INDICES(&f->bad), 0, 0));
  CHECK_TEXT("float32 (2,), expected integers");
  CHECK_STATUS(GA_INVALID_ERROR,
               GpuArray_take(&out, &f->a, 1, INDICES(&f->mask), 0, 0));
  CHECK_TEXT("GpuArray_compress");
  CHECK_STATUS(GA_UNALIGNED_ERROR,
               GpuArray_take(&out, &f->a, 1, INDICES(&f->apart), 0, 0));
  GpuArray three = zeros(f->ctx, GA_INT, 1, SHAPE(3));
  CHECK_STATUS(GA_INDEX_ERROR,
               GpuArray_take(&out, &f->a, 2, INDICES(&f->i, &three), 0, 0));
  CHECK_TEXT("do not broadcast");
  GpuArray hollow = zeros(f->ctx, GA_FLOAT, 2, SHAPE(0, 3));
  CHECK_STATUS(GA_INDEX_ERROR, GpuArray_take(&out, &hollow, 1, INDICES(&f->i), 0, 0));
  CHECK_TEXT("no elements");
  size_t ones[GA_MAX_NDIM];
  for (int k = 0; k < GA_MAX_NDIM; k++)
    ones[k] = 1;
  GpuArray deep = zeros(f->ctx, GA_INT, GA_MAX_NDIM, ones);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take(&out, &f->a, 1, INDICES(&deep), 0, 0));
  CHECK_TEXT("33 axes");
  CHECK(is_untouched(&out));
  GpuArray_clear(&three), GpuArray_clear(&hollow), GpuArray_clear(&deep);
}

static void test_put_failures(fixture *f) {
  typedef int (*put_like)(GpuArray *, unsigned int, const GpuArray *const *,
                          unsigned int, const GpuArray *, int);
  const put_like calls[] = {GpuArray_put, GpuArray_add_at};
  GpuArray sealed = f->a, odd = zeros(f->ctx, GA_FLOAT, 1, SHAPE(2));
  sealed.flags &= ~GA_WRITEABLE;
  for (int k = 0; k < 2; k++) {
    put_like call = calls[k];
    CHECK_STATUS(GA_VALUE_ERROR, call(NULL, 1, INDICES(&f->i), 0, &f->v, 0));
    CHECK_STATUS(GA_VALUE_ERROR, call(&f->a, 1, INDICES(&f->i), 0, NULL, 0));
    CHECK_STATUS(GA_VALUE_ERROR, call(&sealed, 1, INDICES(&f->i), 0, &f->v, 0));
    CHECK_TEXT("read-only");
    CHECK_STATUS(GA_VALUE_ERROR, call(&f->a, 1, INDICES(&f->i), 0, &odd, 0));
    CHECK_TEXT("do not broadcast to (2, 3)");
    CHECK_STATUS(GA_VALUE_ERROR, call(&f->a, 3, INDICES(&f->i), 0, &f->v, 0));
    CHECK_STATUS(GA_VALUE_ERROR, call(&f->a, 1, INDICES(&f->i), 0, &f->v, -1));
    CHECK_STATUS(GA_VALUE_ERROR, call(&f->a, 1, INDICES(&f->i), 0, &f->far, 0));
    CHECK_STATUS(GA_INVALID_ERROR, call(&f->a, 1, INDICES(&f->bad), 0, &f->v, 0));
    CHECK_OK(call(&f->a, 1, INDICES(&f->i), 0, &f->v, 0));
  }
  CHECK_STATUS(GA_UNALIGNED_ERROR,
               GpuArray_add_at(&f->apart, 1, INDICES(&f->i), 0, &f->i, 0));
  GpuArray_clear(&odd);
}

static void test_mask_failures(fixture *f) {
  GpuArray out, wrong = zeros(f->ctx, GA_BOOL, 1, SHAPE(3));
  GpuArray sealed = f->a, flat = zeros(f->ctx, GA_BOOL, 0, NULL);
  sealed.flags &= ~GA_WRITEABLE;
  memset(&out, 0x5a, sizeof out);
  size_t count = 77;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_count_nonzero(NULL, &f->a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_count_nonzero(&count, NULL));
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_count_nonzero(&count, &f->apart));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_nonzero(NULL, &f->a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_nonzero(&out, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_compress(NULL, &f->a, &f->mask));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_compress(&out, &f->a, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_compress(&out, &f->a, &wrong));
  CHECK_TEXT("the mask is bool (3,) and the array float32 (4, 3)");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_compress(&out, &f->a, &flat));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_compress(&out, &f->a, &f->bad));
  CHECK_TEXT("expected bool");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_put_mask(&f->a, &f->i, &f->v));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_put_mask(&sealed, &f->mask, &f->v));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_put_mask(&f->a, &f->mask, &f->i));
  CHECK_TEXT("do not broadcast");
  CHECK(is_untouched(&out) && count == 77);
  GpuArray_clear(&wrong), GpuArray_clear(&flat);
}

static void test_take1_failures(fixture *f) {
  GpuArray to = zeros(f->ctx, GA_FLOAT, 2, SHAPE(2, 3)), sealed = to, turned;
  GpuArray other = zeros(f->ctx, GA_FLOAT, 2, SHAPE(2, 2)), i = f->i, deep = f->i;
  CHECK_OK(GpuArray_transpose(&turned, &f->a, NULL));
  sealed.flags &= ~GA_WRITEABLE;
  i.dimensions[0] = 1;
  deep.nd = 2;
  deep.dimensions[1] = 1;
  deep.strides[1] = 4;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take1(NULL, &f->a, &f->i, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take1(&sealed, &f->a, &f->i, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take1(&turned, &f->a, &f->i, 0));
  CHECK_TEXT("C-contiguous");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take1(&other, &f->a, &f->i, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take1(&to, &f->a, &i, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take1(&to, &f->a, &deep, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take1(&to, &f->a, &f->bad, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_take1(&f->i, &f->a, &f->i, 0));
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_take1(&to, &f->a, &f->apart, 0));
  GpuArray_clear(&turned), GpuArray_clear(&to), GpuArray_clear(&other);
}

/* What waits for a count refuses the arrays of a plan that is being bound. */
static void test_stand_ins(fixture *f) {
  ga_tape *tape;
  GpuArray out, planned = {0};
  size_t count = 0;
  CHECK_OK(ga__tape_new(&tape, f->ctx));
  ga__tape_enter(tape);
  CHECK_OK(GpuArray_empty(&planned, f->ctx, GA_BOOL, 1, SHAPE(4), GA_C_ORDER));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuArray_count_nonzero(&count, &planned));
  CHECK_TEXT("plan");
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuArray_compress(&out, &f->a, &planned));
  GpuArray_clear(&planned);
  CHECK_OK(GpuArray_empty(&planned, f->ctx, GA_FLOAT, 2, SHAPE(2, 3), GA_C_ORDER));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuArray_take1(&planned, &f->a, &f->i, 1));
  CHECK_OK(GpuArray_take1(&planned, &f->a, &f->i, 0));
  GpuArray_clear(&planned);
  ga__tape_leave(tape);
  ga__tape_free(tape);
}

/* More indices than places, and than are summed up at once. */
static int put_and_add_many(fixture *f) {
  GpuArray many, values = {0};
  GA_TRY(GpuArray_empty(&many, f->ctx, GA_LONG, 1, SHAPE(70), GA_C_ORDER));
  int status = GpuArray_empty(&values, f->ctx, GA_FLOAT, 2, SHAPE(70, 3), GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuArray_put(&f->a, 1, INDICES(&many), 0, &values, 0);
  if (status == GA_NO_ERROR)
    status = GpuArray_add_at(&f->a, 1, INDICES(&many), 0, &values, 0);
  if (status == GA_NO_ERROR)
    status = GpuArray_add_at(&f->a, 1, INDICES(&many), 0, &values,
                             GA_INDEX_WRAP | GA_ADD_AT_ANY_ORDER);
  GpuArray_clear(&many);
  GpuArray_clear(&values);
  return status;
}

/* Each allocation fails in turn; nothing leaks and `out` stays as it was. */
static int scenario(fixture *f) {
  GpuArray out;
  GA_TRY(GpuArray_take(&out, &f->a, 1, INDICES(&f->i), 0, 0));
  GpuArray_clear(&out);
  GA_TRY(GpuArray_put(&f->a, 1, INDICES(&f->i), 0, &f->v, 0));
  GA_TRY(GpuArray_add_at(&f->a, 1, INDICES(&f->i), 0, &f->v, 0));
  GA_TRY(GpuArray_add_at(&f->i, 1, INDICES(&f->i), 0, &f->i, 0));
  GA_TRY(put_and_add_many(f));
  return GpuArray_put_mask(&f->a, &f->mask, &f->bad);
}

static void test_failing_allocations(void) {
  fixture f;
  open_fixture(&f);
  f.bad.nd = 0;
  CHECK_OK(scenario(&f));
  gpucontext_trim(f.ctx);
  int passed = 0;
  for (long n = 0; passed < 10 && n < 500; n++) {
    ga__alloc_fail_at(n);
    int status = scenario(&f);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    passed = status == GA_NO_ERROR ? passed + 1 : 0;
  }
  ga__alloc_fail_at(-1);
  CHECK(passed == 10);
  f.bad.nd = 1;
  close_fixture(&f);
}

/* ---- values ---- */

static void test_take1_wraps(gpucontext *ctx) {
  const uint32_t x[] = {1, 2, 3, 4};
  const int64_t picks[] = {1, 0, -1, -4};
  const uint32_t expected[] = {2, 1, 4, 1};
  GpuArray v = from_host(ctx, x, GA_UINT, 1, SHAPE(4));
  GpuArray i = from_host(ctx, picks, GA_LONG, 1, SHAPE(4));
  GpuArray a = zeros(ctx, GA_UINT, 1, SHAPE(4));
  CHECK_OK(GpuArray_take1(&a, &v, &i, 1));
  CHECK(has_values(&a, expected));
  /* Into another type, and in place. */
  const double wide[] = {2, 1, 4, 1};
  const uint32_t back[] = {1, 2, 1, 2};
  GpuArray d = zeros(ctx, GA_DOUBLE, 1, SHAPE(4));
  CHECK_OK(GpuArray_take1(&d, &v, &i, 1));
  CHECK(has_values(&d, wide));
  CHECK_OK(GpuArray_take1(&a, &a, &i, 1));
  CHECK(has_values(&a, back));
  GpuArray_clear(&v), GpuArray_clear(&i), GpuArray_clear(&a), GpuArray_clear(&d);
}

/* A source and indices that were made views by hand, as users of libgpuarray 0.7 do. */
static void test_take1_of_edited_structs(gpucontext *ctx) {
  const uint32_t x[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                          12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
  const uint32_t picks[] = {77, 2, 3, 0xffffffff};
  const uint32_t rows[] = {12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 18, 19, 20, 21, 22};
  GpuArray v = from_host(ctx, x, GA_UINT, 2, SHAPE(4, 6));
  GpuArray i = from_host(ctx, picks, GA_INT, 1, SHAPE(4));
  GpuArray a = zeros(ctx, GA_UINT, 2, SHAPE(3, 5));
  v.dimensions[1] = 5;
  GpuArray_fix_flags(&v);
  i.offset += 4; /* the first is out of bounds */
  i.dimensions[0] = 3;
  GpuArray_fix_flags(&i);
  CHECK_OK(GpuArray_take1(&a, &v, &i, 1));
  CHECK(has_values(&a, rows));
  GpuArray_clear(&v), GpuArray_clear(&i), GpuArray_clear(&a);
}

/* A checked call tells of its own indices and of no one else's. */
static void test_take1_checks(gpucontext *ctx) {
  const float x[] = {1, 2, 3};
  const int32_t wrong[] = {2, 3}, right[] = {2, 0};
  const float kept[] = {3, 0}, expected[] = {3, 1};
  GpuArray v = from_host(ctx, x, GA_FLOAT, 1, SHAPE(3));
  GpuArray bad = from_host(ctx, wrong, GA_INT, 1, SHAPE(2));
  GpuArray good = from_host(ctx, right, GA_INT, 1, SHAPE(2));
  GpuArray a = zeros(ctx, GA_FLOAT, 1, SHAPE(2));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take1(&a, &v, &bad, 1));
  CHECK_TEXT("Index out of bounds: 3 for an axis of length 3");
  CHECK(has_values(&a, kept));
  CHECK_OK(GpuArray_sync(&a));
  CHECK_OK(GpuArray_take1(&a, &v, &bad, 0));
  CHECK_OK(GpuArray_take1(&a, &v, &good, 1));
  CHECK_STATUS(GA_INDEX_ERROR, GpuArray_sync(&a));
  CHECK_TEXT("take1");
  CHECK_OK(GpuArray_sync(&a));
  CHECK(has_values(&a, expected));
  GpuArray hollow = zeros(ctx, GA_FLOAT, 1, SHAPE(0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_take1(&a, &hollow, &good, 1));
  CHECK_TEXT("Index out of bounds");
  GpuArray_clear(&v), GpuArray_clear(&bad), GpuArray_clear(&good);
  GpuArray_clear(&a), GpuArray_clear(&hollow);
}

static void test_picking(gpucontext *ctx) {
  const int16_t x[] = {0, 1, 2, 3, 4, 5}, taken[] = {2, 0, 2, 5, 3, 5};
  const int8_t picks[] = {2, 0, -1};
  const int16_t put[] = {-7, 1, -7, -7, 4, -7}, sums[] = {-7, 1, -6, -7, 4, -6};
  const uint8_t truth[] = {1, 0, 0, 0, 1, 1};
  const int64_t places[] = {0, 1, 1, 0, 1, 2};
  const int16_t chosen[] = {-7, 4, -6};
  const int16_t seven = -7, one = 1, three[] = {8, 9, 10};
  const int16_t ordered[] = {8, 1, -6, -7, 9, 10};
  GpuArray a = from_host(ctx, x, GA_SHORT, 2, SHAPE(2, 3)), out;
  GpuArray i = from_host(ctx, picks, GA_BYTE, 1, SHAPE(3));
  GpuArray last = from_host(ctx, picks + 2, GA_BYTE, 1, SHAPE(1));
  GpuArray v = from_host(ctx, &seven, GA_SHORT, 0, NULL);
  GpuArray unit = from_host(ctx, &one, GA_SHORT, 0, NULL);
  GpuArray mask = from_host(ctx, truth, GA_BOOL, 2, SHAPE(2, 3));
  GpuArray list = from_host(ctx, three, GA_SHORT, 1, SHAPE(3));
  CHECK_OK(GpuArray_take(&out, &a, 1, INDICES(&i), 1, GA_INDEX_RAISE));
  CHECK(out.nd == 2 && has_values(&out, taken));
  GpuArray_clear(&out);
  CHECK_OK(GpuArray_put(&a, 1, INDICES(&i), 1, &v, GA_INDEX_RAISE));
  CHECK(has_values(&a, (const int16_t[]){-7, 1, -7, -7, 4, -7}));
  CHECK(has_values(&a, put));
  CHECK_OK(GpuArray_add_at(&a, 1, INDICES(&last), 1, &unit, GA_INDEX_RAISE));
  CHECK(has_values(&a, sums));
  size_t count = 0;
  CHECK_OK(GpuArray_count_nonzero(&count, &mask));
  CHECK(count == 3);
  CHECK_OK(GpuArray_nonzero(&out, &mask));
  CHECK(out.dimensions[0] == 2 && out.dimensions[1] == 3 && has_values(&out, places));
  GpuArray_clear(&out);
  CHECK_OK(GpuArray_compress(&out, &a, &mask));
  CHECK(out.nd == 1 && has_values(&out, chosen));
  GpuArray_clear(&out);
  CHECK_OK(GpuArray_put_mask(&a, &mask, &list));
  CHECK(has_values(&a, ordered));
  GpuArray_clear(&a), GpuArray_clear(&i), GpuArray_clear(&last), GpuArray_clear(&v);
  GpuArray_clear(&unit), GpuArray_clear(&mask), GpuArray_clear(&list);
}

int main(void) {
  fixture f;
  open_fixture(&f);
  test_take_failures(&f);
  test_put_failures(&f);
  test_mask_failures(&f);
  test_take1_failures(&f);
  test_stand_ins(&f);
  close_fixture(&f);
  test_failing_allocations();
  if (check_failures)
    return check_result("index");
  gpucontext *ctx = open_device();
  test_take1_wraps(ctx);
  test_take1_of_edited_structs(ctx);
  test_take1_checks(ctx);
  test_picking(ctx);
  gpucontext_deref(ctx);
  return check_result("index");
}
