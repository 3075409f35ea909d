/* The interface of libgpuarray 0.7, name by name: programs written for it compile
 * against these headers without a warning, and find every function, constant, enum and
 * struct where it was. Needs no device.
 *
 * What differs on purpose, and is shown by no line here: a GpuArray holds its
 * dimensions and strides instead of pointing to them, so that code writes
 * a->dimensions[i] as it did, and never allocates or frees them; structs are larger;
 * GA_NBASE stays 26 though 17 is bfloat16 now; GPUARRAY_ABI_VERSION is ours. */
#include <gpuarray/abi_version.h>
#include <gpuarray/array.h>
#include <gpuarray/blas.h>
#include <gpuarray/buffer.h>
#include <gpuarray/buffer_blas.h>
#include <gpuarray/buffer_collectives.h>
#include <gpuarray/collectives.h>
#include <gpuarray/config.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/error.h>
#include <gpuarray/ext_cuda.h>
#include <gpuarray/extension.h>
#include <gpuarray/kernel.h>
#include <gpuarray/types.h>
#include <gpuarray/util.h>

#include "check.h"

/* A function of exactly this type: another parameter is a warning, and so an error. */
#define SAME(result, name, ...)                                                        \
  do {                                                                                 \
    result (*volatile same)(__VA_ARGS__) = name;                                       \
    CHECK(same != NULL);                                                               \
    found++;                                                                           \
  } while (0)

static int found; /* functions */

static void test_types(void) {
  SAME(const char *, gpuarray_error_str, int);
  SAME(int, gpuarray_register_type, gpuarray_type *, int *);
  SAME(const gpuarray_type *, gpuarray_get_type, int);
  SAME(size_t, gpuarray_get_elsize, int);
  SAME(int, gpuarray_type_flags, int, ...);
  SAME(int, gpuarray_type_flagsa, unsigned int, gpuelemwise_arg *);
  SAME(void, gpuarray_elemwise_collapse, unsigned int, unsigned int *, size_t *,
       ssize_t **);
  SAME(void *, gpuarray_get_extension, const char *);
}

static void test_contexts(void) {
  SAME(int, gpu_get_platform_count, const char *, unsigned int *);
  SAME(int, gpu_get_device_count, const char *, unsigned int, unsigned int *);
  SAME(int, gpucontext_props_new, gpucontext_props **);
  SAME(int, gpucontext_props_cuda_dev, gpucontext_props *, int);
  SAME(int, gpucontext_props_opencl_dev, gpucontext_props *, int, int);
  SAME(int, gpucontext_props_sched, gpucontext_props *, int);
  SAME(int, gpucontext_props_set_single_stream, gpucontext_props *);
  SAME(int, gpucontext_props_kernel_cache, gpucontext_props *, const char *);
  SAME(int, gpucontext_props_alloc_cache, gpucontext_props *, size_t, size_t);
  SAME(void, gpucontext_props_del, gpucontext_props *);
  SAME(int, gpucontext_init, gpucontext **, const char *, gpucontext_props *);
  SAME(void, gpucontext_deref, gpucontext *);
  SAME(int, gpucontext_property, gpucontext *, int, void *);
  SAME(const char *, gpucontext_error, gpucontext *, int);
}

static void test_buffers(void) {
  SAME(gpudata *, gpudata_alloc, gpucontext *, size_t, void *, int, int *);
  SAME(void, gpudata_retain, gpudata *);
  SAME(void, gpudata_release, gpudata *);
  SAME(int, gpudata_share, gpudata *, gpudata *, int *);
  SAME(int, gpudata_move, gpudata *, size_t, gpudata *, size_t, size_t);
  SAME(int, gpudata_transfer, gpudata *, size_t, gpudata *, size_t, size_t);
  SAME(int, gpudata_read, void *, gpudata *, size_t, size_t);
  SAME(int, gpudata_write, gpudata *, size_t, const void *, size_t);
  SAME(int, gpudata_memset, gpudata *, size_t, int);
  SAME(int, gpudata_sync, gpudata *);
  SAME(int, gpudata_property, gpudata *, int, void *);
  SAME(gpucontext *, gpudata_context, gpudata *);
}

