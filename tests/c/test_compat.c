/* Programs as they were written for libgpuarray 0.7, on a device: what its tests ask,
 * what its users did, and what it did wrong.
 *
 * Where the demands of its tests are held, beside here:
 *   check_types, check_util        test_types.c
 *   check_error                    test_status.c
 *   check_buffer                   here, test_buffer.c
 *   check_array                    here, test_index.c (take1), test_elemwise_07.c
 *   check_elemwise                 test_elemwise_07.c
 *   check_reduction                test_reduction_device.c
 *   check_blas                     test_blas.c, test_blas_types.c
 *   check_(buffer_)collectives     test_collectives.c,
 * tests/gpuarray/test_collectives.py names, types, values           test_compat_names.c
 *
 * Where a defect of its is shown to be none of ours:
 *   memset beyond a view           here, test_array.c
 *   memset's pattern on OpenCL     here
 *   launches that cover too little test_compat_kernels.c, test_kernel.c
 *   32-bit positions over 4 GiB    test_elemwise_gpu.c, tests/gpuarray/test_large.py
 *   take1's flag that stays        test_index.c
 *   unknown backend                test_context.c, here
 *   dgerBatch                      test_blas.c, test_blas_types.c
 *   one setarg for two handles     test_compat_kernels.c, test_kernel.c
 *   transpose, index out of range  test_array.c
 *   type codes below -1            test_types.c
 *   conversion to bool             here, tests/gpuarray/test_array.py
 *   nan in maxandargmax            test_reduction_device.c
 *   complex kernels refused        test_compat_kernels.c
 *   the new value of atomics       test_compat_kernels.c
 *   contexts that never die        here, test_cuda.c
 *   out of memory                  test_buffer.c, test_pool.c, here
 *   lost compile logs              test_compat_kernels.c, test_kernel.c
 *   no locks                       the tests with threads, under TSan */
#include "device_context.h"

#include <math.h>

#include <gpuarray/array.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/util.h>

#include "c/device/context.h"

static gpucontext *ctx;

/* A fixture: a device by its kind and numbers, through properties. */
static void setup(void) {
  gpucontext *opened = open_device();
  const char *name = gpucontext_name(opened);
  gpucontext_props *p = NULL;
  int platform = 0, device = 0;
  CHECK_OK(gpucontext_props_new(&p));
  CHECK_OK(gpucontext_props_sched(p, GA_CTX_SCHED_AUTO));
  CHECK_OK(gpucontext_props_alloc_cache(p, 1 << 20, SIZE_MAX));
  if (sscanf(name, "cuda%d", &device) == 1) {
    CHECK_OK(gpucontext_props_cuda_dev(p, device));
    CHECK_OK(gpucontext_init(&ctx, "cuda", p));
  } else if (sscanf(name, "opencl%d:%d", &platform, &device) == 2) {
    CHECK_OK(gpucontext_props_opencl_dev(p, platform, device));
    CHECK_OK(gpucontext_init(&ctx, "opencl", p));
  } else {
    CHECK_OK(gpucontext_init(&ctx, name, p));
  }
  if (ctx == NULL)
    exit(1);
  CHECK(strcmp(gpucontext_name(ctx), name) == 0);
  gpucontext_deref(opened);
}

static void make(GpuArray *a, int typecode, unsigned int nd, const size_t *dims,
                 const void *values, size_t bytes) {
  CHECK_OK(GpuArray_empty(a, ctx, typecode, nd, dims, GA_C_ORDER));
  if (values)
    CHECK_OK(GpuArray_write(a, values, bytes));
}

/* ---- contexts ---- */

static void test_devices(void) {
  gpucontext *none = NULL;
  unsigned int platforms = 0, devices = 0;
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_init(&none, "metal", NULL));
  CHECK_TEXT("metal");
  CHECK(none == NULL);
  CHECK_STATUS(GA_INVALID_ERROR, gpu_get_platform_count("metal", &platforms));
  CHECK_STATUS(GA_INVALID_ERROR, gpu_get_device_count("metal", 0, &devices));
  CHECK_OK(gpu_get_platform_count(ctx->backend->name, &platforms));
  CHECK(platforms > 0);
  CHECK_OK(gpu_get_device_count(ctx->backend->name, 0, &devices));
  CHECK(devices > 0);
}

