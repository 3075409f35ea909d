/* Element types and the helpers of util.h, which need no device. */
#include <math.h>
#include <pthread.h>

#include "check.h"

#include "c/base/complex.h"
#include "c/base/dtype.h"
#include <gpuarray/buffer.h>
#include <gpuarray/elemwise.h>

/* ---- the table ---- */

static void test_each_type_gives_itself(void) {
  CHECK(gpuarray_get_type(0)->typecode == 0);
  CHECK(gpuarray_get_type(GA_FLOAT)->typecode == GA_FLOAT);
  CHECK(gpuarray_get_type(GA_DOUBLE2)->typecode == GA_DOUBLE2);
  CHECK(gpuarray_get_type(GA_BFLOAT16)->typecode == GA_BFLOAT16);
  CHECK(strcmp(gpuarray_get_type(GA_USHORT16)->cluda_name, "ga_ushort16") == 0);
  CHECK(gpuarray_get_type(GA_BUFFER)->size == sizeof(void *));
  CHECK(gpuarray_get_type(GA_OFFSET)->typecode == GA_OFFSET);
  CHECK(strcmp(gpuarray_get_type(GA_OFFSET)->cluda_name, "ga_size") == 0);
  CHECK(gpuarray_get_type(GA_INPUT)->typecode == GA_INPUT);
  const int unknown[] = {GA_NBASE, GA_DELIM, GA_NVEC, 22, -4, -1000, 1 << 30};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    const gpuarray_type *type = gpuarray_get_type(unknown[i]);
    CHECK(type->typecode == -1 && type->size == 0 && type->cluda_name == NULL);
  }
  CHECK(gpuarray_get_elsize(GA_INT) == 4 && gpuarray_get_elsize(GA_DELIM) == 0);
}

static void test_vectors_are_as_wide_as_they_are_named(void) {
  CHECK(GA_BYTE2 == 256 && GA_UBYTE16 == 265 && GA_ULONG16 == 295);
  CHECK(GA_FLOAT2 == 296 && GA_DOUBLE16 == 303 && GA_HALF16 == 307);
  for (int code = GA_BYTE2; code < GA_NVEC; code++) {
    const gpuarray_type *type = gpuarray_get_type(code);
    int width = atoi(strpbrk(type->cluda_name, "0123456789"));
    CHECK(type->typecode == code && type->size % (size_t)width == 0);
    CHECK_STATUS(GA_VALUE_ERROR, ga__dtype_check(code, "empty"));
  }
}

static void test_complex_and_bfloat16_are_types_of_arrays(void) {
  CHECK_OK(ga__dtype_check(GA_CFLOAT, "empty"));
  CHECK_OK(ga__dtype_check(GA_CDOUBLE, "empty"));
  CHECK_OK(ga__dtype_check(GA_BFLOAT16, "empty"));
  CHECK_STATUS(GA_VALUE_ERROR, ga__dtype_check(GA_CQUAD, "empty"));
  CHECK_TEXT("empty: complex256 is not the type of an array");
  CHECK(gpuarray_get_type(GA_CFLOAT)->align == 8);
  CHECK(gpuarray_get_type(GA_CDOUBLE)->align == 16);
  CHECK(gpuarray_get_elsize(GA_BFLOAT16) == 2);
  CHECK(ga__dtype_work(GA_BFLOAT16) == GA_FLOAT);
  CHECK(ga__dtype_kind(GA_BFLOAT16) == 'f' && ga__dtype_kind(GA_CDOUBLE) == 'c');
}

/* ---- C texts ---- */

static void check_conversion(int from, int to, const char *wanted) {
  ga_strbuf text = {0};
  ga__dtype_convert(&text, "x", from, to);
  if (strcmp(text.text, wanted) != 0) {
    check_failures++;
    fprintf(stderr, "from %d to %d: \"%s\", not \"%s\"\n", from, to, text.text, wanted);
  }
  ga__strbuf_clear(&text);
}

static void test_conversions_are_numpy_s(void) {
  check_conversion(GA_HALF, GA_BFLOAT16, "x");
  check_conversion(GA_INT, GA_HALF, "(ga_float)(x)");
  check_conversion(GA_INT, GA_BOOL, "(ga_bool)((x) != 0)");
  check_conversion(GA_FLOAT, GA_CFLOAT, "ga_complex((ga_float)(x), (ga_float)0)");
  check_conversion(GA_CDOUBLE, GA_FLOAT, "(ga_float)(x).x");
  check_conversion(GA_CFLOAT, GA_BOOL, "(ga_bool)((x).x != 0 || (x).y != 0)");
  check_conversion(GA_CFLOAT, GA_CDOUBLE,
                   "ga_complex((ga_double)(x).x, (ga_double)(x).y)");
  CHECK(strcmp(ga__dtype_load(GA_BFLOAT16), "ga_bfloat162float(%)") == 0);
  CHECK(strcmp(ga__dtype_store(GA_BFLOAT16), "ga_float2bfloat16(%)") == 0);
  CHECK(strcmp(ga__dtype_load(GA_CFLOAT), "%") == 0);
}