static void test_kernels(void) {
  SAME(gpukernel *, gpukernel_init, gpucontext *, unsigned int, const char **,
       const size_t *, const char *, unsigned int, const int *, int, int *, char **);
  SAME(void, gpukernel_retain, gpukernel *);
  SAME(void, gpukernel_release, gpukernel *);
  SAME(int, gpukernel_setarg, gpukernel *, unsigned int, void *);
  SAME(int, gpukernel_call, gpukernel *, unsigned int, const size_t *, const size_t *,
       size_t, void **);
  SAME(int, gpukernel_property, gpukernel *, int, void *);
  SAME(gpucontext *, gpukernel_context, gpukernel *);
  SAME(int, GpuKernel_init, GpuKernel *, gpucontext *, unsigned int, const char **,
       const size_t *, const char *, unsigned int, const int *, int, char **);
  SAME(void, GpuKernel_clear, GpuKernel *);
  SAME(gpucontext *, GpuKernel_context, GpuKernel *);
  SAME(int, GpuKernel_setarg, GpuKernel *, unsigned int, void *);
  SAME(int, GpuKernel_sched, GpuKernel *, size_t, size_t *, size_t *);
  SAME(int, GpuKernel_call, GpuKernel *, unsigned int, const size_t *, const size_t *,
       size_t, void **);
  SAME(const char *, GpuKernel_error, const GpuKernel *, int);
}

static void test_arrays(void) {
  SAME(void, GpuArray_fix_flags, GpuArray *);
  SAME(int, GpuArray_empty, GpuArray *, gpucontext *, int, unsigned int, const size_t *,
       ga_order);
  SAME(int, GpuArray_zeros, GpuArray *, gpucontext *, int, unsigned int, const size_t *,
       ga_order);
  SAME(int, GpuArray_fromdata, GpuArray *, gpudata *, size_t, int, unsigned int,
       const size_t *, const ssize_t *, int);
  SAME(int, GpuArray_view, GpuArray *, const GpuArray *);
  SAME(int, GpuArray_sync, GpuArray *);
  SAME(int, GpuArray_index, GpuArray *, const GpuArray *, const ssize_t *,
       const ssize_t *, const ssize_t *);
  SAME(int, GpuArray_index_inplace, GpuArray *, const ssize_t *, const ssize_t *,
       const ssize_t *);
  SAME(int, GpuArray_take1, GpuArray *, const GpuArray *, const GpuArray *, int);
  SAME(int, GpuArray_setarray, GpuArray *, const GpuArray *);
  SAME(int, GpuArray_reshape, GpuArray *, const GpuArray *, unsigned int,
       const size_t *, ga_order, int);
  SAME(int, GpuArray_reshape_inplace, GpuArray *, unsigned int, const size_t *,
       ga_order);
  SAME(int, GpuArray_transpose, GpuArray *, const GpuArray *, const unsigned int *);
  SAME(int, GpuArray_transpose_inplace, GpuArray *, const unsigned int *);
  SAME(void, GpuArray_clear, GpuArray *);
  SAME(int, GpuArray_share, const GpuArray *, const GpuArray *);
  SAME(gpucontext *, GpuArray_context, const GpuArray *);
  SAME(int, GpuArray_move, GpuArray *, const GpuArray *);
  SAME(int, GpuArray_write, GpuArray *, const void *, size_t);
  SAME(int, GpuArray_read, void *, size_t, const GpuArray *);
  SAME(int, GpuArray_memset, GpuArray *, int);
  SAME(int, GpuArray_copy, GpuArray *, const GpuArray *, ga_order);
  SAME(int, GpuArray_transfer, GpuArray *, const GpuArray *);
  SAME(int, GpuArray_split, GpuArray **, const GpuArray *, size_t, size_t *,
       unsigned int);
  SAME(int, GpuArray_concatenate, GpuArray *, const GpuArray **, size_t, unsigned int,
       int);
  SAME(const char *, GpuArray_error, const GpuArray *, int);
  SAME(void, GpuArray_fprintf, FILE *, const GpuArray *);
  SAME(int, GpuArray_fdump, FILE *, const GpuArray *);
  SAME(int, GpuArray_maxandargmax, GpuArray *, GpuArray *, const GpuArray *, unsigned,
       const unsigned *);
}

