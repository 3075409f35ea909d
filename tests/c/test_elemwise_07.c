/* What the tests of libgpuarray 0.7 ask of elementwise expressions and of arrays, in
 * the words of its interface alone: programs written for it find it here. */
#include "device_context.h"

#include <gpuarray/array.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/util.h>

static gpucontext *ctx;

/* float16, by its bits: half[i] is the number i. */
static const uint16_t half[10] = {0x0000, 0x3C00, 0x4000, 0x4200, 0x4400,
                                  0x4500, 0x4600, 0x4700, 0x4800, 0x4880};

/* A contiguous array in `order` whose memory has these bytes. */
static void make(GpuArray *a, int typecode, unsigned int nd, const size_t *dims,
                 ga_order order, const void *memory, size_t bytes) {
  CHECK_OK(GpuArray_empty(a, ctx, typecode, nd, dims, order));
  if (memory)
    CHECK_OK(GpuArray_write(a, memory, bytes));
}

static void expect(const GpuArray *a, const void *memory, size_t bytes) {
  void *got = calloc(bytes, 1);
  CHECK_OK(GpuArray_read(got, bytes, a));
  CHECK(memcmp(got, memory, bytes) == 0);
  free(got);
}

static GpuElemwise *sum_of(int typecode, unsigned int nd, int flags) {
  gpuelemwise_arg args[3] = {
      {"a", typecode, GE_READ}, {"b", typecode, GE_READ}, {"c", typecode, GE_WRITE}};
  GpuElemwise *ge = GpuElemwise_new(ctx, "", "c = a + b", 3, args, nd, flags);
  CHECK(ge != NULL);
  return ge;
}

static int call(GpuElemwise *ge, GpuArray *a, GpuArray *b, GpuArray *c, int flags) {
  void *args[3] = {a, b, c};
  return GpuElemwise_call(ge, args, flags);
}

/* c = a + b over arrays in the given orders; freed. */
static void add(int typecode, int new_flags, unsigned int nd, const size_t *dims,
                const ga_order orders[3], const void *a_memory, const void *b_memory,
                const void *expected, size_t bytes, int flags) {
  GpuElemwise *ge = sum_of(typecode, nd, new_flags);
  GpuArray a, b, c;
  make(&a, typecode, nd, dims, orders[0], a_memory, bytes);
  make(&b, typecode, nd, dims, orders[1], b_memory, bytes);
  make(&c, typecode, nd, dims, orders[2], NULL, 0);
  CHECK_OK(call(ge, &a, &b, &c, flags));
  if (bytes > 0)
    expect(&c, expected, bytes);
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
}

static void test_contiguous(void) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5, 6}, sum[] = {5, 7, 9};
  const uint16_t halves[] = {half[5], half[7], half[9]};
  const ga_order plain[3] = {GA_C_ORDER, GA_C_ORDER, GA_C_ORDER};
  const ga_order mixed[3] = {GA_C_ORDER, GA_F_ORDER, GA_C_ORDER};
  const size_t three[] = {3}, one_three[] = {1, 3}, none[] = {0}, none_three[] = {0, 3};
  add(GA_UINT, 0, 1, three, plain, x, y, sum, sizeof x, GE_NOCOLLAPSE);
  add(GA_HALF, GE_CONVERT_F16, 1, three, plain, half + 1, half + 4, halves,
      sizeof halves, GE_NOCOLLAPSE);
  add(GA_UINT, 0, 2, one_three, mixed, x, y, sum, sizeof x, GE_NOCOLLAPSE);
  add(GA_HALF, GE_CONVERT_F16, 2, one_three, mixed, half + 1, half + 4, halves,
      sizeof halves, GE_NOCOLLAPSE);
  add(GA_UINT, 0, 1, none, plain, NULL, NULL, NULL, 0, 0);
  add(GA_UINT, 0, 2, none_three, mixed, NULL, NULL, NULL, 0, 0);
}

static void test_collapsing(void) {
  const uint32_t x[] = {1, 2, 3, 4, 5, 6}, y[] = {7, 8, 9, 10, 11, 12};
  const uint32_t sum[] = {8, 10, 12, 14, 16, 18};
  const uint32_t turned[] = {7, 10, 8, 11, 9, 12}; /* y, whose memory is in F order */
  const ga_order plain[3] = {GA_C_ORDER, GA_C_ORDER, GA_C_ORDER};
  const ga_order mixed[3] = {GA_C_ORDER, GA_F_ORDER, GA_C_ORDER};
  const size_t dims[] = {2, 3}, more[] = {1, 3, 2, 1};
  add(GA_UINT, 0, 2, dims, plain, x, y, sum, sizeof x, 0);
  uint32_t expected[6];
  for (int i = 0; i < 6; i++)
    expected[i] = x[i] + turned[i];
  add(GA_UINT, 0, 4, more, mixed, x, y, expected, sizeof x, 0);
}

