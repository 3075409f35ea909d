/* Statuses, and the text of the last failure.
 *
 * A function that can fail returns one of these codes (0 is success), or writes it
 * through an `int *ret`. The text of a failure names the operation, what was given and
 * what was expected; it stays until the next failure on that thread, and a success does
 * not clear it. NULL where a pointer is required is GA_VALUE_ERROR, in every function.
 * Ownership: texts belong to the library. Waiting: none. Failure: none. Threads: each
 * has the text of its own failures. */
#ifndef GPUARRAY_ERROR_H
#define GPUARRAY_ERROR_H

#include <gpuarray/config.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
enum ga_error {
  GA_NO_ERROR = 0,
  GA_MEMORY_ERROR = 1,      /* no memory on the device or the host */
  GA_VALUE_ERROR = 2,       /* a value or shape that does not fit */
  GA_IMPL_ERROR = 3,        /* a vendor's function failed; the text has its name */
  GA_INVALID_ERROR = 4,     /* a wrong kind of argument: dtype, context, name */
  GA_UNSUPPORTED_ERROR = 5, /* not offered for these arguments */
  GA_SYS_ERROR = 6,         /* the operating system refused */
  GA_RUN_ERROR = 7,         /* a kernel failed while it ran */
  GA_DEVSUP_ERROR = 8,      /* the device or its library cannot do it */
  GA_READONLY_ERROR = 9,
  GA_WRITEONLY_ERROR = 10,
  GA_BLAS_ERROR = 11,
  GA_UNALIGNED_ERROR = 12,
  GA_COPY_ERROR = 13,  /* would need a copy, which nocopy forbids */
  GA_NODEV_ERROR = 14, /* no such device */
  GA_MISC_ERROR = 15,
  GA_COMM_ERROR = 16,
  GA_XLARGE_ERROR = 17,  /* a size over what can be addressed */
  GA_LOAD_ERROR = 18,    /* a library is missing or lacks a function */
  GA_COMPILE_ERROR = 19, /* a generated kernel, as of an expression, does not compile;
                            the text has log and source */
  GA_LOST_ERROR = 20,    /* the context failed earlier, with the first cause in the
                            text; or another thread is ending the process */
  GA_FORK_ERROR = 21,    /* the context was opened before a fork */
  GA_INDEX_ERROR = 22,   /* an index out of bounds, found by a kernel */
  GA_LINALG_ERROR = 23,  /* a matrix that is singular or not positive definite, or an
                            iteration that does not converge */
  GA_ASSERT_ERROR = 24,  /* a condition that the program asserts does not hold */
  GA_LIMIT_ERROR = 25    /* more than this device allows, as of threads in a block */
};

/* The name of a status; "Unknown GA error" for other numbers. Static. */
const char *gpuarray_error_str(int err);

/* The text of the last failure on this thread; "" if there was none. Owned by the
 * thread. */
const char *gpuarray_error_text(void);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
