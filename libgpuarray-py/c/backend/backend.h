/* What a vendor provides: one table of functions. All the library knows of CUDA and
 * OpenCL.
 *
 * The caller has checked every argument. `device`, `memory`, `program`, `kernel` and
 * `event` are the vendor's. An entry may be NULL only where it is marked (optional).
 * Every device has an in-order queue; "queued" means on it. What queue_new gives stands
 * for another queue of the device wherever a device is expected. Functions may be
 * called from several threads at once; a backend locks what its vendor does not. A
 * vendor's failure is GA_IMPL_ERROR with the call, its name and its text; running out
 * of memory is GA_MEMORY_ERROR; a failed build is GA_COMPILE_ERROR. */
#ifndef GA_C_BACKEND_H
#define GA_C_BACKEND_H

#include <stdint.h>

#include "c/base/strbuf.h"
#include <gpuarray/blas.h>

/* What a device is; filled once when it is opened. */
typedef struct ga_device_info {
  char name[256];      /* the vendor's name for it */
  char bin_id[256];    /* what compiled code depends on: architecture, compiler and its
                          version */
  char arch[16];       /* "sm_90": what code compiled elsewhere must be for, or "" */
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
  bool has_progress; /* a block that has begun goes on while others wait for it, and
                        kernels have the prelude's words for warps of 32 threads */
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

/* What BLAS is asked for. GER adds to its output in any case, as a GEMM with k = 1 and
 * beta = 1 does, and DOT is a GEMM with m = n = 1: where a vendor gains nothing by a
 * routine of its own, the library asks for that. */
enum ga_blas_routine { GA_BLAS_GEMM, GA_BLAS_GEMV };

/* What is done to the sums of a GEMM before they are stored. */
enum ga_blas_epilogue { GA_BLAS_PLAIN, GA_BLAS_BIAS, GA_BLAS_BIAS_RELU };

/* A matrix as BLAS sees it, column-major: element (i, j) at (i + j * ld) elements from
 * the first; or a vector: element i at i * ld, whatever the sign. */
typedef struct ga_blas_operand {
  gpudata *buffer;
  size_t offset; /* bytes, of the first element */
  ssize_t ld;    /* elements; at least 1 and the length of a column, or not 0 */
  ssize_t step;  /* elements between the matrices of a batch */
} ga_blas_operand;

/* A product, as data.
 * GEMM: c (m, n) = alpha op(a) op(b) + beta c, with k terms a sum, `batch` times.
 * GEMV: c = alpha op(a) b + beta c, where a is (m, n), b and c are vectors.
 * Factors are real and imaginary parts; types that are not complex use the real one.
 * With beta 0 the output is not read. half and bfloat16 are summed in float. */
typedef struct ga_blas_call {
  enum ga_blas_routine routine;
  enum ga_blas_epilogue epilogue; /* not PLAIN: + bias[i] of row i, then max(0, ) */
  int typecode;
  bool is_tf32; /* float may be rounded to 10 bits of mantissa for tensor cores */
  cb_transpose ta, tb;
  size_t m, n, k, batch;
  double alpha[2], beta[2];
  ga_blas_operand a, b, c;
  ga_blas_operand bias; /* a vector of m elements with ld 1 */
} ga_blas_call;

#define GA_BLAS_KINDS 85 /* of our own kernels; see c/blas/blas_kernels.h */
#define GA_BLAS_TYPES 6  /* half, bfloat16, float, double, and complex of both */

/* A vendor's library of products. */
typedef struct ga_blas {
  /* Whether `call` can make this product; looks at no buffer. */
  bool (*serves)(void *device, const ga_blas_call *call);
  /* Whether that was timed faster than our own kernels. */
  bool (*prefers)(void *device, const ga_blas_call *call);
  /* Queued. No size is 0, the batch is at least 1. */
  int (*call)(void *device, const ga_blas_call *call);
} ga_blas;

/* What a solver of dense matrices is asked for. */
enum ga_solver_routine {
  GA_SOLVER_CHOLESKY,
  GA_SOLVER_LU,
  GA_SOLVER_LU_SOLVE,
  GA_SOLVER_QR,
  GA_SOLVER_QR_VECTORS,
  GA_SOLVER_SVD,
  GA_SOLVER_EIGH,
  GA_SOLVER_EIG
};

/* A factorization of each matrix of a batch, or what is solved with one, as data.
 * Matrices are column-major and overwritten, as by LAPACK's routine of the same
 * meaning. `values` has a vector for each matrix. Operands that a routine has no use
 * for are zero.
 * CHOLESKY: a (n, n). LU: a (m, n), values: pivots, GA_LONG counted from 1.
 * LU_SOLVE: a (n, n) and pivots of LU, b (n, k). QR: a (m, n), values: tau.
 * QR_VECTORS: a (m, n) from its first k columns and tau. SVD: a (m, n) with m >= n,
 * values: singular values; b: U, c: V^H, both only with has_vectors, square if is_full.
 * EIGH: a (n, n), values; a becomes the vectors. EIG: a (n, n) complex, values, b: the
 * vectors. */
typedef struct ga_solver_call {
  enum ga_solver_routine routine;
  int typecode; /* of a */
  bool is_upper, has_vectors, is_full;
  bool is_narrow;     /* pivots are GA_INT */
  cb_transpose trans; /* of LU_SOLVE */
  size_t m, n, k, batch;
  ga_blas_operand a, b, c, values;
  ga_blas_operand info; /* GA_INT, one for each matrix: 0 is success */
  gpudata *work;        /* what `workspace` asked for; NULL for 0 bytes */
  size_t work_size;
} ga_solver_call;

/* A vendor's library of factorizations. */
typedef struct ga_solver {
  /* Opens the library: GA_LOAD_ERROR if it is missing. Cheap when it is open. */
  int (*open)(void *device);
  bool (*serves)(void *device, const ga_solver_call *call);
  /* Whether a call for LU or LU_SOLVE is to have is_narrow. */
  bool (*narrows)(void *device, const ga_solver_call *call);
  /* Bytes that `call` needs to work in. */
  int (*workspace)(size_t *out, void *device, const ga_solver_call *call);
  /* Queued, but for EIG, which may wait. No size is 0. */
  int (*call)(void *device, const ga_solver_call *call);
} ga_solver;

/* Discrete Fourier transforms of a batch of C-contiguous arrays of 1 to 3 axes, as
 * data. Real elements are those of the smaller side: its last axis has n elements where
 * the complex side's has n / 2 + 1. Nothing is scaled. */
typedef struct ga_fft_call {
  int from_type, to_type; /* of the elements */
  bool is_inverse;        /* the sign of the exponent is + */
  unsigned int rank;
  size_t n[3], batch; /* lengths of the transform */
  ga_blas_operand from, to;
  gpudata *work;
  size_t work_size;
} ga_fft_call;

/* A vendor's library of Fourier transforms. */
typedef struct ga_fft {
  int (*open)(void *device); /* as ga_solver's */
  int (*workspace)(size_t *out, void *device, const ga_fft_call *call);
  /* Queued. A complex input of real results is overwritten. */
  int (*call)(void *device, const ga_fft_call *call);
} ga_fft;

/* How other libraries of the process share a device's memory and order their work with
 * its queue. A `stream` is what DLPack's consumers and producers name so (see
 * gpuarray/dlpack.h), not -1. */
typedef struct ga_sharing {
  int device_type; /* DLPack's DLDeviceType */
  bool is_address; /* memory is an address; else a handle that has no arithmetic */
  /* (optional) The stream that others queue on to be in order with the queue. */
  int (*stream)(intptr_t *out, void *device);
  /* The stream waits for all that is queued; the queue waits for the stream's work. */
  int (*publish)(void *device, intptr_t stream);
  int (*follow)(void *device, intptr_t stream);
  /* (optional) GA_INVALID_ERROR unless the device reaches this foreign memory, which
   * has *size bytes. */
  int (*check)(size_t *size, void *device, void *memory);
  /* (optional) Where memory is a part of another: *memory becomes that, and *offset the
   * bytes before the part. Both stay as they are elsewhere. */
  void (*whole)(void **memory, size_t *offset, void *device);
} ga_sharing;

/* A function of this vendor alone, by its name; see gpuarray/extension.h. */
typedef struct ga_extension {
  const char *name; /* NULL ends a list */
  void (*function)(void);
} ga_extension;

/* Processes or threads, each with a device, that reduce and exchange buffers. `comm` is
 * the vendor's. Types and operations have been checked with `has_type`. Failures of the
 * library are GA_COMM_ERROR with its text. Queued, but for open, which waits for
 * all ranks. */
typedef struct ga_collectives {
  int (*unique_id)(char id[128]);
  int (*open)(void **comm, void *device, const char id[128], int ranks, int rank);
  void (*close)(void *device, void *comm);
  bool (*has_type)(int typecode);
  /* `op` is an enum gpucomm_reduce_ops; `to` is NULL where nothing is received. */
  int (*reduce)(void *device, void *comm, const void *from, void *to, size_t count,
                int typecode, int op, int root);
  int (*all_reduce)(void *device, void *comm, const void *from, void *to, size_t count,
                    int typecode, int op);
  int (*reduce_scatter)(void *device, void *comm, const void *from, void *to,
                        size_t count, int typecode, int op);
  int (*broadcast)(void *device, void *comm, void *array, size_t count, int typecode,
                   int root);
  int (*all_gather)(void *device, void *comm, const void *from, void *to, size_t count,
                    int typecode);
} ga_collectives;

/* Memory of the host that the device reaches by itself, at the speed of its bus. It may
 * outlive the device. */
typedef struct ga_pinning {
  /* *handle is the vendor's own. Fails where the device has no use for such memory. */
  int (*alloc)(void **handle, void **host, void *device, size_t size);
  /* `device` is NULL once it was closed, after `leave`. No queued work uses it. */
  void (*free)(void *device, void *handle, void *host, size_t size);
  /* The device is about to be closed; the memory keeps its place and content. */
  void (*leave)(void *device, void *handle, void *host);
  /* As the backend's read and write from and to such memory, but queued: it is ready,
   * or may be used again, once the queue has come so far. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  int (*write)(void *device, void *memory, size_t offset, const void *host,
               size_t size);
} ga_pinning;

/* How bytes get to the host. */
enum ga_reading_way {
  GA_READ_COPIES, /* to memory of any kind */
  GA_READ_PINNED, /* to memory of the backend's pinning */
  GA_READ_LENT    /* they are there, once the work on the buffer is done */
};

/* Bytes that the host wants; none of them is nothing. */
typedef struct ga_reading {
  enum ga_reading_way way;
  void *host;
  gpudata *buffer;
  void *memory; /* the buffer's */
  size_t offset, size;
} ga_reading;

/* OpenCL's words, in a source, for a product and a sum that are never made one
 * operation. A backend whose language has none for it heeds these. */
#define GA_ROUNDED "#pragma OPENCL FP_CONTRACT OFF"

typedef struct ga_backend {
  const char *name;    /* "cuda" */
  const char *prelude; /* the kernel language's words in this vendor's dialect */
  /* Functions in place of the language's, for texts that call one on a processor: a
   * list that ends with NULL, or NULL. */
  const char *const *math;
  bool compiles_at_once; /* compile gains when several threads call it */
  size_t sure_threads;   /* that a block may have whatever the kernel; or 0 */

  /* Adds what was searched and found, a line each. Loads the libraries if that was not
   * done. */
  void (*report)(ga_strbuf *out);
  int (*platform_count)(unsigned int *out);
  int (*device_count)(unsigned int *out, unsigned int platform);
  /* Describes a device without opening it. */
  int (*probe)(ga_device_info *out, unsigned int platform, unsigned int index);

  int (*open)(void **device, ga_device_info *info, unsigned int platform,
              unsigned int index);
  /* (optional) Opens a device in a context of the vendor's that an application made,
   * and says which device that is. The application keeps the context until it is
   * closed. */
  int (*adopt)(void **device, ga_device_info *info, unsigned int *platform,
               unsigned int *index, void *native);
  /* Waits, then frees everything. */
  void (*close)(void *device);

  int (*alloc)(void **memory, void *device, size_t size);
  /* The caller has made sure that no queued work uses it. */
  void (*free)(void *device, void *memory);
  /* Free bytes on the device; GA_DEVSUP_ERROR where the vendor does not tell. */
  int (*free_memory)(size_t *out, void *device);

  /* Waits until the bytes are on the host. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  /* (optional) The same for several at once, with one wait where they are small; all
   * of them are copied. */
  int (*read_all)(void *device, unsigned int n, const ga_reading *list);
  /* Returns when `host` may be reused; goes through pinned memory where it pays.
   * *waited becomes true where the host waited for queued work, and is left alone
   * elsewhere. */
  int (*write)(void *device, void *memory, size_t offset, const void *host, size_t size,
               bool *waited);
  /* Queued. The ranges do not overlap. */
  int (*copy)(void *device, void *to, size_t to_offset, void *from, size_t from_offset,
              size_t size);
  int (*fill)(void *device, void *memory, size_t offset, unsigned char byte,
              size_t size);
  /* (optional) Memory of the host that the device reaches. *host is where the host
   * does, or stays NULL where only kernels and copies may touch it. */
  int (*host_alloc)(void **memory, void **host, void *device, size_t size);
  void (*host_free)(void *device, void *memory, void *host);
  /* (optional) Where the host finds memory of a device that shares the host's; NULL
   * where it does not. */
  void *(*host_address)(void *device, void *memory);
  const ga_pinning *pinning; /* (optional) */
  /* (optional) Memory of someone else, which was used here, may be gone. */
  void (*forget)(void *device);
  /* (optional) Between two devices of this vendor, ordered on both queues. */
  int (*copy_peer)(void *to_device, void *to, size_t to_offset, void *from_device,
                   void *from, size_t from_offset, size_t size);

  /* Compiles complete source (prelude included). GA_COMPILE_ERROR leaves the vendor's
   * log in `log`. */
  int (*compile)(void **program, void *device, const char *source, ga_strbuf *log);
  /* (optional) The same without a device, for an architecture such as info.arch has;
   * *bytes, made with ga__alloc, is what `load` takes. GA_VALUE_ERROR for what is no
   * architecture, GA_DEVSUP_ERROR for one that the compiler does not know. */
  int (*compile_for)(const char *source, const char *arch, void **bytes, size_t *size,
                     ga_strbuf *log);
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
  /* How many parameters it has; GA_DEVSUP_ERROR where nobody knows. NULL where `launch`
   * refuses another number of arguments by itself. */
  int (*kernel_parameters)(unsigned int *out, void *device, void *kernel);
  int (*launch)(void *device, void *kernel, const ga_launch *launch);

  /* Waits for all that is queued. Reports what failed meanwhile as GA_RUN_ERROR. */
  int (*wait)(void *device);
  /* (optional, both or none) Another in-order queue of a device that was opened. It is
   * freed, when it is idle, before the device is closed. */
  int (*queue_new)(void **queue, void *device);
  void (*queue_free)(void *queue);
  /* (optional, both or none) Queues a mark, which is not 0; and the latest mark that
   * was passed, 0 at first: for telling how far a failed queue came. */
  int (*mark)(void *device, uint32_t mark);
  void (*progress)(uint32_t *mark, void *device);

  /* A point in the queue; done when all work queued before is. `timed` where
   * event_seconds will be asked. */
  int (*event)(void **event, void *device, bool timed);
  /* What is queued from now on waits for an event of another queue of the device. */
  int (*event_order)(void *device, void *event);
  int (*event_done)(bool *out, void *device, void *event);
  int (*event_wait)(void *device, void *event);
  /* Seconds of device time between two events that are done. */
  int (*event_seconds)(double *out, void *device, void *start, void *end);
  void (*event_free)(void *device, void *event);
  /* (optional, all or none) Commands that have events of their own. `watch` asks for
   * that of what this thread queues from now on; `watched` ends it and gives the latest
   * command's, or NULL where the host did the work itself. event_span tells when the
   * device did it, in seconds from the event `origin` on. Without these a command is
   * timed by an event before and one after it. */
  void (*watch)(void *device);
  void *(*watched)(void *device);
  int (*event_span)(double *start, double *end, void *device, void *origin,
                    void *event);

  /* (optional, all or none) Work recorded once and queued again as one. What this
   * thread launches, copies, fills and multiplies between begin and end is recorded and
   * not queued; nothing else may be done meanwhile, and end is called in every case.
   * Each command waits for the one before it. With `lanes`, of which there may be
   * graph_lanes, graph_next is called before each, with those that it waits for,
   * counted from 0; products of different lanes need not wait for each other. */
  unsigned int graph_lanes; /* 0: no graph_next */
  int (*graph_begin)(void *device, unsigned int lanes);
  int (*graph_next)(void *device, unsigned int n, const unsigned int *after,
                    unsigned int lane);
  int (*graph_end)(void **graph, void *device);
  int (*graph_launch)(void *device, void *graph);
  void (*graph_free)(void *device, void *graph);
  /* (optional, all or none) What is recorded between graph_if and graph_else, without
   * lanes, runs where one of `size` bytes is not 0 by then, what is recorded between
   * graph_else and graph_end_if where all are. They nest. graph_chooses: whether this
   * device does so; else the others are not called. */
  bool (*graph_chooses)(void *device);
  int (*graph_if)(void *device, void *memory, size_t offset, size_t size);
  int (*graph_else)(void *device);
  int (*graph_end_if)(void *device);

  /* (optional) Prepares the BLAS library; `blas` is used only after it succeeded. Where
   * either is NULL, or it fails with GA_LOAD_ERROR, the library uses its own kernels.
   * While a graph is recorded a queue makes nothing ready for its products: that is
   * done before, also `with_epilogues`, for which there may be more to do. */
  int (*blas_open)(void *device, bool with_epilogues);
  const ga_blas *blas;
  const ga_solver *solver; /* (optional) */
  const ga_fft *fft;       /* (optional) */

  const ga_sharing *sharing;         /* (optional) */
  const ga_collectives *collectives; /* (optional) */
} ga_backend;

/* The backend's own memory of a buffer, its first word: what launch, read, copy ... are
 * given. */
static inline void *ga__buffer_memory(const gpudata *buffer) {
  return *(void *const *)(const void *)buffer;
}

extern const ga_backend ga__cuda_backend, ga__opencl_backend, ga__null_backend;
extern const ga_extension ga__cuda_extensions[], ga__opencl_extensions[],
    ga__null_extensions[];

#endif
