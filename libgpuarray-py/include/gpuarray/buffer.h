/* Contexts (open devices), buffers (device memory) and kernels (compiled programs).
 *
 * Ownership: `gpucontext`, `gpudata` and `gpukernel` carry atomic reference counts; a
 * buffer and a kernel keep their context alive. Waiting: work is queued and the call
 * returns; only gpudata_read, gpudata_sync and gpucontext_sync wait. Failure: a status,
 * or NULL with the status in *ret; outputs are untouched and nothing is kept. Threads:
 * every function here may be called from several threads at once, except
 * gpukernel_setarg, whose kernel belongs to one thread at a time.
 *
 * Kernel sources: if the environment variable GPUARRAY_DUMP_KERNELS names a folder, the
 * source of each kernel that a context loads, the library's own or a user's, is also
 * written there, without the prelude. A context of OpenCL that is opened while the
 * environment variable GPUARRAY_OPENCL_OPTIMIZE is 0 compiles them without
 * optimisation (-cl-opt-disable), for debuggers and tests; while GPUARRAY_OPENCL_FLUSH
 * is 1, kernels may take subnormal floats as 0 and give 0 for them
 * (-cl-denorms-are-zero), which NumPy does not do and processors are faster at. */
#ifndef GPUARRAY_BUFFER_H
#define GPUARRAY_BUFFER_H

#include <stdarg.h> /* libgpuarray 0.7 brought both */
#include <stdio.h>

#include <gpuarray/config.h>
#include <gpuarray/error.h>
#include <gpuarray/types.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpucontext gpucontext;
typedef struct _gpudata gpudata;
typedef struct _gpukernel gpukernel;
typedef struct _gpucontext_props gpucontext_props;

/* ---- devices and contexts ---- */

/* Counts the platforms of a backend ("cuda" or "opencl"). */
int gpu_get_platform_count(const char *name, unsigned int *platcount);
/* Counts the devices of a platform of a backend. */
int gpu_get_device_count(const char *name, unsigned int platform,
                         unsigned int *devcount);

/* Makes the properties of a context to open, all at their defaults. The caller owns
 * *res until gpucontext_init takes it. */
int gpucontext_props_new(gpucontext_props **res);
/* Sets the CUDA device to open; -1, the default, is the first that works. */
int gpucontext_props_cuda_dev(gpucontext_props *p, int devno);
/* Sets the OpenCL platform and device to open. */
int gpucontext_props_opencl_dev(gpucontext_props *p, int platno, int devno);
/* Sets how the host waits: GA_CTX_SCHED_AUTO, GA_CTX_SCHED_SINGLE (spin) or
 * GA_CTX_SCHED_MULTI (sleep); else GA_INVALID_ERROR. */
int gpucontext_props_sched(gpucontext_props *p, int sched);
/* Restricts the context to its default queue: gpuqueue_new then fails. */
int gpucontext_props_set_single_stream(gpucontext_props *p);
/* Sets the folder of the kernel cache; `path` is copied. */
int gpucontext_props_kernel_cache(gpucontext_props *p, const char *path);
/* Sets the memory pool's initial size and its limit of bytes, live and cached
 * (SIZE_MAX: none). With `max` 0 nothing is cached: each release returns memory to the
 * device, which waits. GA_VALUE_ERROR if initial is above max. */
int gpucontext_props_alloc_cache(gpucontext_props *p, size_t initial, size_t max);
/* Frees properties that no gpucontext_init took. NULL is allowed. */
void gpucontext_props_del(gpucontext_props *p);

#define GA_CTX_SCHED_AUTO 0
#define GA_CTX_SCHED_SINGLE 1
#define GA_CTX_SCHED_MULTI 2

/* Opens a device of the backend `name` ("cuda", "opencl", "null"). Takes `props`, which
 * may be NULL, in every case. The caller owns *res, which is unchanged on failure. */
int gpucontext_init(gpucontext **res, const char *name, gpucontext_props *props);

