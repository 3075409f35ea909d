/* Arrays written to a file: what they are, and what they hold. */
#include "check.h"

#include "c/array/array.h"

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

/* What was written to `file`, which is closed. */
static const char *written(FILE *file) {
  static char text[4096];
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static const char *dump(const GpuArray *a) {
  FILE *file = tmpfile();
  CHECK_OK(GpuArray_fdump(file, a));
  return written(file);
}

static void check_dump(gpucontext *ctx, int typecode, const void *values,
                       const char *expected) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, typecode, 1, SHAPE(2), NULL));
  const char *got = dump(&a);
  CHECK(strcmp(got, expected) == 0);
  if (strcmp(got, expected) != 0)
    fprintf(stderr, "%s", got);
  GpuArray_clear(&a);
}

static void test_types(gpucontext *ctx) {
  check_dump(ctx, GA_BOOL, (const char[]){1, 0}, "[0] = True\n[1] = False\n");
  check_dump(ctx, GA_BYTE, (const int8_t[]){-128, 127}, "[0] = -128\n[1] = 127\n");
  check_dump(ctx, GA_UBYTE, (const uint8_t[]){0, 255}, "[0] = 0\n[1] = 255\n");
  check_dump(ctx, GA_SHORT, (const int16_t[]){-2, 2}, "[0] = -2\n[1] = 2\n");
  check_dump(ctx, GA_USHORT, (const uint16_t[]){1, 65535}, "[0] = 1\n[1] = 65535\n");
  check_dump(ctx, GA_INT, (const int32_t[]){INT32_MIN, 1},
             "[0] = -2147483648\n[1] = 1\n");
  check_dump(ctx, GA_UINT, (const uint32_t[]){UINT32_MAX, 1},
             "[0] = 4294967295\n[1] = 1\n");
  check_dump(ctx, GA_LONG, (const int64_t[]){INT64_MIN, 1},
             "[0] = -9223372036854775808\n[1] = 1\n");
  check_dump(ctx, GA_ULONG, (const uint64_t[]){UINT64_MAX, 1},
             "[0] = 18446744073709551615\n[1] = 1\n");
  check_dump(ctx, GA_HALF, (const uint16_t[]){0x3e00, 0x8001},
             "[0] = 1.5\n[1] = -5.9605e-08\n");
  check_dump(ctx, GA_BFLOAT16, (const uint16_t[]){0x3fc0, 0xff80},
             "[0] = 1.5\n[1] = -inf\n");
  check_dump(ctx, GA_FLOAT, (const float[]){1.5f, -0.0f}, "[0] = 1.5\n[1] = -0\n");
  check_dump(ctx, GA_DOUBLE, (const double[]){0.5, 1e300},
             "[0] = 0.5\n[1] = 1.0000000000000001e+300\n");
  check_dump(ctx, GA_CFLOAT, (const float[]){1, -2, 0, 0.5f},
             "[0] = 1-2j\n[1] = 0+0.5j\n");
  check_dump(ctx, GA_CDOUBLE, (const double[]){1, 2, 3, -4},
             "[0] = 1+2j\n[1] = 3-4j\n");
}

static void test_ranks(gpucontext *ctx) {
  const int32_t x[] = {1, 2, 3, 4};
  GpuArray a;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_INT, 2, SHAPE(2, 2), NULL));
  CHECK(strcmp(dump(&a), "[0, 0] = 1\n[0, 1] = 2\n[1, 0] = 3\n[1, 1] = 4\n") == 0);
  GpuArray_clear(&a);
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_INT, 0, NULL, NULL));
  CHECK(strcmp(dump(&a), "[] = 1\n") == 0);
  GpuArray_clear(&a);
  CHECK_OK(GpuArray_empty(&a, ctx, GA_INT, 2, SHAPE(2, 0), GA_C_ORDER));
  CHECK(strcmp(dump(&a), "") == 0);
  GpuArray_clear(&a);
}

static void test_what_it_is(gpucontext *ctx) {
  GpuArray a;
  CHECK_OK(GpuArray_empty(&a, ctx, GA_FLOAT, 2, SHAPE(3, 4), GA_F_ORDER));
  FILE *file = tmpfile();
  GpuArray_fprintf(file, &a);
  const char *text = written(file);
  CHECK(strstr(text, "float32 (3, 4) on null") != NULL);
  CHECK(strstr(text, "strides: (4, 12), offset: 0") != NULL);
  CHECK(strstr(text, "flags: F_CONTIGUOUS | ALIGNED | WRITEABLE") != NULL);
  CHECK(strstr(text, "of 48 bytes") != NULL);
  GpuArray_clear(&a);
  file = tmpfile();
  GpuArray_fprintf(file, &a);
  GpuArray_fprintf(file, NULL);
  GpuArray_fprintf(NULL, &a);
  CHECK(strcmp(written(file), "GpuArray <cleared>\nGpuArray <NULL>\n") == 0);
}

static void test_refused(gpucontext *ctx) {
  GpuArray a;
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 1, SHAPE(3), GA_C_ORDER));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fdump(NULL, &a));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fdump(stderr, NULL));
  FILE *full = fopen("/dev/full", "w");
  if (full) {
    setvbuf(full, NULL, _IONBF, 0);
    CHECK_STATUS(GA_SYS_ERROR, GpuArray_fdump(full, &a));
    fclose(full);
  }
  ga__alloc_fail_at(0);
  CHECK_STATUS(GA_MEMORY_ERROR, GpuArray_fdump(stderr, &a));
  GpuArray_clear(&a);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_fdump(stderr, &a));
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx;
  CHECK_OK(gpucontext_open(&ctx, "null"));
  test_types(ctx);
  test_ranks(ctx);
  test_what_it_is(ctx);
  test_refused(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