static void test_complex_functions_come_for_the_widths_that_are_named(void) {
  CHECK(ga__complex_widths("ga_float x;") == 0);
  CHECK(ga__complex_widths("ga_cfloat x;") == GA_HAS_CFLOAT);
  CHECK(ga__complex_widths("ga_cfloat x; ga_cdouble y;") ==
        (GA_HAS_CFLOAT | GA_HAS_CDOUBLE));
  ga_strbuf text = {0};
  ga__complex_add(&text, 0);
  CHECK(text.length == 0);
  ga__complex_add(&text, GA_HAS_CDOUBLE);
  CHECK(strstr(text.text, "#define GA_PAIR ga_cdouble") != NULL);
  CHECK(strstr(text.text, "ga_cfloat") == NULL);
  ga__strbuf_clear(&text);
}

/* ---- registered types ---- */

static gpuarray_type of_threads[4][200];

static void *register_many(void *argument) {
  gpuarray_type *types = argument;
  int ret = GA_NO_ERROR;
  for (int i = 0; i < 200; i++) {
    types[i] = (gpuarray_type){"mine", (size_t)i + 1, 1, 77};
    int code = gpuarray_register_type(&types[i], &ret);
    CHECK(code == types[i].typecode && gpuarray_get_type(code) == &types[i]);
  }
  return NULL;
}

static void test_registered_types_stay_where_they_are(void) {
  static gpuarray_type first = {"first", 12, 4, 999}, second = {"second", 3, 1, 0};
  CHECK(gpuarray_get_type(GA_ENDVEC)->typecode == -1);
  CHECK(gpuarray_get_type(513)->typecode == -1);
  int code = gpuarray_register_type(&first, NULL);
  CHECK(code == GA_ENDVEC && first.typecode == code);
  CHECK(gpuarray_get_type(code) == &first && gpuarray_get_elsize(code) == 12);
  CHECK(strcmp(ga__dtype_name(code), "first") == 0);
  int other = gpuarray_register_type(&second, NULL);
  CHECK(other != code && gpuarray_get_type(other) == &second);
  CHECK(gpuarray_get_type(code) == &first && first.typecode == code);
  CHECK(strcmp(first.cluda_name, "first") == 0);
  CHECK_STATUS(GA_VALUE_ERROR, ga__dtype_check(code, "empty"));
}

static void test_registering_from_several_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&threads[i], NULL, register_many, of_threads[i]) == 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 200; j++) {
      int code = of_threads[i][j].typecode;
      CHECK(gpuarray_get_type(code) == &of_threads[i][j]);
    }
}

static void test_a_type_that_cannot_be_registered_says_why(void) {
  static gpuarray_type type = {"full", 1, 1, 5};
  int ret = GA_NO_ERROR;
  CHECK(gpuarray_register_type(NULL, &ret) == -1 && ret == GA_VALUE_ERROR);
  while (gpuarray_register_type(&type, &ret) != -1)
    ;
  CHECK(ret == GA_XLARGE_ERROR);
  CHECK_TEXT("4096 types are registered already");
  CHECK(gpuarray_register_type(&type, NULL) == -1);
}

/* ---- util.h ---- */

static void test_flags(void) {
  CHECK(gpuarray_type_flags(-1) == 0);
  CHECK(gpuarray_type_flags(GA_FLOAT, -1) == 0);
  CHECK(gpuarray_type_flags(GA_DOUBLE, -1) == GA_USE_DOUBLE);
  CHECK(gpuarray_type_flags(GA_CFLOAT, -1) == GA_USE_COMPLEX);
  CHECK(gpuarray_type_flags(GA_CDOUBLE, -1) == (GA_USE_COMPLEX | GA_USE_DOUBLE));
  CHECK(gpuarray_type_flags(GA_HALF, -1) == (GA_USE_HALF | GA_USE_SMALL));
  CHECK(gpuarray_type_flags(GA_BFLOAT16, -1) == GA_USE_SMALL);
  CHECK(gpuarray_type_flags(GA_BYTE, -1) == GA_USE_SMALL);
  CHECK(gpuarray_type_flags(GA_SHORT, GA_DOUBLE, -1) == (GA_USE_SMALL | GA_USE_DOUBLE));
  CHECK(gpuarray_type_flags(GA_DOUBLE, GA_DOUBLE, GA_DOUBLE, -1) == GA_USE_DOUBLE);
  gpuelemwise_arg args[2] = {{"a", GA_BYTE, GE_READ}, {"b", GA_CFLOAT, GE_WRITE}};
  CHECK(gpuarray_type_flagsa(2, args) == (GA_USE_SMALL | GA_USE_COMPLEX));
  CHECK(gpuarray_type_flagsa(0, NULL) == 0);
}