/* Opens a device by name: "cuda0", "cuda", "opencl0:0", "opencl", "null". NULL or ""
 * means the environment variable GPUARRAY_DEVICE, else the first of: CUDA, a discrete
 * OpenCL GPU, any OpenCL GPU, an OpenCL CPU. "null" is a device for tests that holds
 * arrays and computes nothing: each launch succeeds and writes nothing. The caller owns
 * *res. */
int gpucontext_open(gpucontext **res, const char *name);

/* Adds a reference to the context. NULL is allowed. */
void gpucontext_retain(gpucontext *ctx);
/* Drops a reference; the last one waits for the device and closes it. NULL is allowed.
 */
void gpucontext_deref(gpucontext *ctx);

/* Waits until all work queued on the context is done; reports its failures. */
int gpucontext_sync(gpucontext *ctx);
/* Turns blocking launches on or off: each launch and library call then waits and
 * returns the failure of its own work. On from the start if the environment variable
 * GPUARRAY_LAUNCH_BLOCKING or CUDA_LAUNCH_BLOCKING is 1. */
int gpucontext_set_blocking(gpucontext *ctx, int on);
/* 1 if launches block, else 0; 0 for NULL. */
int gpucontext_blocking(gpucontext *ctx);

/* The name that gpucontext_open takes for this device, such as "cuda0". Owned by ctx.
 */
const char *gpucontext_name(const gpucontext *ctx);

#define GA_CTX_PROP_DEVNAME 1
#define GA_CTX_PROP_LMEMSIZE 3
#define GA_CTX_PROP_NUMPROCS 4
#define GA_CTX_PROP_BIN_ID 7
#define GA_CTX_PROP_ERRBUF 8 /* gpudata *, borrowed: 32 zeroed bytes for kernels */
#define GA_CTX_PROP_TOTAL_GMEM 9
#define GA_CTX_PROP_FREE_GMEM 10
#define GA_CTX_PROP_NATIVE_FLOAT16 11
#define GA_CTX_PROP_MAXGSIZE0 12
#define GA_CTX_PROP_MAXGSIZE1 13
#define GA_CTX_PROP_MAXGSIZE2 14
#define GA_CTX_PROP_MAXLSIZE0 15
#define GA_CTX_PROP_MAXLSIZE1 16
#define GA_CTX_PROP_MAXLSIZE2 17
#define GA_CTX_PROP_UNIQUE_ID 19
#define GA_CTX_PROP_LARGEST_MEMBLOCK 20
#define GA_CTX_PROP_HAS_DOUBLE 21 /* int: 1 if the device computes in float64 */
#define GA_CTX_PROP_IS_CPU 22     /* int: 1 if the device is the host's processor */
#define GA_CTX_PROP_WAITS 23      /* size_t: number of times the host waited */
#define GA_BUFFER_PROP_START 512
#define GA_BUFFER_PROP_CTX 512
#define GA_BUFFER_PROP_REFCNT 513
#define GA_BUFFER_PROP_SIZE 514
#define GA_BUFFER_PROP_HOST 515 /* void *: the memory's address on the host */
#define GA_KERNEL_PROP_START 1024
#define GA_KERNEL_PROP_CTX 1024
#define GA_KERNEL_PROP_MAXLSIZE 1025
#define GA_KERNEL_PROP_PREFLSIZE 1026
#define GA_KERNEL_PROP_NUMARGS 1027
#define GA_KERNEL_PROP_TYPES 1028

/* Writes the property `prop_id` to *res, which must have the property's type. */
int gpucontext_property(gpucontext *ctx, int prop_id, void *res);

/* The text of the last failure on this thread. The arguments are ignored; they are
 * there for libgpuarray 0.7. */
const char *gpucontext_error(gpucontext *ctx, int err);

/* A report of the search for the vendor libraries of backend `name`: what was tried and
 * found, one per line. A static buffer of the thread, overwritten by the next call. */
const char *gpuarray_search_report(const char *name);
/* Version of the library of network layers of backend `name`: of cuDNN 9.28.1 it is
 * 92801. Opens that library, and what it needs. GA_LOAD_ERROR: it is missing;
 * GA_UNSUPPORTED_ERROR: the backend has none. */
int gpuarray_dnn_version(const char *name, size_t *version);

