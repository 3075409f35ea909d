/* Contexts (open devices), buffers (device memory) and kernels (compiled programs).
 *
 * Ownership: `gpucontext`, `gpudata` and `gpukernel` carry atomic reference counts; a
 * buffer and a kernel keep their context alive. Waiting: work is queued and the call
 * returns; only gpudata_read, gpudata_sync and gpucontext_sync wait. Failure: a status,
 * or NULL with the status in *ret; outputs are untouched and nothing is kept. Threads:
 * every function here may be called from several threads at once, but for
 * gpukernel_setarg, whose kernel belongs to one thread at a time.
 *
 * Sources: where the environment variable GPUARRAY_DUMP_KERNELS names a folder, the
 * source of every kernel that a context comes to hold, the library's own and a user's,
 * is also written there, without the prelude. */
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

/* How many platforms a backend ("cuda" or "opencl") has, and devices a platform has. */
int gpu_get_platform_count(const char *name, unsigned int *platcount);
/* How many devices a platform of a backend has. */
int gpu_get_device_count(const char *name, unsigned int platform,
                         unsigned int *devcount);

/* Properties of a context to be opened, all at their defaults. The caller owns *res
 * until gpucontext_init takes it. */
int gpucontext_props_new(gpucontext_props **res);
/* The CUDA device to open; -1, the default, is the first that works. */
int gpucontext_props_cuda_dev(gpucontext_props *p, int devno);
/* The OpenCL platform and its device to open. */
int gpucontext_props_opencl_dev(gpucontext_props *p, int platno, int devno);
/* How the host waits: one of GA_CTX_SCHED_AUTO, GA_CTX_SCHED_SINGLE (spin) and
 * GA_CTX_SCHED_MULTI (sleep); GA_INVALID_ERROR for another. */
int gpucontext_props_sched(gpucontext_props *p, int sched);
/* Forbids queues but the default one (gpuqueue_new). */
int gpucontext_props_set_single_stream(gpucontext_props *p);
/* The folder that compiled kernels are kept in; the text is copied. */
int gpucontext_props_kernel_cache(gpucontext_props *p, const char *path);
/* The pool begins with `initial` bytes and never holds more than `max`, live and cached
 * (SIZE_MAX: no limit). With max 0 it keeps nothing: memory is given back to the device
 * at each release, which waits. GA_VALUE_ERROR if initial is above max. */
int gpucontext_props_alloc_cache(gpucontext_props *p, size_t initial, size_t max);
/* Frees properties that no gpucontext_init took. NULL is fine. */
void gpucontext_props_del(gpucontext_props *p);

#define GA_CTX_SCHED_AUTO 0
#define GA_CTX_SCHED_SINGLE 1
#define GA_CTX_SCHED_MULTI 2

/* Opens a device of the backend `name` ("cuda", "opencl", "null"). Takes `props`, which
 * may be NULL, in every case. The caller owns *res; on failure it is left as it was. */
int gpucontext_init(gpucontext **res, const char *name, gpucontext_props *props);

/* Opens a device by its name: "cuda0", "cuda", "opencl0:0", "opencl", "null". NULL or
 * "" means the value of GPUARRAY_DEVICE, else the first of: CUDA, a discrete OpenCL
 * GPU, any OpenCL GPU, an OpenCL CPU. "null" is a device for tests: it holds arrays
 * and computes nothing, so that every launch succeeds and leaves what is written as it
 * was. The caller owns *res. */
int gpucontext_open(gpucontext **res, const char *name);

/* One more reference to the context. NULL is fine. */
void gpucontext_retain(gpucontext *ctx);
/* One reference less; the last one waits for the device and closes it. NULL is fine. */
void gpucontext_deref(gpucontext *ctx);

/* Waits until all work queued on the context is done; reports what failed meanwhile. */
int gpucontext_sync(gpucontext *ctx);
/* With `on` every launch and every call of a library waits until it is done, and fails
 * itself where the work fails. From the start where the environment variable
 * GPUARRAY_LAUNCH_BLOCKING or CUDA_LAUNCH_BLOCKING is 1. */
