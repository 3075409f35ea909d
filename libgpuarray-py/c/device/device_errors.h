/* Wrong indices and failed factorizations that kernels report: a word on the device,
 * looked at by the next wait.
 *
 * The word is six ga_uint: how many were reported, and of the first one its site, index
 * and length, the latter two in halves, low first. A negative length tells of a matrix
 * at `index` of a stack, whose factorization failed. */
#ifndef GA_C_DEVICE_ERRORS_H
#define GA_C_DEVICE_ERRORS_H

#include "c/device/arguments.h"

typedef struct ga_reports ga_reports;

/* To be called after a wait on a queue: GA_INDEX_ERROR or GA_LINALG_ERROR, once, if a
 * launch on it has reported something. Cheap where no launch could have. */
int ga__report_check(gpuqueue *q);
/* The same for every queue of the context. */
int ga__report_check_all(gpucontext *ctx);
/* Around the queuing of a launch that has the word: nobody clears it meanwhile, so that
 * no report comes between reading and clearing. */
void ga__report_enter(gpucontext *ctx);
void ga__report_leave(gpucontext *ctx);
/* The word, and the number by which a kernel reports to it for this operation under
 * this label. */
int ga__report_site(gpudata **word, unsigned int *number, gpucontext *ctx,
                    const char *operation, const char *label);
/* Adds what a kernel reports a wrong index with: GLOBAL_MEM ga_uint *word, ga_size
 * word_off, ga_uint site. It calls ga_report_index(word, word_off, site, index, length)
 * of the prelude, with the index and length as ga_long, and goes on with some index
 * that is in bounds. The next wait on the context then fails once with GA_INDEX_ERROR;
 * the text has `operation`, the index, the length and the thread's label; the context
 * stays usable. */
int ga__args_report(ga_args *args, gpucontext *ctx, const char *operation);
/* How many were reported and not told of yet, a ga_uint, for kernels to read: borrowed.
 */
int ga__report_count(gpudata **count, gpucontext *ctx);
/* What a number that ga__report_site gave stands for; both interned. */
void ga__report_names(const char **operation, const char **label, gpucontext *ctx,
                      unsigned int number);
/* The buffer of GA_CTX_PROP_ERRBUF: borrowed, zeroed when it is made. */
int ga__report_user_buffer(gpudata **out, gpucontext *ctx);
/* The context is closed and its queues are idle. */
void ga__reports_close(gpucontext *ctx);

#endif
