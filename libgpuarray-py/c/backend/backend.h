/* The backend interface: one table of functions per vendor. All the library knows of
 * CUDA and OpenCL.
 *
 * The caller has checked every argument. `device`, `memory`, `program`, `kernel` and
 * `event` are the vendor's. An entry may be NULL only where it is marked (optional).
 * Every device has an in-order queue; "queued" means on it. What queue_new returns
 * stands for another queue wherever a device is expected. Thread-safe: a backend locks
 * what its vendor does not. A vendor's failure is GA_IMPL_ERROR with call, error name
 * and text; out of memory is GA_MEMORY_ERROR; a failed build is GA_COMPILE_ERROR. */
#ifndef GA_C_BACKEND_H
#define GA_C_BACKEND_H

#include <stdint.h>

#include "c/base/strbuf.h"
#include <gpuarray/blas.h>

/* Properties of a device; filled once when it is opened. */
typedef struct ga_device_info {
  char name[256];      /* the vendor's name */
  char bin_id[256];    /* target of compiled code: architecture, compiler version */
  char arch[16];       /* compute capability for cross compilation, "sm_90", or "" */
  char unique_id[16];  /* PCI bus id, or "" */
  size_t total_memory; /* bytes */
  size_t max_alloc;    /* bytes of the largest buffer */
  size_t local_memory; /* bytes of shared memory per block */
  size_t max_grid[3];
  size_t max_block[3];
  size_t max_threads; /* per block */
  unsigned int processors;
  unsigned int warp;         /* size; on a CPU the number of SIMD lanes */
  bool has_double, has_half; /* float64 arithmetic; half arithmetic */
  bool is_cpu, is_discrete_gpu, is_gpu;
  bool has_progress; /* forward progress of started blocks (they may spin on one
                        another), and warp intrinsics of 32 threads in the prelude */
} ga_device_info;

/* An argument of a launch. */
enum ga_arg_kind {
  GA_ARG_MEMORY, /* a buffer */
  GA_ARG_OFFSET, /* a ga_size: byte offset into `buffer` */
  GA_ARG_VALUE   /* `size` bytes of `value` */
};
typedef struct ga_arg {
  enum ga_arg_kind kind;
  bool is_read_only; /* MEMORY: the kernel does not write to it */
  char number;       /* VALUE: 'i' if known to be an integer, whatever the parameter's
                        type, 'f' if a float or a double, else 0 */
  unsigned int size; /* of the value; 8 for GA_ARG_OFFSET */
  gpudata *buffer;   /* MEMORY: the argument; OFFSET: the buffer it refers to */
  union {
    uint64_t u64;
    unsigned char bytes[16];
  } value;
} ga_arg;

#define GA_MAX_ARGS 256

/* Launch configuration: grid[i] blocks of block[i] threads in nd dimensions, with
 * `shared` bytes of dynamic shared memory (on OpenCL an extra last argument, if not
 * 0). */
typedef struct ga_launch {
  unsigned int nd;
  size_t grid[3], block[3];
  size_t shared;
  size_t elements; /* that any number of threads may share, by strides of them; or 0 */
  unsigned int n_args;
  const ga_arg *args;
} ga_launch;

/* BLAS routines. GER is a GEMM with k = 1 and beta = 1, DOT a GEMM with m = n = 1: no
 * vendor gains by routines of their own. */
enum ga_blas_routine { GA_BLAS_GEMM, GA_BLAS_GEMV };

/* Epilogue of a GEMM: applied to the sums before they are stored. */
enum ga_blas_epilogue { GA_BLAS_PLAIN, GA_BLAS_BIAS, GA_BLAS_BIAS_RELU };

/* A column-major matrix: element (i, j) at i + j * ld elements from the first; or a
 * vector: element i at i * ld, also for negative ld. */
typedef struct ga_blas_operand {
  gpudata *buffer;
  size_t offset; /* bytes, of the first element */
  ssize_t ld;    /* leading dimension (at least 1), or a vector's increment (not 0) */
  ssize_t step;  /* batch stride, in elements */
} ga_blas_operand;