int gpucontext_set_blocking(gpucontext *ctx, int on);
/* 1 if every launch waits, else 0; for NULL 0. */
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
#define GA_CTX_PROP_HAS_DOUBLE 21 /* int: whether the device computes in float64 */
#define GA_CTX_PROP_IS_CPU 22     /* int: whether the device is the host's processor */
#define GA_CTX_PROP_WAITS 23      /* size_t: how often the host waited for the device */
#define GA_BUFFER_PROP_START 512
#define GA_BUFFER_PROP_CTX 512
#define GA_BUFFER_PROP_REFCNT 513
#define GA_BUFFER_PROP_SIZE 514
#define GA_BUFFER_PROP_HOST 515 /* void *: where the host reaches the memory */
#define GA_KERNEL_PROP_START 1024
#define GA_KERNEL_PROP_CTX 1024
#define GA_KERNEL_PROP_MAXLSIZE 1025
#define GA_KERNEL_PROP_PREFLSIZE 1026
#define GA_KERNEL_PROP_NUMARGS 1027
#define GA_KERNEL_PROP_TYPES 1028

/* Writes the property `prop_id` to *res, whose type the list of properties gives. */
int gpucontext_property(gpucontext *ctx, int prop_id, void *res);

/* The text of the last failure on this thread; both arguments are there for libgpuarray
 * 0.7. */
const char *gpucontext_error(gpucontext *ctx, int err);

/* What was searched and found of the vendor libraries of `name`, one line each. A
 * static buffer of the thread, overwritten by the next call. */
const char *gpuarray_search_report(const char *name);

/* What a context holds, in bytes and counts. */
typedef struct _gpucontext_memory {
  size_t live;   /* in use by buffers */
  size_t cached; /* kept by the pool for reuse */
  size_t peak;   /* the most that live was */
  size_t limit;  /* 0: none */
  size_t n_live; /* buffers in use */
} gpucontext_memory;
/* What the context holds now. */
int gpucontext_memory_info(gpucontext *ctx, gpucontext_memory *res);
/* Gives what the pool keeps back to the device. */
int gpucontext_trim(gpucontext *ctx);
/* Refuses to hold more than `bytes` (0: no limit). */
int gpucontext_set_limit(gpucontext *ctx, size_t bytes);

/* Where the memory of a context comes from, in place of its backend: device addresses
 * on CUDA, cl_mem on OpenCL. The pool keeps blocks for reuse and gives them back when
 * it is trimmed, unless `in_order` is set. The functions are called one at a time, and
 * must not call this library on the same context. */
typedef struct _gpuarray_allocator {
  size_t struct_size; /* sizeof(gpuarray_allocator) */
  /* Writes `size` bytes of device memory, aligned to 256, to *memory; returns 0, or
   * another value if there is none. */
  int (*alloc)(void *user, size_t size, void **memory);
  /* Takes what `alloc` gave, with its size. No queued work uses it, but see below. */
  void (*free)(void *user, void *memory, size_t size);
  void *user;
  /* Not 0: memory is given back as soon as it is released, while work on the default
   * queue may still use it; the allocator hands it out again only for work on that
   * queue. Nothing is cached above it. */
  int in_order;
} gpuarray_allocator;
/* Takes new memory from `allocator`, whose content is copied; NULL: from the device
 * again. Memory in use goes back to where it came from. What the pool keeps is given
 * back first, which waits. */
int gpucontext_set_allocator(gpucontext *ctx, const gpuarray_allocator *allocator);

/* What the kernel cache of a context did since it was opened. */
typedef struct _gpucontext_cache {
  size_t memory_hits; /* kernels found compiled in this process */
  size_t disk_hits;   /* kernels loaded from a file */
  size_t compiled;    /* kernels compiled by the vendor */
  size_t damaged;     /* files that failed verification, and were compiled anew */
  size_t unwritable;  /* entries that could not be stored */
} gpucontext_cache;
/* What the context's kernel cache did so far. */
int gpucontext_cache_info(gpucontext *ctx, gpucontext_cache *res);

/* ---- buffers ---- */

#define GA_BUFFER_READ_WRITE 0x00
#define GA_BUFFER_DEV 0x00
#define GA_BUFFER_READ_ONLY 0x01
#define GA_BUFFER_WRITE_ONLY 0x02
#define GA_BUFFER_INIT 0x04
#define GA_BUFFER_HOST 0x08
#define GA_BUFFER_MASK 0xffff

/* Allocates `sz` bytes (0 is legal). NULL on failure, and then the status in *ret. The
 * content is undefined unless GA_BUFFER_INIT asks to copy it from `data`.
 * GA_BUFFER_HOST: memory of the host that the device reaches, pinned where there is
 * such a thing; the property GA_BUFFER_PROP_HOST is its address, of which the host may
 * make use while no queued work does (gpudata_sync waits), or GA_DEVSUP_ERROR on a
 * device that lets only kernels and copies touch it. Its release waits for the work on
 * it. Of a processor, where the host computes in the same memory, every buffer has that
 * property. */