static void test_offset(void) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5, 6}, sum[] = {5, 7, 9};
  GpuElemwise *ge = sum_of(GA_UINT, 2, 0);
  GpuArray a, b, c;
  make(&a, GA_UINT, 2, (const size_t[]){1, 6}, GA_C_ORDER, NULL, 0);
  a.offset += 12;
  a.dimensions[1] = 3;
  GpuArray_fix_flags(&a);
  CHECK_OK(GpuArray_write(&a, x, sizeof x));
  make(&b, GA_UINT, 2, (const size_t[]){1, 3}, GA_C_ORDER, y, sizeof y);
  make(&c, GA_UINT, 2, (const size_t[]){1, 3}, GA_C_ORDER, NULL, 0);
  CHECK_OK(call(ge, &a, &b, &c, GE_NOCOLLAPSE));
  expect(&c, sum, sizeof sum);
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
}

static void test_scalars(void) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5}, two = 2;
  const uint32_t expected[] = {9, 10, 11, 11, 12, 13};
  gpuelemwise_arg args[4] = {{"a", GA_UINT, GE_READ},
                             {"x", GA_UINT, GE_SCALAR},
                             {"b", GA_UINT, GE_READ},
                             {"c", GA_UINT, GE_WRITE}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "c = a + x * b", 4, args, 2, 0);
  GpuArray a, b, c;
  make(&a, GA_UINT, 2, (const size_t[]){1, 3}, GA_C_ORDER, x, sizeof x);
  make(&b, GA_UINT, 2, (const size_t[]){2, 1}, GA_F_ORDER, y, sizeof y);
  make(&c, GA_UINT, 2, (const size_t[]){2, 3}, GA_C_ORDER, NULL, 0);
  void *list[4] = {&a, (void *)&two, &b, &c};
  CHECK_OK(GpuElemwise_call(ge, list, GE_BROADCAST));
  expect(&c, expected, sizeof expected);
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);

  /* One of a type of its own, and an array that is read and written. */
  const int32_t whole[] = {1, 2, 1, 2};
  const float start[] = {0.0f, 0.2f, 1.1f, 1.3f}, factor = 2.0f;
  const float result[] = {2.0f, 4.2f, 3.1f, 5.3f};
  gpuelemwise_arg mixed[3] = {{"a", GA_FLOAT, GE_SCALAR},
                              {"x", GA_INT, GE_READ},
                              {"y", GA_FLOAT, GE_READ | GE_WRITE}};
  ge = GpuElemwise_new(ctx, "", "y = a * x + y", 3, mixed, 2, 0);
  make(&a, GA_INT, 2, (const size_t[]){2, 2}, GA_F_ORDER, whole, sizeof whole);
  make(&b, GA_FLOAT, 2, (const size_t[]){2, 2}, GA_F_ORDER, start, sizeof start);
  void *values[3] = {(void *)&factor, &a, &b};
  CHECK_OK(GpuElemwise_call(ge, values, 0));
  expect(&b, result, sizeof result);
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