static void test_properties(void) {
  char name[256] = "", id[16] = "";
  const char *bin = NULL;
  size_t total = 0, available = 0, local = 0, block[3], grid[3], largest = 0;
  unsigned int processors = 0;
  int half = -1;
  gpudata *errbuf = NULL;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_DEVNAME, name));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_LMEMSIZE, &local));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_NUMPROCS, &processors));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_BIN_ID, &bin));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_TOTAL_GMEM, &total));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_FREE_GMEM, &available));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_NATIVE_FLOAT16, &half));
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_LARGEST_MEMBLOCK, &largest));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_MAXLSIZE0 + i, &block[i]));
    CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_MAXGSIZE0 + i, &grid[i]));
    CHECK(block[i] > 0 && grid[i] > 0);
  }
  CHECK(name[0] && bin && bin[0] && total > 0 && available > 0 && local > 0);
  CHECK(processors > 0 && half >= 0 && largest > 0);
  int status = gpucontext_property(ctx, GA_CTX_PROP_UNIQUE_ID, id);
  CHECK(status == GA_DEVSUP_ERROR || (status == GA_NO_ERROR && id[0]));
  CHECK_STATUS(GA_INVALID_ERROR, gpucontext_property(ctx, 5, &total));
  CHECK_STATUS(GA_VALUE_ERROR, gpucontext_property(ctx, GA_BUFFER_PROP_SIZE, &total));
  /* Kernels find zeros there. */
  int64_t word = 7;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_ERRBUF, &errbuf));
  CHECK_OK(gpudata_read(&word, errbuf, 0, sizeof word));
  CHECK(word == 0 && gpudata_context(errbuf) == ctx);
}

/* ---- check_buffer ---- */

static unsigned int references(gpudata *b) {
  unsigned int n = 0;
  CHECK_OK(gpudata_property(b, GA_BUFFER_PROP_REFCNT, &n));
  return n;
}

static void test_buffers(void) {
  const int32_t values[8] = {0, 1, 2, 3, 4, 5, 6, 7}, more[2] = {10, 11};
  const size_t sizes[] = {0, 1, 1024};
  int32_t got[16] = {0};
  int ret = GA_NO_ERROR;
  for (int i = 0; i < 3; i++) {
    gpudata *b = gpudata_alloc(ctx, sizes[i], NULL, 0, &ret);
    CHECK(b != NULL && references(b) == 1);
    gpudata_release(b);
  }
  gpudata *a = gpudata_alloc(ctx, sizeof values, NULL, 0, &ret);
  gpudata *b = gpudata_alloc(ctx, 2 * sizeof values, NULL, 0, &ret);
  gpudata_retain(a);
  CHECK(references(a) == 2 && references(b) == 1);
  gpudata_release(a);
  CHECK(references(a) == 1);
  CHECK(gpudata_share(a, b, &ret) == 0 && gpudata_share(a, a, &ret) == 1);
  CHECK_OK(gpudata_write(a, 0, values, sizeof values));
  CHECK_OK(gpudata_read(got, a, 4, sizeof values - 4));
  CHECK(memcmp(got, values + 1, sizeof values - 4) == 0);
  CHECK_OK(gpudata_memset(b, 0, 0));
  CHECK_OK(gpudata_move(b, sizeof values, a, 0, sizeof values));
  CHECK_OK(gpudata_move(b, 0, a, 4, 8));
  CHECK_OK(gpudata_write(a, 8, more, sizeof more));
  CHECK_OK(gpudata_read(got, b, 0, sizeof got));
  CHECK(got[0] == 1 && got[1] == 2 && got[2] == 0 && got[8] == 0 && got[15] == 7);
  CHECK_OK(gpudata_read(got, a, 0, sizeof values));
  CHECK(got[1] == 1 && got[2] == 10 && got[3] == 11 && got[4] == 4);
  CHECK_OK(gpudata_transfer(b, 0, a, 0, sizeof values));
  CHECK_OK(gpudata_sync(b));
  gpudata_release(a);
  gpudata_release(b);
}

/* Each byte, and nothing before the place; of any size, also one that is a multiple of
 * four. */
static void test_memset(void) {
  unsigned char got[64];
  for (size_t size = 1; size <= sizeof got; size += size < 20 ? 1 : 11) {
    gpudata *b = gpudata_alloc(ctx, size, NULL, 0, NULL);
    CHECK_OK(gpudata_memset(b, 0, 0x25));
    CHECK_OK(gpudata_memset(b, size / 2, 0x1a7)); /* its low byte */
    CHECK_OK(gpudata_read(got, b, 0, size));
    for (size_t i = 0; i < size; i++)
      CHECK(got[i] == (i < size / 2 ? 0x25 : 0xa7));
    gpudata_release(b);
  }
  GpuArray a, view;
  const uint8_t zeros[12] = {0};
  make(&a, GA_UBYTE, 1, (const size_t[]){12}, zeros, sizeof zeros);
  CHECK_OK(GpuArray_view(&view, &a));
  view.offset += 3;
  view.dimensions[0] = 4;
  GpuArray_fix_flags(&view);
  CHECK_OK(GpuArray_memset(&view, -1));
  CHECK_OK(GpuArray_read(got, 12, &a));
  for (int i = 0; i < 12; i++)
    CHECK(got[i] == (i >= 3 && i < 7 ? 0xff : 0));
  GpuArray_clear(&view);
  GpuArray_clear(&a);
}

/* ---- check_array ---- */