/* A BLAS call. GEMM: c (m, n) = alpha op(a) op(b) + beta c, with inner dimension k,
 * `batch` times. GEMV: c = alpha op(a) b + beta c, where a is (m, n), b and c are
 * vectors. alpha and beta are real and imaginary parts; real types use the real part.
 * With beta 0 the output is not read. half and bfloat16 accumulate in float. */
typedef struct ga_blas_call {
  enum ga_blas_routine routine;
  enum ga_blas_epilogue epilogue; /* BIAS: + bias[i] in row i; then RELU: max(0, ) */
  int typecode;
  bool is_tf32; /* float may be rounded to tf32, for tensor cores */
  cb_transpose ta, tb;
  size_t m, n, k, batch;
  double alpha[2], beta[2];
  ga_blas_operand a, b, c;
  ga_blas_operand bias; /* a vector of m elements with ld 1 */
} ga_blas_call;

#define GA_BLAS_KINDS 97 /* number of built-in kernels, see c/blas/blas_kernels.h */
#define GA_BLAS_TYPES 6  /* half, bfloat16, float, double, complex64, complex128 */

/* A vendor's BLAS. */
typedef struct ga_blas {
  /* True if `call` supports this product; reads no buffer. */
  bool (*serves)(void *device, const ga_blas_call *call);
  /* True if it was measured to be faster than our own kernels. */
  bool (*prefers)(void *device, const ga_blas_call *call);
  /* Queued. No size is 0, the batch is at least 1. */
  int (*call)(void *device, const ga_blas_call *call);
} ga_blas;

/* Routines of a dense solver (LAPACK). */
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

/* A factorization or a solution for each matrix of a batch. Matrices are column-major
 * and overwritten, as by LAPACK's routine of the same meaning. `values` has a vector
 * for each matrix. Operands that a routine does not use are zero. CHOLESKY: a (n, n).
 * LU: a (m, n), values: pivots, GA_LONG counted from 1. LU_SOLVE: a (n, n) and pivots
 * of LU, b (n, k). QR: a (m, n), values: tau. QR_VECTORS: a (m, n) from its first k
 * columns and tau. SVD: a (m, n) with m >= n, values: singular values; b: U, c: V^H,
 * both only with has_vectors, square if is_full. EIGH: a (n, n), values; a becomes the
 * eigenvectors. EIG: a (n, n) complex, values, b: the eigenvectors. */
typedef struct ga_solver_call {
  enum ga_solver_routine routine;
  int typecode; /* of a */
  bool is_upper, has_vectors, is_full;
  bool is_narrow;     /* pivots are GA_INT */
  cb_transpose trans; /* of LU_SOLVE */
  size_t m, n, k, batch;
  ga_blas_operand a, b, c, values;
  ga_blas_operand info; /* GA_INT, one for each matrix: 0 is success */
  gpudata *work;        /* workspace; NULL for 0 bytes */
  size_t work_size;
} ga_solver_call;

/* A vendor's dense solver. */
typedef struct ga_solver {
  /* Opens the library once: GA_LOAD_ERROR if it is missing. */
  int (*open)(void *device);
  bool (*serves)(void *device, const ga_solver_call *call);
  /* True if a call of LU or LU_SOLVE must have is_narrow. */
  bool (*narrows)(void *device, const ga_solver_call *call);
  /* Bytes of workspace that `call` needs. */
  int (*workspace)(size_t *out, void *device, const ga_solver_call *call);
  /* Queued; EIG may wait. No size is 0. */
  int (*call)(void *device, const ga_solver_call *call);
} ga_solver;

/* FFTs of a batch of C-contiguous arrays of 1 to 3 axes. Real transforms store half the
 * spectrum: the last axis has n real elements and n / 2 + 1 complex ones. No
 * scaling. */