/* Memory of a context, in bytes and counts. */
typedef struct _gpucontext_memory {
  size_t live;   /* in use by buffers */
  size_t cached; /* kept by the pool for reuse */
  size_t peak;   /* maximum of `live` so far */
  size_t limit;  /* 0: none */
  size_t n_live; /* buffers in use */
} gpucontext_memory;
/* Writes the context's memory use to *res. */
int gpucontext_memory_info(gpucontext *ctx, gpucontext_memory *res);
/* Returns the pool's cached memory to the device. */
int gpucontext_trim(gpucontext *ctx);
/* Limits the context's memory to `bytes` (0: no limit); allocations above it fail. */
int gpucontext_set_limit(gpucontext *ctx, size_t bytes);

/* A device memory allocator that replaces the backend's: it returns device addresses
 * on CUDA, cl_mem on OpenCL. The pool caches its blocks and frees them when it is
 * trimmed, unless `in_order` is set. The functions are called one at a time, and must
 * not call this library on the same context. */
typedef struct _gpuarray_allocator {
  size_t struct_size; /* sizeof(gpuarray_allocator) */
  /* Allocates `size` bytes, aligned to 256, into *memory. Returns 0, or nonzero if
   * there is no memory. */
  int (*alloc)(void *user, size_t size, void **memory);
  /* Frees memory of `alloc`, of that size. Unless `in_order`, no queued work uses it.
   */
  void (*free)(void *user, void *memory, size_t size);
  void *user;
  /* Nonzero for a stream-ordered allocator: memory is freed on release, while work on
   * the default queue may still use it; the allocator reuses it only for later work on
   * that queue. The pool then caches nothing. */
  int in_order;
} gpuarray_allocator;
/* Sets the allocator of new memory; the struct is copied. NULL: the backend's. Memory
 * in use is freed by the allocator that it came from. Cached memory is freed first,
 * which waits. */
int gpucontext_set_allocator(gpucontext *ctx, const gpuarray_allocator *allocator);

/* Counts of a context's kernel cache since the context was opened. */
typedef struct _gpucontext_cache {
  size_t memory_hits; /* kernels found in memory */
  size_t disk_hits;   /* kernels loaded from a file */
  size_t compiled;    /* kernels compiled by the vendor */
  size_t damaged;     /* files that failed verification; their kernels are recompiled */
  size_t unwritable;  /* entries that could not be stored */
} gpucontext_cache;
/* Writes the counts of the context's kernel cache to *res. */
int gpucontext_cache_info(gpucontext *ctx, gpucontext_cache *res);

/* ---- buffers ---- */

#define GA_BUFFER_READ_WRITE 0x00
#define GA_BUFFER_DEV 0x00
#define GA_BUFFER_READ_ONLY 0x01
#define GA_BUFFER_WRITE_ONLY 0x02
#define GA_BUFFER_INIT 0x04
#define GA_BUFFER_HOST 0x08
#define GA_BUFFER_MASK 0xffff

/* Allocates a buffer of `sz` bytes (0 is allowed). NULL on failure, with the status in
 * *ret. The content is undefined unless GA_BUFFER_INIT copies it from `data`.
 *
 * GA_BUFFER_HOST: host memory that the device accesses, pinned where that exists. The
 * property GA_BUFFER_PROP_HOST is its address, which the host may use while no queued
 * work does (gpudata_sync waits); GA_DEVSUP_ERROR on a device where only kernels and
 * copies can access it. Its release waits for work on it. On a CPU device every buffer
 * has that property. */
gpudata *gpudata_alloc(gpucontext *ctx, size_t sz, void *data, int flags, int *ret);
/* Adds a reference to the buffer. NULL is allowed. */
void gpudata_retain(gpudata *b);
/* Drops a reference; the last one returns the memory to the pool. NULL is allowed. */
void gpudata_release(gpudata *b);
/* 1 if the two buffers may overlap, 0 if not, -1 on failure. */
int gpudata_share(gpudata *a, gpudata *b, int *ret);
/* Copies `sz` bytes within a context; offsets in bytes. The ranges may overlap. */
int gpudata_move(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz);
/* gpudata_move, also between contexts. */
int gpudata_transfer(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                     size_t sz);
/* Copies `sz` bytes to host memory; waits until they are there. */
int gpudata_read(void *dst, gpudata *src, size_t srcoff, size_t sz);
/* Copies `sz` bytes from host memory; returns when `src` may be reused. */
int gpudata_write(gpudata *dst, size_t dstoff, const void *src, size_t sz);
/* Sets each byte from `dstoff` to the end of the buffer. In a tensor lent by another
 * library, bytes before the tensor stay. */
