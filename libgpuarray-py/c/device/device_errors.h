/* Asynchronous errors of kernels: an error word on the device, checked at the next
 * wait.
 *
 * The word is six ga_uint: error count, then site, index and length of the first error,
 * the latter two as low and high halves. A negative length means a failed factorization
 * of matrix `index` of a stack. */
#ifndef GA_C_DEVICE_ERRORS_H
#define GA_C_DEVICE_ERRORS_H

#include "c/device/arguments.h"

typedef struct ga_reports ga_reports;

/* Call it after a wait on a queue: GA_INDEX_ERROR or GA_LINALG_ERROR, once, if one of
 * its launches has reported an error. Cheap if none could. */
int ga__report_check(gpuqueue *q);
/* The same for every queue of the context. */
int ga__report_check_all(gpucontext *ctx);
/* Around queuing a launch that gets the word: nobody clears it meanwhile, so no report
 * is lost between reading and clearing. */
void ga__report_enter(gpucontext *ctx);
void ga__report_leave(gpucontext *ctx);
/* The word, and the site number with which a kernel reports errors of `operation` under
 * this label. */
int ga__report_site(gpudata **word, unsigned int *number, gpucontext *ctx,
                    const char *operation, const char *label);
/* Adds the parameters for reporting a wrong index: GLOBAL_MEM ga_uint *word, ga_size
 * word_off, ga_uint site. The kernel calls the prelude's ga_report_index(word,
 * word_off, site, index, length), index and length as ga_long, and goes on with some
 * index in bounds. The next wait fails once with GA_INDEX_ERROR, which names
 * `operation`, index, length and the thread's label; the context stays usable. */
int ga__args_report(ga_args *args, gpucontext *ctx, const char *operation);
/* Number of errors not yet raised, a ga_uint that kernels can read. Borrowed. */
int ga__report_count(gpudata **count, gpucontext *ctx);
/* Operation and label of a site number; interned. */
void ga__report_names(const char **operation, const char **label, gpucontext *ctx,
                      unsigned int number);
/* The buffer of GA_CTX_PROP_ERRBUF: borrowed, zeroed at first. */
int ga__report_user_buffer(gpudata **out, gpucontext *ctx);
/* Frees all; the queues are idle. */
void ga__reports_close(gpucontext *ctx);

#endif