gpudata *gpudata_alloc(gpucontext *ctx, size_t sz, void *data, int flags, int *ret);
/* One more reference to the buffer. NULL is fine. */
void gpudata_retain(gpudata *b);
/* One reference less; with the last one the memory goes back to the pool. NULL is fine.
 * */
void gpudata_release(gpudata *b);
/* 1 if the two may overlap, 0 if not, -1 on failure. */
int gpudata_share(gpudata *a, gpudata *b, int *ret);
/* Copies bytes within a context. The ranges may overlap. */
int gpudata_move(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz);
/* As gpudata_move, and also between contexts. */
int gpudata_transfer(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff,
                     size_t sz);
/* Waits until the bytes are in `dst`. */
int gpudata_read(void *dst, gpudata *src, size_t srcoff, size_t sz);
/* Returns when `src` may be used again. */
int gpudata_write(gpudata *dst, size_t dstoff, const void *src, size_t sz);
/* Sets every byte from `dstoff` to the end of the buffer; bytes before a tensor that
 * another library lent stay as they are. */
int gpudata_memset(gpudata *dst, size_t dstoff, int data);
/* Waits until all work on the buffer is done; reports what failed meanwhile. */
int gpudata_sync(gpudata *b);
/* Writes a property of the buffer, or of its context, to *res, whose type the list of
 * properties gives. */
int gpudata_property(gpudata *buf, int prop_id, void *res);
/* The context of a buffer: borrowed. NULL for NULL. */
gpucontext *gpudata_context(gpudata *b);

/* ---- kernels ---- */

/* What a kernel's source needs; GA_DEVSUP_ERROR where the device has it not. */
typedef enum _ga_usefl {
  GA_USE_SMALL = 0x02,   /* types of less than 32 bits */
  GA_USE_DOUBLE = 0x04,  /* float64 */
  GA_USE_COMPLEX = 0x08, /* complex numbers */
  GA_USE_HALF = 0x10,    /* float16 */
  GA_USE_CUDA = 0x2000,  /* the source is CUDA C++ */
  GA_USE_OPENCL = 0x4000 /* the source is OpenCL C */
} ga_usefl;

/* Compiles CLUDA source and takes the kernel `fname` from it. `typecodes` has GA_BUFFER
 * for a pointer, or GA_INPUT where the kernel only reads, so that it may run beside
 * what else reads there; GA_OFFSET for the bytes from the start of its buffer to where
 * an array begins in it (a ga_size behind the pointer; GA_VALUE_ERROR where none stands
 * before it), else the code of a number. A plan that records a launch gives offsets
 * anew at each run, other numbers stay as recorded. On a compile failure *err_str, if
 * wanted, is the log and the numbered source, which the caller frees with free(), and
 * *ret is GA_IMPL_ERROR, as in libgpuarray 0.7; GA_COMPILE_ERROR is for kernels that
 * the library writes. */
gpukernel *gpukernel_init(gpucontext *ctx, unsigned int count, const char **strings,
                          const size_t *lengths, const char *fname,
                          unsigned int numargs, const int *typecodes, int flags,
                          int *ret, char **err_str);
/* One more reference to the kernel. NULL is fine. */
void gpukernel_retain(gpukernel *k);
/* One reference less. Launches that are queued run to their end. NULL is fine. */
void gpukernel_release(gpukernel *k);
/* `a` is a gpudata * for GA_BUFFER and GA_INPUT, else a pointer to the value, which is
 * copied. */
int gpukernel_setarg(gpukernel *k, unsigned int i, void *a);
/* Queues a launch of gs[i] blocks of ls[i] threads in n dimensions. `args` NULL: those
 * of gpukernel_setarg. */
int gpukernel_call(gpukernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args);
/* What a kernel reports an index out of bounds with: `*word`, borrowed, is its argument
 * GLOBAL_MEM ga_uint *word, and *site its ga_uint; between them stands an offset, of 0
 * (GA_OFFSET). It calls ga_report_index(word, word_off, site, index, length) of the
 * prelude and goes on with an index that is in bounds. The next wait on the context
 * then fails once with GA_INDEX_ERROR; its text has `operation` and the thread's label
 * as of now. GA_MEMORY_ERROR where no word can be made. */
int gpukernel_report_site(gpudata **word, unsigned int *site, gpucontext *ctx,
                          const char *operation);
/* Writes a property of the kernel, or of its context, to *res, whose type the list of
 * properties gives. */
int gpukernel_property(gpukernel *k, int prop_id, void *res);
/* The context of a kernel: borrowed. NULL for NULL. */
gpucontext *gpukernel_context(gpukernel *k);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