typedef struct ga_fft_call {
  int from_type, to_type; /* of the elements */
  bool is_inverse;        /* sign + in the exponent */
  unsigned int rank;
  size_t n[3], batch; /* n: transform lengths */
  ga_blas_operand from, to;
  gpudata *work;
  size_t work_size;
} ga_fft_call;

/* A vendor's FFT. */
typedef struct ga_fft {
  int (*open)(void *device); /* as ga_solver's */
  int (*workspace)(size_t *out, void *device, const ga_fft_call *call);
  /* Queued. A complex input of real results is overwritten. */
  int (*call)(void *device, const ga_fft_call *call);
} ga_fft;

/* Which of a convolution's three arrays is computed from the other two. */
enum ga_dnn_role { GA_DNN_FORWARD, GA_DNN_BY_IMAGE, GA_DNN_BY_FILTERS };

#define GA_DNN_MAX_AXES 3 /* spatial */

/* An array of batch or results, channels, and spatial axes; strides in elements. */
typedef struct ga_dnn_operand {
  gpudata *buffer;
  size_t offset; /* bytes */
  size_t shape[2 + GA_DNN_MAX_AXES];
  ssize_t strides[2 + GA_DNN_MAX_AXES];
} ga_dnn_operand;

/* A convolution, or a gradient of it: result[n, r, o] is the sum over channels c and
 * filter elements f of image[n, c, o * stride + f * dilation - before] times
 * filters[r, c, f]. The role's array is written: result, image or filters; it overlaps
 * no other. half, bfloat16 and float accumulate in float. */
typedef struct ga_dnn_call {
  enum ga_dnn_role role;
  int typecode;
  unsigned int nd; /* spatial axes, at least 1 */
  unsigned int groups;
  bool is_flipped;       /* filters[r, c, -f], counted from the end */
  bool is_tf32;          /* float may be rounded to tf32, for tensor cores */
  bool is_deterministic; /* the same arrays give the same bits */
  size_t stride[GA_DNN_MAX_AXES], dilation[GA_DNN_MAX_AXES];
  size_t before[GA_DNN_MAX_AXES], after[GA_DNN_MAX_AXES]; /* padding with zeros */
  ga_dnn_operand image, filters, result;
  gpudata *work; /* workspace; NULL for 0 bytes */
  size_t work_size;
} ga_dnn_call;

static inline const ga_dnn_operand *ga__dnn_written(const ga_dnn_call *call) {
  return call->role == GA_DNN_FORWARD    ? &call->result
         : call->role == GA_DNN_BY_IMAGE ? &call->image
                                         : &call->filters;
}

/* A vendor's library of neural networks (ADR 0038). */
typedef struct ga_dnn {
  /* Opens the library and makes the handle of this queue, once: GA_LOAD_ERROR if it is
   * missing. No initialization is possible during capture. */
  int (*open)(void *device);
  /* Opens the library without a device, for its version. */
  int (*version)(size_t *out);
  /* True if `call` may support this convolution; reads no buffer. */
  bool (*serves)(void *device, const ga_dnn_call *call);
  /* Chooses an algorithm, where need be by timing some on memory of its own, which
   * waits; bytes of workspace that it needs. Choices are kept in `folder` of the disk
   * cache, NULL where that is off. Buffers may be placeholders. GA_DEVSUP_ERROR if no
   * algorithm supports the call. */
  int (*workspace)(size_t *out, void *device, const ga_dnn_call *call,
                   const char *folder);
  /* Queued. No length is 0. */
  int (*call)(void *device, const ga_dnn_call *call);
} ga_dnn;

/* Interoperability: how other libraries of the process share a device's memory and
 * order their work with its queue. A `stream` is DLPack's (gpuarray/dlpack.h), not
 * -1. */