/* Arrays whose rank, dimensions and strides are set by hand. */
static void test_take1(void) {
  uint32_t x[24], got[72];
  const int64_t picks[12] = {0, 1, 2, 3, -1, -2, -3, -4, 3, 2, 1, 0};
  GpuArray v, i, a;
  for (uint32_t k = 0; k < 24; k++)
    x[k] = 100 + k;
  make(&v, GA_UINT, 1, (const size_t[]){24}, x, sizeof x);
  CHECK_OK(GpuArray_reshape_inplace(&v, 3, (const size_t[]){4, 2, 3}, GA_ANY_ORDER));
  make(&i, GA_LONG, 1, (const size_t[]){12}, picks, sizeof picks);
  make(&a, GA_UINT, 3, (const size_t[]){12, 2, 3}, NULL, 0);
  CHECK_OK(GpuArray_take1(&a, &v, &i, 1));
  CHECK_OK(GpuArray_read(got, sizeof got, &a));
  for (int k = 0; k < 72; k++)
    CHECK(got[k] == x[(picks[k / 6] & 3) * 6 + k % 6]);
  GpuArray_clear(&a);

  v.nd = 1; /* as a vector of the first four */
  v.dimensions[0] = 4;
  v.strides[0] = 4;
  GpuArray_fix_flags(&v);
  i.dimensions[0] = 2;
  i.offset += 24; /* 3, -1 */
  GpuArray_fix_flags(&i);
  make(&a, GA_UINT, 1, (const size_t[]){2}, NULL, 0);
  CHECK_OK(GpuArray_take1(&a, &v, &i, 1));
  CHECK_OK(GpuArray_read(got, 8, &a));
  CHECK(got[0] == 103 && got[1] == 103);
  GpuArray_clear(&a);
  GpuArray_clear(&i);
  GpuArray_clear(&v);
}

/* Every value that is not zero is 1. */
static void test_conversion_to_bool(void) {
  const float x[] = {0, 2, 0.5f, -1, -0.0f, NAN, INFINITY, 256};
  const uint8_t expected[] = {0, 1, 1, 1, 0, 1, 1, 1};
  uint8_t got[8];
  GpuArray a, b;
  make(&a, GA_FLOAT, 1, (const size_t[]){8}, x, sizeof x);
  make(&b, GA_BOOL, 1, (const size_t[]){8}, NULL, 0);
  CHECK_OK(GpuArray_move(&b, &a));
  CHECK_OK(GpuArray_read(got, sizeof got, &b));
  CHECK(memcmp(got, expected, sizeof got) == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

/* ---- memory ---- */

/* More than the device has is one clear status, and what comes after goes on. */
static void test_beyond_the_device(void) {
  const size_t far[] = {(size_t)1 << 50}, dims[] = {4};
  int ret = GA_NO_ERROR;
  GpuArray a = {.nd = 77};
  CHECK(gpudata_alloc(ctx, (size_t)1 << 50, NULL, 0, &ret) == NULL);
  CHECK(ret == GA_MEMORY_ERROR);
  CHECK_STATUS(GA_MEMORY_ERROR, GpuArray_empty(&a, ctx, GA_FLOAT, 1, far, GA_C_ORDER));
  CHECK_STATUS(GA_MEMORY_ERROR, GpuArray_zeros(&a, ctx, GA_FLOAT, 1, far, GA_C_ORDER));
  CHECK(a.nd == 77);
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 1, dims, GA_C_ORDER));
  GpuArray_clear(&a);
}

/* A context that compiled and used kernels ends with what it gave out: with the last
 * array, although it was given up before. */
static void test_contexts_die(void) {
  GpuArray a, b;
  const size_t dims[] = {8};
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  gpucontext *own = NULL;
  CHECK_OK(gpucontext_open(&own, gpucontext_name(ctx)));
  CHECK_OK(GpuArray_zeros(&a, own, GA_FLOAT, 1, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_copy(&b, &a, GA_C_ORDER));
  GpuElemwise *ge = GpuElemwise_new(own, "", "y = x + 1", 2, args, 1, 0);
  void *list[] = {&b, &a};
  CHECK_OK(GpuElemwise_call(ge, list, 0));
  GpuElemwise_free(ge);
  GpuArray_clear(&a);
  unsigned int before = atomic_load(&own->life.references);
  gpucontext_deref(own);
  CHECK(before == 2 && atomic_load(&own->life.references) == 1);
  float got[8];
  CHECK_OK(GpuArray_read(got, sizeof got, &b));
  CHECK(got[7] == 1);
  GpuArray_clear(&b); /* the leak checker says whether all of it is gone */
}

int main(int argc, char **argv) {
  (void)argc;
  setup();
  test_devices();
  test_properties();
  test_buffers();
  test_memset();
  test_take1();
  test_conversion_to_bool();
  test_beyond_the_device();
  test_contexts_die();
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
