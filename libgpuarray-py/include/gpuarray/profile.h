/* Profiles: device time of each launch, copy and product of a context.
 *
 * While a profile runs, events time each command that the library queues on the
 * context; a plan is replayed command by command. On CUDA the time of a command that
 * finds the device idle includes the few microseconds of its launch.
 *
 * Ownership: the caller owns a profile; it keeps its context alive. Waiting:
 * gpuprofile_stop waits for the context, gpuprofile_start for its default queue, and
 * gpuprofile_release stops one that runs. Failure: a status, with outputs untouched.
 * Threads: several threads may queue work while a profile runs; the functions here are
 * for one thread at a time. */
#ifndef GPUARRAY_PROFILE_H
#define GPUARRAY_PROFILE_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuprofile gpuprofile;

/* Kinds of span. */
enum gpuspan_kind {
  GPUARRAY_SPAN_LAUNCH = 0,
  GPUARRAY_SPAN_LIBRARY = 1, /* a call of a vendor's library, such as BLAS */
  GPUARRAY_SPAN_COPY = 2,
  GPUARRAY_SPAN_FILL = 3,
  GPUARRAY_SPAN_READ = 4, /* to the host */
  GPUARRAY_SPAN_WRITE = 5 /* from the host */
};

/* A span: a command and its device time. The texts stay valid until the process ends.
 */
typedef struct _gpuspan {
  const char *name;   /* the kernel's name, or that of the command */
  const char *label;  /* of the thread that queued it; see gpuarray_set_label */
  int kind;           /* an enum gpuspan_kind */
  unsigned int queue; /* 0: the default one */
  size_t bytes;       /* bytes moved; 0 for a launch */
  double start, end;  /* seconds of device time since the profile began */
} gpuspan;

/* Starts a profile of the context. It keeps at most `most` spans (0: a million) and
 * counts the others. GA_UNSUPPORTED_ERROR if a profile of the context runs already,
 * GA_DEVSUP_ERROR if its queue keeps no times. */
int gpuprofile_start(gpuprofile **res, gpucontext *ctx, size_t most);
/* Stops the profile; does nothing if it is stopped. Reports failures of the work
 * meanwhile. */
int gpuprofile_stop(gpuprofile *p);
/* Copies spans of a stopped profile, in the order of the calls: at most `capacity` from
 * index `first` on to `list`, their count to *count, the number of all spans to *total.
 * *lost, unless NULL, counts the commands without a span: beyond `most`, or done by the
 * host where no device works. */
int gpuprofile_spans(gpuprofile *p, size_t first, size_t capacity, gpuspan *list,
                     size_t *count, size_t *total, size_t *lost);
/* Frees a profile. NULL is allowed. */
void gpuprofile_release(gpuprofile *p);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