typedef struct ga_sharing {
  int device_type; /* DLPack's DLDeviceType */
  bool is_address; /* memory is a device address; else an opaque handle without pointer
                      arithmetic */
  /* (optional) The stream that is in order with the queue. */
  int (*stream)(intptr_t *out, void *device);
  /* publish: the stream waits for the queue. follow: the queue waits for the stream. */
  int (*publish)(void *device, intptr_t stream);
  int (*follow)(void *device, intptr_t stream);
  /* (optional) GA_INVALID_ERROR unless the device can access this foreign memory; *size
   * becomes its bytes. */
  int (*check)(size_t *size, void *device, void *memory);
  /* (optional) Replaces a sub-buffer *memory by its parent, and adds up *offset.
   * Anything else stays as it is. */
  void (*whole)(void **memory, size_t *offset, void *device);
} ga_sharing;

/* A vendor-specific function, by name (gpuarray/extension.h). */
typedef struct ga_extension {
  const char *name; /* NULL ends a list */
  void (*function)(void);
} ga_extension;

/* Collectives (NCCL): processes or threads with a device each that reduce and exchange
 * buffers. `comm` is the vendor's communicator. The caller has checked types with
 * has_type. Failures are GA_COMM_ERROR with the library's text. Queued; only open
 * waits, for all ranks. */
/* Messages that are one operation: part i of `from` goes to rank i, for the ranks from
 * first_target to before last_target; part i of `to` comes from rank i, likewise. Parts
 * are `step` bytes apart; a step of 0 has one part for whatever rank. */
typedef struct ga_exchange {
  const void *from;
  void *to;
  size_t count; /* elements of a part */
  int typecode;
  size_t from_step, to_step;
  int first_target, last_target, first_source, last_source;
} ga_exchange;

typedef struct ga_collectives {
  int (*unique_id)(char id[128]);
  int (*open)(void **comm, void *device, const char id[128], int ranks, int rank);
  void (*close)(void *device, void *comm);
  bool (*has_type)(int typecode);
  /* `op` is an enum gpucomm_reduce_ops; `to` is NULL on ranks that receive nothing. */
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
  int (*exchange)(void *device, void *comm, const ga_exchange *what);
  /* Ends what is queued, with results undefined, and frees the communicator. May be
   * called while another thread waits for the device. */
  void (*abort)(void *device, void *comm);
  /* GA_COMM_ERROR with the text of an asynchronous error, if there was one. */
  int (*state)(void *comm);
} ga_collectives;

/* Pinned (page-locked) host memory, which the device reads and writes by DMA. It may
 * outlive the device. */