int gpudata_memset(gpudata *dst, size_t dstoff, int data);
/* Waits until all work on the buffer is done; reports its failures. */
int gpudata_sync(gpudata *b);
/* Writes a property of the buffer, or of its context, to *res, which must have the
 * property's type. */
int gpudata_property(gpudata *buf, int prop_id, void *res);
/* The context of a buffer: borrowed. NULL for NULL. */
gpucontext *gpudata_context(gpudata *b);

/* ---- kernels ---- */

/* Requirements of a kernel's source; GA_DEVSUP_ERROR if the device does not meet them.
 */
typedef enum _ga_usefl {
  GA_USE_SMALL = 0x02,   /* types of less than 32 bits */
  GA_USE_DOUBLE = 0x04,  /* float64 */
  GA_USE_COMPLEX = 0x08, /* complex numbers */
  GA_USE_HALF = 0x10,    /* float16 */
  GA_USE_CUDA = 0x2000,  /* the source is CUDA C++ */
  GA_USE_OPENCL = 0x4000 /* the source is OpenCL C */
} ga_usefl;

/* Compiles CLUDA source and returns its kernel `fname`. `typecodes` has a code for each
 * argument: GA_BUFFER for a pointer, or GA_INPUT for one that the kernel only reads, so
 * that it may run concurrently with other readers; GA_OFFSET for a ga_size that is the
 * byte offset of an array in its buffer (after that buffer's pointer, else
 * GA_VALUE_ERROR); or the type of a number. A plan that records a launch updates
 * offsets at each run; other numbers stay as recorded.
 *
 * If the source does not compile, *ret is GA_IMPL_ERROR, as in libgpuarray 0.7, and
 * *err_str, unless NULL, has the log and the numbered source, which the caller frees by
 * free(). GA_COMPILE_ERROR is for kernels that the library generates. */
gpukernel *gpukernel_init(gpucontext *ctx, unsigned int count, const char **strings,
                          const size_t *lengths, const char *fname,
                          unsigned int numargs, const int *typecodes, int flags,
                          int *ret, char **err_str);
/* Adds a reference to the kernel. NULL is allowed. */
void gpukernel_retain(gpukernel *k);
/* Drops a reference. Queued launches still run. NULL is allowed. */
void gpukernel_release(gpukernel *k);
/* Sets argument `i`: a gpudata * for GA_BUFFER and GA_INPUT, else a pointer to the
 * value, which is copied. */
int gpukernel_setarg(gpukernel *k, unsigned int i, void *a);
/* Queues a launch of a grid of gs[i] blocks of ls[i] threads in n dimensions, with
 * `shared` bytes of dynamic local memory. `args` NULL: those of gpukernel_setarg. */
int gpukernel_call(gpukernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args);
/* Makes a site by which a kernel reports an index out of bounds. The kernel takes
 * `GLOBAL_MEM ga_uint *word`, an offset of 0 (GA_OFFSET) and a ga_uint, for which the
 * caller passes *word (borrowed), 0 and *site. It calls ga_report_index(word, word_off,
 * site, index, length) of the prelude and continues with an index in bounds. The next
 * wait on the context fails once with GA_INDEX_ERROR, whose text has `operation` and
 * the thread's current label. GA_MEMORY_ERROR if no word can be made. */
int gpukernel_report_site(gpudata **word, unsigned int *site, gpucontext *ctx,
                          const char *operation);
/* Writes a property of the kernel, or of its context, to *res, which must have the
 * property's type. */
int gpukernel_property(gpukernel *k, int prop_id, void *res);
/* The context of a kernel: borrowed. NULL for NULL. */
gpucontext *gpukernel_context(gpukernel *k);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
