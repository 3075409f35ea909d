/* What a vendor provides: one table of functions. All the library knows of CUDA and
 * OpenCL.
 *
 * The caller has checked every argument. `device`, `memory`, `program`, `kernel` and
 * `event` are the vendor's. An entry may be NULL only where it is marked (optional).
 * Every device has one in-order queue; "queued" means on it. Functions may be called
 * from several threads at once; a backend locks what its vendor does not. A vendor's
 * failure is GA_IMPL_ERROR with the call, its name and its text; running out of memory
 * is GA_MEMORY_ERROR; a failed build is GA_COMPILE_ERROR. */
#ifndef GA_C_BACKEND_H
#define GA_C_BACKEND_H

#include <stdint.h>

#include "c/strbuf.h"
#include <gpuarray/blas.h>

/* What a device is; filled once when it is opened. */
typedef struct ga_device_info {
  char name[256];      /* the vendor's name for it */
  char bin_id[256];    /* what compiled code depends on: architecture, compiler and its
                          version */
  char unique_id[16];  /* PCI bus id, or "" */
  size_t total_memory; /* bytes */
  size_t max_alloc;    /* bytes of the largest buffer */
  size_t local_memory; /* bytes of shared memory a block may have */
  size_t max_grid[3];
  size_t max_block[3];
  size_t max_threads; /* threads of a block */
  unsigned int processors;
  unsigned int warp;         /* threads that run together */
  bool has_double, has_half; /* computes in float64; has half arithmetic */
  bool is_cpu, is_discrete_gpu, is_gpu;
} ga_device_info;

/* An argument of a launch. */
enum ga_arg_kind {
  GA_ARG_MEMORY, /* a buffer */
  GA_ARG_OFFSET, /* a ga_size: bytes into the buffer `buffer` */
  GA_ARG_VALUE   /* `size` bytes of `value` */
};
typedef struct ga_arg {
  enum ga_arg_kind kind;
  bool is_read_only; /* MEMORY: the kernel does not write to it */
  unsigned int size; /* of the value; 8 for GA_ARG_OFFSET */
  gpudata *buffer;   /* MEMORY: what is passed; OFFSET: what the offset counts in */
  union {
    uint64_t u64;
    unsigned char bytes[16];
  } value;
} ga_arg;

#define GA_MAX_ARGS 256

/* Where and with what a kernel runs: grid[i] blocks of block[i] threads in nd
 * dimensions, with `shared` bytes of dynamic local memory (on OpenCL an extra last
 * argument, if not 0). */
typedef struct ga_launch {
  unsigned int nd;
  size_t grid[3], block[3];
  size_t shared;
  unsigned int n_args;
  const ga_arg *args;
} ga_launch;

/* A matrix as BLAS sees it, column-major: element (i, j) at offset + (i + j * ld) *
 * itemsize. */
typedef struct ga_matrix {
  gpudata *buffer;
  size_t offset; /* bytes */
  size_t ld;     /* elements */
} ga_matrix;
/* Element i at offset + i * inc * itemsize, whatever the sign of inc. */
typedef struct ga_vector {
  gpudata *buffer;
  size_t offset; /* bytes */
  ssize_t inc;   /* elements, not 0 */
} ga_vector;

/* typecode is GA_FLOAT or GA_DOUBLE. alpha and beta are host values, in the type of the
 * computation after conversion. Column-major. With beta 0 the output is not read.
 * Queued. */
typedef struct ga_blas {
  int (*gemm)(void *device, int typecode, cb_transpose ta, cb_transpose tb, size_t m,
              size_t n, size_t k, double alpha, ga_matrix a, ga_matrix b, double beta,
              ga_matrix c);
  int (*gemv)(void *device, int typecode, cb_transpose ta, size_t m, size_t n,
              double alpha, ga_matrix a, ga_vector x, double beta, ga_vector y);
} ga_blas;