typedef struct ga_pinning {
  /* *handle is the vendor's. Fails where the device gains nothing by pinned memory. */
  int (*alloc)(void **handle, void **host, void *device, size_t size);
  /* `device` is NULL if it was closed, after `leave`. No queued work uses the
   * memory. */
  void (*free)(void *device, void *handle, void *host, size_t size);
  /* Unregisters before the device is closed; address and content stay. */
  void (*leave)(void *device, void *handle, void *host);
  /* Asynchronous copies between the device and pinned memory: queued, complete when the
   * queue has reached them. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  int (*write)(void *device, void *memory, size_t offset, const void *host,
               size_t size);
} ga_pinning;

/* Destination of a copy to the host. */
enum ga_reading_way {
  GA_READ_COPIES, /* pageable memory */
  GA_READ_PINNED, /* memory of the backend's pinning */
  GA_READ_LENT /* zero-copy: mapped memory, valid when the work on the buffer is done */
};

/* A copy from the device to the host, of at least one byte. */
typedef struct ga_reading {
  enum ga_reading_way way;
  void *host;
  gpudata *buffer;
  void *memory; /* the buffer's */
  size_t offset, size;
} ga_reading;

/* The pragma (OpenCL's spelling) that forbids contraction into FMA. A backend whose
 * language lacks it must recognize it in the source. */
#define GA_ROUNDED "#pragma OPENCL FP_CONTRACT OFF"

typedef struct ga_backend {
  const char *name;    /* "cuda" */
  const char *prelude; /* definitions of the kernel language for this vendor */
  /* CPU math functions that replace the language's, only in sources that call them; a
   * list that ends with NULL, or NULL. */
  const char *const *math;
  bool compiles_at_once; /* compilation gains by several threads */
  size_t sure_threads;   /* block size that every kernel supports, or 0 if unknown */

  /* Adds the search report, a line for each attempt. Loads the libraries first. */
  void (*report)(ga_strbuf *out);
  int (*platform_count)(unsigned int *out);
  int (*device_count)(unsigned int *out, unsigned int platform);
  /* Properties of a device without opening it. */
  int (*probe)(ga_device_info *out, unsigned int platform, unsigned int index);

  int (*open)(void **device, ga_device_info *info, unsigned int platform,
              unsigned int index);
  /* (optional) Opens a device on a native context of the application's and identifies
   * the device. The application keeps its context alive until close. */
  int (*adopt)(void **device, ga_device_info *info, unsigned int *platform,
               unsigned int *index, void *native);
  /* Waits, then frees everything. */
  void (*close)(void *device);

  int (*alloc)(void **memory, void *device, size_t size);
  /* No queued work uses the memory. */
  void (*free)(void *device, void *memory);
  /* Free bytes on the device; GA_DEVSUP_ERROR where the vendor has no query. */
  int (*free_memory)(size_t *out, void *device);

  /* Synchronous. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  /* (optional) Several reads with one wait, where they are small. */
  int (*read_all)(void *device, unsigned int n, const ga_reading *list);
  /* Returns when `host` may be reused; large copies are staged through pinned memory.
   * Sets *waited if the host waited for queued work. */
  int (*write)(void *device, void *memory, size_t offset, const void *host, size_t size,
               bool *waited);
  /* Queued. The ranges do not overlap. */
  int (*copy)(void *device, void *to, size_t to_offset, void *from, size_t from_offset,
              size_t size);
  int (*fill)(void *device, void *memory, size_t offset, unsigned char byte,
              size_t size);
  /* (optional) Host memory that the device can access. *host is its host address, or
   * NULL where only kernels and copies may touch it. */
  int (*host_alloc)(void **memory, void **host, void *device, size_t size);
  void (*host_free)(void *device, void *memory, void *host);
  /* (optional) Host address of device memory on a device with unified memory; NULL
   * where there is none. */
  void *(*host_address)(void *device, void *memory);
  const ga_pinning *pinning; /* (optional) */
  /* (optional) Drops caches about foreign memory, which its owner may have freed. */
  void (*forget)(void *device);
  /* (optional) Peer copy between two devices of this vendor, queued on the first. The
   * caller orders the queues by events. */
  int (*copy_peer)(void *to_device, void *to, size_t to_offset, void *from_device,
                   void *from, size_t from_offset, size_t size);

  /* Compiles a complete source (prelude included). GA_COMPILE_ERROR leaves the vendor's
   * log in `log`. */
  int (*compile)(void **program, void *device, const char *source, ga_strbuf *log);
  /* (optional) Cross compilation, without a device, for an architecture as in
   * info.arch; *bytes (ga__alloc) is input for `load`. GA_VALUE_ERROR for a malformed
   * architecture, GA_DEVSUP_ERROR for one that the compiler does not know. */
  int (*compile_for)(const char *source, const char *arch, void **bytes, size_t *size,
                     ga_strbuf *log);
  /* The program's binary; the caller frees *bytes with ga__free. */
  int (*binary)(void **bytes, size_t *size, void *device, void *program);
  /* A program from a binary; GA_COMPILE_ERROR if the vendor refuses it. */
  int (*load)(void **program, void *device, const void *bytes, size_t size);
  void (*unload)(void *device, void *program);
  /* A kernel of the program, which must outlive it. `waits`: it begins by KERNEL_BEGIN,
   * so that its launches may start before what they depend on has ended. */
  int (*kernel)(void **kernel, void *device, void *program, const char *name,
                bool waits);
  void (*kernel_free)(void *device, void *kernel);
  /* Maximum block size of the kernel. */
  int (*kernel_threads)(size_t *out, void *device, void *kernel);
  /* Number of parameters; GA_DEVSUP_ERROR if unknown. NULL where `launch` itself
   * refuses a wrong number of arguments. */
  int (*kernel_parameters)(unsigned int *out, void *device, void *kernel);
  int (*launch)(void *device, void *kernel, const ga_launch *launch);

  /* Waits for the queue. Asynchronous failures are GA_RUN_ERROR. */
  int (*wait)(void *device);
  /* (optional, both or none) Another in-order queue of an open device. It must be idle
   * when freed, before the device is closed. */
  int (*queue_new)(void **queue, void *device);
  void (*queue_free)(void *queue);
  /* (optional, both or none) Queues a progress mark, not 0; returns the latest mark
   * passed (0 at first), to find the launch at which a queue failed. */
  int (*mark)(void *device, uint32_t mark);
  void (*progress)(uint32_t *mark, void *device);

  /* An event: done when all work queued before it is. `timed` if event_seconds will be
   * called. */
  int (*event)(void **event, void *device, bool timed);
  /* The queue waits for an event of another queue, of whichever device. */
  int (*event_order)(void *device, void *event);
  int (*event_done)(bool *out, void *device, void *event);
  int (*event_wait)(void *device, void *event);
  /* Device time in seconds between two events that are done. */
  int (*event_seconds)(double *out, void *device, void *start, void *end);
  void (*event_free)(void *device, void *event);
  /* (optional, all or none) Commands with events of their own (OpenCL). `watch` asks
   * for the event of what this thread queues next; `watched` ends that and returns the
   * latest command's event, or NULL where the host did the work. event_span: start and
   * end in seconds since the event `origin`. Without these a command is timed by an
   * event before and one after it. */
  void (*watch)(void *device);
  void *(*watched)(void *device);
  int (*event_span)(double *start, double *end, void *device, void *origin,
                    void *event);

  /* (optional, all or none) Graph capture: the launches, copies, fills and products of
   * this thread between begin and end are recorded, not queued. Nothing else may be
   * called in between; end is called in every case. Commands are a chain, each after
   * the one before. With `lanes` (at most graph_lanes) graph_next is called before each
   * command with its dependencies, counted from 0; products in different lanes may run
   * at once. */
  unsigned int graph_lanes; /* 0: no graph_next */
  int (*graph_begin)(void *device, unsigned int lanes);
  int (*graph_next)(void *device, unsigned int n, const unsigned int *after,
                    unsigned int lane);
  int (*graph_end)(void **graph, void *device);
  int (*graph_launch)(void *device, void *graph);
  void (*graph_free)(void *device, void *graph);
  /* (optional, all or none) Conditional nodes of a graph without lanes: the commands
   * between graph_if and graph_else run if any of `size` bytes is not 0 at that time,
   * those between graph_else and graph_end_if otherwise. They nest. graph_chooses: true
   * if this device supports them; else the others are not called. */
  bool (*graph_chooses)(void *device);
  int (*graph_if)(void *device, void *memory, size_t offset, size_t size);
  int (*graph_else)(void *device);
  int (*graph_end_if)(void *device);

  /* (optional) Opens the vendor's BLAS; `blas` is used only afterwards. Where either is
   * NULL, or this fails with GA_LOAD_ERROR, the library uses its own kernels. No
   * initialization is possible during capture, so it is done here, `with_epilogues`
   * also for those. */
  int (*blas_open)(void *device, bool with_epilogues);
  const ga_blas *blas;
  const ga_solver *solver; /* (optional) */
  const ga_fft *fft;       /* (optional) */
  const ga_dnn *dnn;       /* (optional) */

  const ga_sharing *sharing;         /* (optional) */
  const ga_collectives *collectives; /* (optional) */
} ga_backend;

/* The backend's memory of a buffer: the first member of gpudata, argument of launch,
 * read, copy ... */
static inline void *ga__buffer_memory(const gpudata *buffer) {
  return *(void *const *)(const void *)buffer;
}

extern const ga_backend ga__cuda_backend, ga__opencl_backend, ga__null_backend;
extern const ga_extension ga__cuda_extensions[], ga__opencl_extensions[],
    ga__null_extensions[];

#endif