static void check_collapse(unsigned int n, const size_t dims[3], ssize_t rows[2][3],
                           unsigned int wanted_nd, const size_t *wanted_dims,
                           ssize_t wanted[2][3]) {
  unsigned int nd = 3;
  size_t dim[3] = {dims[0], dims[1], dims[2]};
  ssize_t *strs[3] = {rows[0], n > 1 ? rows[1] : NULL, NULL};
  gpuarray_elemwise_collapse(n, &nd, dim, strs);
  CHECK(nd == wanted_nd);
  for (unsigned int i = 0; i < nd && i < wanted_nd; i++) {
    CHECK(dim[i] == wanted_dims[i]);
    for (unsigned int k = 0; k < n && k < 2; k++)
      CHECK(rows[k][i] == wanted[k][i]);
  }
}

static void test_collapse(void) {
  check_collapse(2, (size_t[]){50, 1, 20}, (ssize_t[2][3]){{80, 80, 4}, {80, 80, 4}}, 1,
                 (size_t[]){1000}, (ssize_t[2][3]){{4}, {4}});
  check_collapse(2, (size_t[]){50, 1, 20}, (ssize_t[2][3]){{168, 80, 4}, {80, 80, 4}},
                 2, (size_t[]){50, 20}, (ssize_t[2][3]){{168, 4}, {80, 4}});
  check_collapse(2, (size_t[]){20, 1, 50}, (ssize_t[2][3]){{4, 80, 168}, {4, 80, 80}},
                 2, (size_t[]){20, 50}, (ssize_t[2][3]){{4, 168}, {4, 80}});
  check_collapse(1, (size_t[]){1, 1, 1}, (ssize_t[2][3]){{4, 4, 4}}, 1, (size_t[]){1},
                 (ssize_t[2][3]){{4}});
  check_collapse(3, (size_t[]){2, 3, 4}, (ssize_t[2][3]){{48, 16, 4}, {48, 16, 4}}, 1,
                 (size_t[]){24}, (ssize_t[2][3]){{4}, {4}});
}

static uint16_t half_of(float f) {
  return ga_float2half(f).h;
}

static uint16_t bfloat16_of(float f) {
  return ga_float2bfloat16(f).h;
}

static void test_known_halves(void) {
  CHECK(half_of(2.9831426e-08f) == 0x0001);
  CHECK(half_of(2e-25f) == 0 && half_of(2e-26f) == 0);
  CHECK(half_of(1.0005035f) == 0x3c01 && half_of(1.0002441f) == 0x3c00);
  CHECK(half_of(65519) == 0x7bff && half_of(65520) == 0x7c00);
  CHECK(half_of(-1) == 0xbc00 && half_of(-0.0f) == 0x8000);
  CHECK(half_of(INFINITY) == 0x7c00 && half_of(-INFINITY) == 0xfc00);
  CHECK((half_of(NAN) & 0x7fff) > 0x7c00);
}

static float half_value(unsigned int code) {
  int exponent = (int)(code >> 10);
  float fraction = (float)(code & 1023);
  return exponent ? ldexpf(1024 + fraction, exponent - 25) : ldexpf(fraction, -24);
}

static float bfloat16_value(unsigned int code) {
  uint32_t bits = code << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Every value gives itself; between two neighbours the nearer one comes, and of equal
 * distances the even one. */
static void check_rounding(float value(unsigned int), uint16_t rounded(float),
                           unsigned int last) {
  int wrong = 0;
  for (unsigned int code = 0; code < last; code++) {
    float low = value(code), high = value(code + 1), middle = low + (high - low) / 2;
    unsigned int even = code & 1 ? code + 1 : code;
    wrong += rounded(low) != code || rounded(-high) != (0x8000 | (code + 1));
    wrong += rounded(middle) != even;
    wrong += rounded(nextafterf(middle, 0)) != code;
    wrong += rounded(nextafterf(middle, INFINITY)) != code + 1;
  }
  CHECK(wrong == 0);
}

static void test_rounding_is_to_the_nearest_even(void) {
  check_rounding(half_value, half_of, 0x7bff);
  check_rounding(bfloat16_value, bfloat16_of, 0x7f7f);
  CHECK(bfloat16_of(3.4e38f) == 0x7f80 && bfloat16_of(-INFINITY) == 0xff80);
  float nan = bfloat16_value(0x7f80);
  uint32_t bits = 0x7f800001; /* its upper half alone would be an infinity */
  memcpy(&nan, &bits, sizeof nan);
  CHECK((bfloat16_of(nan) & 0x7fff) > 0x7f80);
}

int main(void) {
  test_each_type_gives_itself();
  test_vectors_are_as_wide_as_they_are_named();
  test_complex_and_bfloat16_are_types_of_arrays();
  test_conversions_are_numpy_s();
  test_complex_functions_come_for_the_widths_that_are_named();
  test_registered_types_stay_where_they_are();
  test_registering_from_several_threads();
  test_a_type_that_cannot_be_registered_says_why();
  test_flags();
  test_collapse();
  test_known_halves();
  test_rounding_is_to_the_nearest_even();
  return check_result("test_types");
}