typedef struct ga_backend {
  const char *name;      /* "cuda" */
  const char *prelude;   /* the kernel language's words in this vendor's dialect */
  bool compiles_at_once; /* compile gains when several threads call it */

  /* Adds what was searched and found, a line each. Loads the libraries if that was not
   * done. */
  void (*report)(ga_strbuf *out);
  int (*platform_count)(unsigned int *out);
  int (*device_count)(unsigned int *out, unsigned int platform);
  /* Describes a device without opening it. */
  int (*probe)(ga_device_info *out, unsigned int platform, unsigned int index);

  int (*open)(void **device, ga_device_info *info, unsigned int platform,
              unsigned int index);
  /* Waits, then frees everything. */
  void (*close)(void *device);

  int (*alloc)(void **memory, void *device, size_t size);
  /* The caller has made sure that no queued work uses it. */
  void (*free)(void *device, void *memory);
  /* Free bytes on the device; GA_DEVSUP_ERROR where the vendor does not tell. */
  int (*free_memory)(size_t *out, void *device);

  /* Waits until the bytes are on the host. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  /* Returns when `host` may be reused; goes through pinned memory where it pays. */
  int (*write)(void *device, void *memory, size_t offset, const void *host,
               size_t size);
  /* Queued. The ranges do not overlap. */
  int (*copy)(void *device, void *to, size_t to_offset, void *from, size_t from_offset,
              size_t size);
  int (*fill)(void *device, void *memory, size_t offset, unsigned char byte,
              size_t size);
  /* (optional) Between two devices of this vendor, ordered on both queues. */
  int (*copy_peer)(void *to_device, void *to, size_t to_offset, void *from_device,
                   void *from, size_t from_offset, size_t size);

  /* Compiles complete source (prelude included). GA_COMPILE_ERROR leaves the vendor's
   * log in `log`. */
  int (*compile)(void **program, void *device, const char *source, ga_strbuf *log);
  /* The compiled bytes, made with ga__alloc; the caller frees them. */
  int (*binary)(void **bytes, size_t *size, void *device, void *program);
  /* A program from such bytes; GA_COMPILE_ERROR if the vendor refuses them. */
  int (*load)(void **program, void *device, const void *bytes, size_t size);
  void (*unload)(void *device, void *program);
  /* A kernel of the program; it lives until kernel_free, and needs its program until
   * then. */
  int (*kernel)(void **kernel, void *device, void *program, const char *name);
  void (*kernel_free)(void *device, void *kernel);
  /* The most threads a block of it may have. */
  int (*kernel_threads)(size_t *out, void *device, void *kernel);
  int (*launch)(void *device, void *kernel, const ga_launch *launch);

  /* Waits for all that is queued. Reports what failed meanwhile as GA_RUN_ERROR. */
  int (*wait)(void *device);
  /* A point in the queue; done when all work queued before is. */
  int (*event)(void **event, void *device);
  int (*event_wait)(void *device, void *event);
  /* Seconds of device time between two events that are done. */
  int (*event_seconds)(double *out, void *device, void *start, void *end);
  void (*event_free)(void *device, void *event);

  /* (optional, all or none) Work recorded once and queued again as one. What this
   * thread launches, copies, fills and multiplies between begin and end is recorded and
   * not queued; nothing else may be done meanwhile, and end is called in every case. */
  int (*graph_begin)(void *device);
  int (*graph_end)(void **graph, void *device);
  int (*graph_launch)(void *device, void *graph);
  void (*graph_free)(void *device, void *graph);

  /* (optional) Prepares the BLAS library; `blas` is used only after it succeeded. Where
   * either is NULL, or it fails with GA_LOAD_ERROR, the library uses its own kernels.
   */
  int (*blas_open)(void *device);
  const ga_blas *blas;
} ga_backend;

/* The backend's own memory of a buffer: what launch, read, copy ... are given. */
void *ga__buffer_memory(const gpudata *buffer);

extern const ga_backend ga__cuda_backend, ga__opencl_backend, ga__null_backend;

#endif
