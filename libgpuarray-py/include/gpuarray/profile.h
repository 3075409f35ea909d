/* Profiles: the device time of each launch, copy and product of a context.
 *
 * While a profile runs, every command that the library queues on the context is timed
 * by events in its queue; a plan is replayed command by command. On CUDA a command that
 * meets an idle device also counts the few microseconds that its launch takes.
 *
 * Ownership: the caller owns a profile; it keeps its context alive. Waiting:
 * gpuprofile_stop waits for the context, gpuprofile_start for its default queue, and
 * gpuprofile_release stops one that runs. Failure: a status, with outputs untouched.
 * Threads: work may be queued by several threads while a profile runs; the functions
 * here are for one thread at a time. */
#ifndef GPUARRAY_PROFILE_H
#define GPUARRAY_PROFILE_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _gpuprofile gpuprofile;

/* What a span is of. */
enum gpuspan_kind {
  GPUARRAY_SPAN_LAUNCH = 0,
  GPUARRAY_SPAN_LIBRARY = 1, /* a call of the vendor's library, as for a product */
  GPUARRAY_SPAN_COPY = 2,
  GPUARRAY_SPAN_FILL = 3,
  GPUARRAY_SPAN_READ = 4, /* to the host */
  GPUARRAY_SPAN_WRITE = 5 /* from the host */
};

/* A command and when the device did it. The texts stay valid until the process ends. */
typedef struct _gpuspan {
  const char *name;   /* of the kernel, or what it is */
  const char *label;  /* of the thread that queued it; see gpuarray_set_label */
  int kind;           /* an enum gpuspan_kind */
  unsigned int queue; /* 0: the default one */
  size_t bytes;       /* that were moved; 0 for a launch */
  double start, end;  /* seconds of device time since the profile began */
} gpuspan;

/* Begins to time what is queued on the context. At most `most` spans are kept (0: a
 * million), the others counted. GA_UNSUPPORTED_ERROR if the context is being profiled
 * already, GA_DEVSUP_ERROR where its queue keeps no times. */
int gpuprofile_start(gpuprofile **res, gpucontext *ctx, size_t most);
/* Ends it; done on one that has ended, nothing happens. Reports what failed meanwhile.
 */
int gpuprofile_stop(gpuprofile *p);
/* Of a profile that has ended, in the order of the calls: writes at most `capacity`
 * spans from number `first` on to `list`, their count to *count, and the number of all
 * spans to *total. *lost, if wanted, counts the commands that have no span: past
 * `most`, or done by the host where no device works. */
int gpuprofile_spans(gpuprofile *p, size_t first, size_t capacity, gpuspan *list,
                     size_t *count, size_t *total, size_t *lost);
/* Frees a profile. NULL is fine. */
void gpuprofile_release(gpuprofile *p);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