static void test_elementwise(void) {
  SAME(GpuElemwise *, GpuElemwise_new, gpucontext *, const char *, const char *,
       unsigned int, gpuelemwise_arg *, unsigned int, int);
  SAME(void, GpuElemwise_free, GpuElemwise *);
  SAME(int, GpuElemwise_call, GpuElemwise *, void **, int);
}

static void test_products(void) {
  SAME(int, GpuArray_rdot, GpuArray *, GpuArray *, GpuArray *, int);
  SAME(int, GpuArray_rgemv, cb_transpose, double, GpuArray *, GpuArray *, double,
       GpuArray *, int);
  SAME(int, GpuArray_rgemm, cb_transpose, cb_transpose, double, GpuArray *, GpuArray *,
       double, GpuArray *, int);
  SAME(int, GpuArray_rger, double, GpuArray *, GpuArray *, GpuArray *, int);
  SAME(int, GpuArray_rgemmBatch_3d, cb_transpose, cb_transpose, double, GpuArray *,
       GpuArray *, double, GpuArray *, int);
}

static void test_communicators(void) {
  SAME(int, gpucomm_new, gpucomm **, gpucontext *, gpucommCliqueId, int, int);
  SAME(void, gpucomm_free, gpucomm *);
  SAME(const char *, gpucomm_error, gpucontext *);
  SAME(gpucontext *, gpucomm_context, gpucomm *);
  SAME(int, gpucomm_gen_clique_id, gpucontext *, gpucommCliqueId *);
  SAME(int, gpucomm_get_count, gpucomm *, int *);
  SAME(int, gpucomm_get_rank, gpucomm *, int *);
  SAME(int, gpucomm_reduce, gpudata *, size_t, gpudata *, size_t, size_t, int, int, int,
       gpucomm *);
  SAME(int, gpucomm_all_reduce, gpudata *, size_t, gpudata *, size_t, size_t, int, int,
       gpucomm *);
  SAME(int, gpucomm_reduce_scatter, gpudata *, size_t, gpudata *, size_t, size_t, int,
       int, gpucomm *);
  SAME(int, gpucomm_broadcast, gpudata *, size_t, size_t, int, int, gpucomm *);
  SAME(int, gpucomm_all_gather, gpudata *, size_t, gpudata *, size_t, size_t, int,
       gpucomm *);
  SAME(int, GpuArray_reduce_from, const GpuArray *, int, int, gpucomm *);
  SAME(int, GpuArray_reduce, const GpuArray *, GpuArray *, int, int, gpucomm *);
  SAME(int, GpuArray_all_reduce, const GpuArray *, GpuArray *, int, gpucomm *);
  SAME(int, GpuArray_reduce_scatter, const GpuArray *, GpuArray *, int, gpucomm *);
  SAME(int, GpuArray_broadcast, GpuArray *, int, gpucomm *);
  SAME(int, GpuArray_all_gather, const GpuArray *, GpuArray *, gpucomm *);
}