static void test_broadcast(void) {
  const uint32_t x[] = {1, 2, 3}, y[] = {4, 5}, sum[] = {5, 6, 7, 6, 7, 8};
  GpuElemwise *ge = sum_of(GA_UINT, 2, 0);
  GpuArray a, b, c;
  make(&a, GA_UINT, 2, (const size_t[]){1, 3}, GA_C_ORDER, x, sizeof x);
  make(&b, GA_UINT, 2, (const size_t[]){2, 1}, GA_F_ORDER, y, sizeof y);
  make(&c, GA_UINT, 2, (const size_t[]){2, 3}, GA_C_ORDER, NULL, 0);
  CHECK_STATUS(GA_VALUE_ERROR, call(ge, &a, &b, &c, GE_NOCOLLAPSE));
  CHECK_OK(call(ge, &a, &b, &c, GE_NOCOLLAPSE | GE_BROADCAST));
  expect(&c, sum, sizeof sum);
  /* An output does not stretch, and the object goes on. */
  CHECK_STATUS(GA_VALUE_ERROR, call(ge, &c, &a, &b, GE_BROADCAST));
  CHECK_OK(call(ge, &a, &b, &c, GE_BROADCAST));
  GpuArray_clear(&a);
  GpuArray_clear(&b);

  const uint32_t padded[] = {5, 7, 9, 5, 7, 9}, z[] = {4, 5, 6};
  make(&a, GA_UINT, 1, (const size_t[]){3}, GA_C_ORDER, x, sizeof x);
  make(&b, GA_UINT, 2, (const size_t[]){1, 3}, GA_C_ORDER, z, sizeof z);
  CHECK_STATUS(GA_VALUE_ERROR, call(ge, &a, &b, &c, GE_BROADCAST));
  CHECK_STATUS(GA_VALUE_ERROR, call(ge, &a, &b, &c, GE_PADSHAPE));
  CHECK_OK(call(ge, &a, &b, &c, GE_BROADCAST | GE_PADSHAPE));
  expect(&c, padded, sizeof padded);
  GpuArray_clear(&c);

  /* An output of a lower rank is padded, too: (3,) is (1, 3). */
  make(&c, GA_UINT, 1, (const size_t[]){3}, GA_C_ORDER, NULL, 0);
  CHECK_STATUS(GA_VALUE_ERROR, call(ge, &a, &b, &c, 0));
  CHECK_OK(call(ge, &a, &b, &c, GE_PADSHAPE));
  expect(&c, padded, 3 * sizeof *padded);
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
}

static void test_reversed(void) {
  const uint32_t x[] = {1, 2, 3, 4, 5, 6}, sum[] = {7, 7, 7, 7, 7, 7};
  const ssize_t start = 5, stop = -1, step = -1;
  GpuElemwise *ge = sum_of(GA_UINT, 1, 0);
  GpuArray a, b, c;
  make(&a, GA_UINT, 1, (const size_t[]){6}, GA_C_ORDER, x, sizeof x);
  make(&b, GA_UINT, 1, (const size_t[]){6}, GA_C_ORDER, x, sizeof x);
  make(&c, GA_UINT, 1, (const size_t[]){6}, GA_C_ORDER, NULL, 0);
  CHECK_OK(GpuArray_index_inplace(&a, &start, &stop, &step));
  CHECK_OK(call(ge, &a, &b, &c, 0));
  expect(&c, sum, sizeof sum);
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
}

static void test_reshape_of_nothing(void) {
  GpuArray a;
  make(&a, GA_UINT, 3, (const size_t[]){24, 0, 33}, GA_C_ORDER, NULL, 0);
  CHECK_OK(GpuArray_reshape_inplace(&a, 3, (const size_t[]){0, 24, 33}, GA_ANY_ORDER));
  CHECK_OK(GpuArray_reshape_inplace(&a, 3, (const size_t[]){24, 0, 33}, GA_ANY_ORDER));
  CHECK_OK(GpuArray_reshape_inplace(&a, 3, (const size_t[]){24, 33, 0}, GA_ANY_ORDER));
  GpuArray_clear(&a);
}

/* The macros take any expression and give truth values; tests of 0.7 never clear. */
static void test_macros(void) {
  GpuArray arrays[1];
  GpuArray *a = arrays;
  make(a, GA_UINT, 2, (const size_t[]){2, 3}, GA_F_ORDER, NULL, 0);
  CHECK(GpuArray_CHKFLAGS(a, GA_F_CONTIGUOUS | GA_WRITEABLE));
  CHECK(!GpuArray_CHKFLAGS(a, GA_C_CONTIGUOUS | GA_WRITEABLE));
  CHECK(GpuArray_ISWRITEABLE(a + 0) && GpuArray_ISALIGNED(a));
  CHECK(GpuArray_ISONESEGMENT(a) && GpuArray_ISFORTRAN(a));
  CHECK(GpuArray_IS_F_CONTIGUOUS(a) && !GpuArray_IS_C_CONTIGUOUS(a));
  CHECK(GpuArray_ITEMSIZE(a) == 4);
  GpuArray_clear(a);
  GpuArray_clear(a);
}

int main(int argc, char **argv) {
  (void)argc;
  ctx = open_device();
  test_contiguous();
  test_collapsing();
  test_offset();
  test_scalars();
  test_broadcast();
  test_reversed();
  test_reshape_of_nothing();
  test_macros();
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
