/* The vendors' libraries in the backend table: BLAS, dense solvers, FFT, neural
 * networks and collectives. What backend.h says of its functions holds for these. */
#ifndef GA_C_LIBRARIES_H
#define GA_C_LIBRARIES_H

#include <stdbool.h>

#include <gpuarray/blas.h>

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
 * LU: a (m, n), values: pivots counted from 1, GA_LONG or what `narrows` asks for.
 * LU_SOLVE: a (n, n) and pivots of LU, b (n, k). QR: a (m, n), values: tau. QR_VECTORS:
 * a (m, n) from its first k columns and tau. SVD: a (m, n) with m >= n, values:
 * singular values; b: U, c: V^H, both only with has_vectors, square if is_full. EIGH: a
 * (n, n), values; a becomes the eigenvectors. EIG: a (n, n) complex, values, b: the
 * eigenvectors. */
typedef struct ga_solver_call {
  enum ga_solver_routine routine;
  int typecode; /* of a */
  bool is_upper, has_vectors, is_full;
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
  /* True if the pivots of a call of LU or LU_SOLVE must be GA_INT. */
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
 * no other but the residual. half, bfloat16 and float accumulate in float.
 *
 * A result may have an epilogue: + residual, of its shape and strides, then + bias, of
 * length 1 along all axes but the channels, then max(0, ), which keeps nan. */
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
  ga_dnn_operand bias, residual; /* of no buffer: not there */
  bool is_relu;
  gpudata *work; /* workspace; NULL for 0 bytes */
  size_t work_size;
} ga_dnn_call;

static inline const ga_dnn_operand *ga__dnn_written(const ga_dnn_call *call) {
  return call->role == GA_DNN_FORWARD    ? &call->result
         : call->role == GA_DNN_BY_IMAGE ? &call->image
                                         : &call->filters;
}

/* The buffers of a call, those that are not there NULL: image, filters, result, bias,
 * residual, workspace. *writes: it is written. */
enum { GA_DNN_BUFFERS = 6 };
static inline gpudata *ga__dnn_buffer(bool *writes, const ga_dnn_call *call,
                                      unsigned int i) {
  const ga_dnn_operand *const list[] = {&call->image, &call->filters, &call->result,
                                        &call->bias, &call->residual};
  *writes = i == GA_DNN_BUFFERS - 1 || list[i] == ga__dnn_written(call);
  return i == GA_DNN_BUFFERS - 1 ? call->work : list[i]->buffer;
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
   * algorithm supports the call. *cost (may be NULL): nanoseconds that it took, less
   * those of a pass over the result where it has an epilogue; 0 if it was not timed. */
  int (*workspace)(size_t *out, int64_t *cost, void *device, const ga_dnn_call *call,
                   const char *folder);
  /* Queued. No length is 0. */
  int (*call)(void *device, const ga_dnn_call *call);
} ga_dnn;

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

/* Collectives (NCCL): processes or threads with a device each that reduce and exchange
 * buffers. `comm` is the vendor's communicator. The caller has checked types with
 * has_type. Failures are GA_COMM_ERROR with the library's text. Queued; only open
 * waits, for all ranks. */
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

#endif