/* Those of one type of matrices, whose factors are numbers of `factor`. */
#define SAME_PRODUCTS(letter, factor)                                                  \
  SAME(int, gpublas_##letter##dot, size_t, gpudata *, size_t, size_t, gpudata *,       \
       size_t, size_t, gpudata *, size_t);                                             \
  SAME(int, gpublas_##letter##gemv, cb_order, cb_transpose, size_t, size_t, factor,    \
       gpudata *, size_t, size_t, gpudata *, size_t, int, factor, gpudata *, size_t,   \
       int);                                                                           \
  SAME(int, gpublas_##letter##gemm, cb_order, cb_transpose, cb_transpose, size_t,      \
       size_t, size_t, factor, gpudata *, size_t, size_t, gpudata *, size_t, size_t,   \
       factor, gpudata *, size_t, size_t);                                             \
  SAME(int, gpublas_##letter##ger, cb_order, size_t, size_t, factor, gpudata *,        \
       size_t, int, gpudata *, size_t, int, gpudata *, size_t, size_t);                \
  SAME(int, gpublas_##letter##gemmBatch, cb_order, cb_transpose, cb_transpose, size_t, \
       size_t, size_t, factor, gpudata **, size_t *, size_t, gpudata **, size_t *,     \
       size_t, factor, gpudata **, size_t *, size_t, size_t, int);                     \
  SAME(int, gpublas_##letter##gemm3D, cb_order, cb_transpose, cb_transpose, size_t,    \
       size_t, size_t, factor, gpudata *, size_t, size_t, ssize_t, gpudata *, size_t,  \
       size_t, ssize_t, factor, gpudata *, size_t, size_t, ssize_t, size_t, int);      \
  SAME(int, gpublas_##letter##gemvBatch, cb_order, cb_transpose, size_t, size_t,       \
       factor, gpudata **, size_t *, size_t, gpudata **, size_t *, size_t, factor,     \
       gpudata **, size_t *, size_t, size_t, int);                                     \
  SAME(int, gpublas_##letter##gerBatch, cb_order, size_t, size_t, factor, gpudata **,  \
       size_t *, size_t, gpudata **, size_t *, size_t, gpudata **, size_t *, size_t,   \
       size_t, int);

static void test_blas(void) {
  SAME(int, gpublas_setup, gpucontext *);
  SAME(void, gpublas_teardown, gpucontext *);
  SAME(const char *, gpublas_error, gpucontext *);
  SAME_PRODUCTS(h, float);
  SAME_PRODUCTS(s, float);
  SAME_PRODUCTS(d, double);
}

/* ---- constants ---- */

typedef struct constant {
  long value, wanted;
  const char *name;
} constant;

#define CONSTANT(name, wanted) {name, wanted, #name}

/* Types of elements, and vectors of them. */
static const constant type_codes[] = {
    CONSTANT(GA_BUFFER, -1),    CONSTANT(GA_BOOL, 0),      CONSTANT(GA_BYTE, 1),
    CONSTANT(GA_UBYTE, 2),      CONSTANT(GA_SHORT, 3),     CONSTANT(GA_USHORT, 4),
    CONSTANT(GA_INT, 5),        CONSTANT(GA_UINT, 6),      CONSTANT(GA_LONG, 7),
    CONSTANT(GA_ULONG, 8),      CONSTANT(GA_LONGLONG, 9),  CONSTANT(GA_ULONGLONG, 10),
    CONSTANT(GA_FLOAT, 11),     CONSTANT(GA_DOUBLE, 12),   CONSTANT(GA_QUAD, 13),
    CONSTANT(GA_CFLOAT, 14),    CONSTANT(GA_CDOUBLE, 15),  CONSTANT(GA_CQUAD, 16),
    CONSTANT(GA_HALF, 23),      CONSTANT(GA_SIZE, 24),     CONSTANT(GA_SSIZE, 25),
    CONSTANT(GA_NBASE, 26),     CONSTANT(GA_DELIM, 255),   CONSTANT(GA_NVEC, 308),
    CONSTANT(GA_ENDVEC, 512),   CONSTANT(GA_BYTE2, 256),   CONSTANT(GA_UBYTE2, 257),
    CONSTANT(GA_BYTE3, 258),    CONSTANT(GA_UBYTE3, 259),  CONSTANT(GA_BYTE4, 260),
    CONSTANT(GA_UBYTE4, 261),   CONSTANT(GA_BYTE8, 262),   CONSTANT(GA_UBYTE8, 263),
    CONSTANT(GA_BYTE16, 264),   CONSTANT(GA_UBYTE16, 265), CONSTANT(GA_SHORT2, 266),
    CONSTANT(GA_USHORT2, 267),  CONSTANT(GA_SHORT3, 268),  CONSTANT(GA_USHORT3, 269),
    CONSTANT(GA_SHORT4, 270),   CONSTANT(GA_USHORT4, 271), CONSTANT(GA_SHORT8, 272),
    CONSTANT(GA_USHORT8, 273),  CONSTANT(GA_SHORT16, 274), CONSTANT(GA_USHORT16, 275),
    CONSTANT(GA_INT2, 276),     CONSTANT(GA_UINT2, 277),   CONSTANT(GA_INT3, 278),
    CONSTANT(GA_UINT3, 279),    CONSTANT(GA_INT4, 280),    CONSTANT(GA_UINT4, 281),
    CONSTANT(GA_INT8, 282),     CONSTANT(GA_UINT8, 283),   CONSTANT(GA_INT16, 284),
    CONSTANT(GA_UINT16, 285),   CONSTANT(GA_LONG2, 286),   CONSTANT(GA_ULONG2, 287),
    CONSTANT(GA_LONG3, 288),    CONSTANT(GA_ULONG3, 289),  CONSTANT(GA_LONG4, 290),
    CONSTANT(GA_ULONG4, 291),   CONSTANT(GA_LONG8, 292),   CONSTANT(GA_ULONG8, 293),
    CONSTANT(GA_LONG16, 294),   CONSTANT(GA_ULONG16, 295), CONSTANT(GA_FLOAT2, 296),
    CONSTANT(GA_FLOAT4, 297),   CONSTANT(GA_FLOAT8, 298),  CONSTANT(GA_FLOAT16, 299),
    CONSTANT(GA_DOUBLE2, 300),  CONSTANT(GA_DOUBLE4, 301), CONSTANT(GA_DOUBLE8, 302),
    CONSTANT(GA_DOUBLE16, 303), CONSTANT(GA_HALF2, 304),   CONSTANT(GA_HALF4, 305),
    CONSTANT(GA_HALF8, 306),    CONSTANT(GA_HALF16, 307)};

/* What functions return. */
static const constant statuses[] = {
    CONSTANT(GA_NO_ERROR, 0),         CONSTANT(GA_MEMORY_ERROR, 1),
    CONSTANT(GA_VALUE_ERROR, 2),      CONSTANT(GA_IMPL_ERROR, 3),
    CONSTANT(GA_INVALID_ERROR, 4),    CONSTANT(GA_UNSUPPORTED_ERROR, 5),
    CONSTANT(GA_SYS_ERROR, 6),        CONSTANT(GA_RUN_ERROR, 7),
    CONSTANT(GA_DEVSUP_ERROR, 8),     CONSTANT(GA_READONLY_ERROR, 9),
    CONSTANT(GA_WRITEONLY_ERROR, 10), CONSTANT(GA_BLAS_ERROR, 11),
    CONSTANT(GA_UNALIGNED_ERROR, 12), CONSTANT(GA_COPY_ERROR, 13),
    CONSTANT(GA_NODEV_ERROR, 14),     CONSTANT(GA_MISC_ERROR, 15),
    CONSTANT(GA_COMM_ERROR, 16),      CONSTANT(GA_XLARGE_ERROR, 17),
    CONSTANT(GA_LOAD_ERROR, 18)};

/* Flags of arrays, arguments, kernels and buffers. */
static const constant flag_values[] = {
    CONSTANT(GA_C_CONTIGUOUS, 0x0001), CONSTANT(GA_F_CONTIGUOUS, 0x0002),
    CONSTANT(GA_ALIGNED, 0x0100),      CONSTANT(GA_WRITEABLE, 0x0400),
    CONSTANT(GA_BEHAVED, 0x0500),      CONSTANT(GA_CARRAY, 0x0501),
    CONSTANT(GA_FARRAY, 0x0502),       CONSTANT(GA_ANY_ORDER, -1),
    CONSTANT(GA_C_ORDER, 0),           CONSTANT(GA_F_ORDER, 1),
    CONSTANT(GE_SCALAR, 0x1),          CONSTANT(GE_READ, 0x2),
    CONSTANT(GE_WRITE, 0x4),           CONSTANT(GE_NOADDR64, 0x1),
    CONSTANT(GE_CONVERT_F16, 0x2),     CONSTANT(GE_BROADCAST, 0x100),
    CONSTANT(GE_NOCOLLAPSE, 0x200),    CONSTANT(GE_PADSHAPE, 0x400),
    CONSTANT(GA_USE_SMALL, 0x02),      CONSTANT(GA_USE_DOUBLE, 0x04),
    CONSTANT(GA_USE_COMPLEX, 0x08),    CONSTANT(GA_USE_HALF, 0x10),
    CONSTANT(GA_USE_CUDA, 0x2000),     CONSTANT(GA_USE_OPENCL, 0x4000),
    CONSTANT(GA_CTX_SCHED_AUTO, 0),    CONSTANT(GA_CTX_SCHED_SINGLE, 1),
    CONSTANT(GA_CTX_SCHED_MULTI, 2),   CONSTANT(GA_BUFFER_READ_WRITE, 0),
    CONSTANT(GA_BUFFER_DEV, 0),        CONSTANT(GA_BUFFER_READ_ONLY, 1),
    CONSTANT(GA_BUFFER_WRITE_ONLY, 2), CONSTANT(GA_BUFFER_INIT, 4),
    CONSTANT(GA_BUFFER_HOST, 8),       CONSTANT(GA_BUFFER_MASK, 0xffff)};

/* Of contexts, buffers and kernels. */
static const constant properties[] = {
    CONSTANT(GA_CTX_PROP_DEVNAME, 1),        CONSTANT(GA_CTX_PROP_LMEMSIZE, 3),
    CONSTANT(GA_CTX_PROP_NUMPROCS, 4),       CONSTANT(GA_CTX_PROP_BIN_ID, 7),
    CONSTANT(GA_CTX_PROP_ERRBUF, 8),         CONSTANT(GA_CTX_PROP_TOTAL_GMEM, 9),
    CONSTANT(GA_CTX_PROP_FREE_GMEM, 10),     CONSTANT(GA_CTX_PROP_NATIVE_FLOAT16, 11),
    CONSTANT(GA_CTX_PROP_MAXGSIZE0, 12),     CONSTANT(GA_CTX_PROP_MAXGSIZE1, 13),
    CONSTANT(GA_CTX_PROP_MAXGSIZE2, 14),     CONSTANT(GA_CTX_PROP_MAXLSIZE0, 15),
    CONSTANT(GA_CTX_PROP_MAXLSIZE1, 16),     CONSTANT(GA_CTX_PROP_MAXLSIZE2, 17),
    CONSTANT(GA_CTX_PROP_UNIQUE_ID, 19),     CONSTANT(GA_CTX_PROP_LARGEST_MEMBLOCK, 20),
    CONSTANT(GA_BUFFER_PROP_START, 512),     CONSTANT(GA_BUFFER_PROP_CTX, 512),
    CONSTANT(GA_BUFFER_PROP_REFCNT, 513),    CONSTANT(GA_BUFFER_PROP_SIZE, 514),
    CONSTANT(GA_KERNEL_PROP_START, 1024),    CONSTANT(GA_KERNEL_PROP_CTX, 1024),
    CONSTANT(GA_KERNEL_PROP_MAXLSIZE, 1025), CONSTANT(GA_KERNEL_PROP_PREFLSIZE, 1026),
    CONSTANT(GA_KERNEL_PROP_NUMARGS, 1027),  CONSTANT(GA_KERNEL_PROP_TYPES, 1028)};

/* Of matrices, communicators and extensions. */
static const constant others[] = {CONSTANT(cb_row, 0),
                                  CONSTANT(cb_column, 1),
                                  CONSTANT(cb_c, 0),
                                  CONSTANT(cb_fortran, 1),
                                  CONSTANT(cb_left, 0),
                                  CONSTANT(cb_right, 1),
                                  CONSTANT(cb_no_trans, 0),
                                  CONSTANT(cb_trans, 1),
                                  CONSTANT(cb_conj_trans, 2),
                                  CONSTANT(cb_upper, 0),
                                  CONSTANT(cb_lower, 1),
                                  CONSTANT(GA_SUM, 0),
                                  CONSTANT(GA_PROD, 1),
                                  CONSTANT(GA_MAX, 2),
                                  CONSTANT(GA_MIN, 3),
                                  CONSTANT(GA_COMM_ID_BYTES, 128),
                                  CONSTANT(GPUARRAY_API_VERSION, 2),
                                  CONSTANT(GPUARRAY_CUDA_CTX_NOFREE, 0x10000000),
                                  CONSTANT(GPUARRAY_CUDA_WAIT_READ, 0x10000),
                                  CONSTANT(GPUARRAY_CUDA_WAIT_WRITE, 0x20000)};

static void check_constants(const constant *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (list[i].value != list[i].wanted) {
      fprintf(stderr, "%s is %ld, not %ld\n", list[i].name, list[i].value,
              list[i].wanted);
      check_failures++;
    }
}

#define CHECK_CONSTANTS(list) check_constants(list, sizeof(list) / sizeof *(list))

static void test_constants(void) {
  CHECK_CONSTANTS(type_codes);
  CHECK_CONSTANTS(statuses);
  CHECK_CONSTANTS(flag_values);
  CHECK_CONSTANTS(properties);
  CHECK_CONSTANTS(others);
  CHECK(GPUARRAY_ABI_VERSION > 3000);
}

/* ---- structs, enums and macros ---- */

static int takes_order(ga_order order) {
  return order == GA_F_ORDER;
}

static void test_structs(void) {
  gpuarray_type type = {"name", 4, 2, 77};
  gpuelemwise_arg arg = {"x", GA_FLOAT, GE_READ};
  gpucommCliqueId id;
  GpuArrayIpcMemHandle handle;
  ga_half_t half = ga_float2half(1.0f);
  GpuKernel kernel = {NULL, NULL};
  enum ga_error status = GA_NO_ERROR;
  enum GPUARRAY_TYPES code = GA_FLOAT;
  enum gpucomm_reduce_ops op = GA_MAX;
  ga_usefl use = GA_USE_HALF;
  cb_side side = cb_right;
  cb_uplo uplo = cb_lower;
  CHECK(type.size == 4 && type.align == 2 && type.typecode == 77);
  CHECK(type.cluda_name[0] == 'n' && arg.name[0] == 'x');
  CHECK(arg.typecode == GA_FLOAT && arg.flags == GE_READ);
  CHECK(sizeof id.internal == GA_COMM_ID_BYTES && sizeof handle.priv == 64);
  CHECK(half.h == 0x3c00 && sizeof half == 2);
  CHECK(kernel.k == NULL && kernel.args == NULL);
  CHECK(status == 0 && code == 11 && op == 2 && use == 16 && side == 1 && uplo == 1);
  CHECK(takes_order(GA_F_ORDER));
}

/* The fields have the names and types that code reads and writes. */
static void test_array_fields(void) {
  GpuArray a;
  memset(&a, 0, sizeof a);
  gpudata **data = &a.data;
  size_t *dimensions = a.dimensions, *offset = &a.offset;
  ssize_t *strides = a.strides;
  unsigned int *nd = &a.nd;
  int *flags = &a.flags, *typecode = &a.typecode;
  *nd = 1;
  dimensions[0] = 3;
  strides[0] = 4;
  *offset = 0;
  *typecode = GA_FLOAT;
  *flags = GA_WRITEABLE;
  GpuArray_fix_flags(&a);
  CHECK(*data == NULL && a.flags == (GA_CARRAY | GA_F_CONTIGUOUS));
  const GpuArray *readable = &a;
  int all = GpuArray_CHKFLAGS(readable, GA_CARRAY);
  CHECK(all && GpuArray_ISWRITEABLE(readable) && GpuArray_ISALIGNED(readable));
  CHECK(GpuArray_ISONESEGMENT(readable) && GpuArray_IS_C_CONTIGUOUS(readable));
  CHECK(GpuArray_IS_F_CONTIGUOUS(readable) && GpuArray_ISFORTRAN(readable));
  CHECK(GpuArray_ITEMSIZE(readable) == 4);
}

/* The functions of one type are other names of those of all. */
static void test_aliases(void) {
  typedef int product(cb_transpose, double, GpuArray *, GpuArray *, double, GpuArray *,
                      int);
  typedef int matrices(cb_transpose, cb_transpose, double, GpuArray *, GpuArray *,
                       double, GpuArray *, int);
  typedef int outer(double, GpuArray *, GpuArray *, GpuArray *, int);
  typedef int inner(GpuArray *, GpuArray *, GpuArray *, int);
  inner *dots[] = {GpuArray_hdot, GpuArray_sdot, GpuArray_ddot};
  product *gemvs[] = {GpuArray_hgemv, GpuArray_sgemv, GpuArray_dgemv};
  matrices *gemms[] = {GpuArray_hgemm, GpuArray_sgemm, GpuArray_dgemm};
  outer *gers[] = {GpuArray_hger, GpuArray_sger, GpuArray_dger};
  matrices *batches[] = {GpuArray_hgemmBatch_3d, GpuArray_sgemmBatch_3d,
                         GpuArray_dgemmBatch_3d};
  for (int i = 0; i < 3; i++) {
    CHECK(dots[i] == GpuArray_rdot && gemvs[i] == GpuArray_rgemv);
    CHECK(gemms[i] == GpuArray_rgemm && gers[i] == GpuArray_rger);
    CHECK(batches[i] == GpuArray_rgemmBatch_3d);
  }
}

static void test_extensions(void) {
  const char *names[] = {"cuda_enter",          "cuda_exit",
                         "cuda_make_ctx",       "cuda_get_stream",
                         "cuda_make_buf",       "cuda_get_sz",
                         "cuda_wait",           "cuda_record",
                         "cuda_get_ipc_handle", "cuda_open_ipc_handle",
                         "cl_make_ctx",         "cl_get_stream",
                         "cl_make_buf",         "cl_get_buf"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    CHECK(gpuarray_get_extension(names[i]) != NULL);
  CHECK(gpuarray_get_extension("cuda_") == NULL);
  CHECK(gpuarray_get_extension(NULL) == NULL);
  setup_ext_cuda();
  CHECK(cuda_enter && cuda_exit && cuda_make_ctx && cuda_get_stream && cuda_make_buf);
  CHECK(cuda_get_sz && cuda_wait && cuda_record && cuda_get_ipc_handle);
  CHECK(cuda_open_ipc_handle != NULL);
}

int main(int argc, char **argv) {
  (void)argc;
  test_types();
  test_contexts();
  test_buffers();
  test_kernels();
  test_arrays();
  test_elementwise();
  test_products();
  test_communicators();
  test_blas();
  CHECK(found == 130);
  test_constants();
  test_structs();
  test_array_fields();
  test_aliases();
  test_extensions();
  return check_result(argv[0]);
}
