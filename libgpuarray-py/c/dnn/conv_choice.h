/* Convolutions by the vendor's library, and the choice between it and our kernels. */
#ifndef GA_C_CONV_CHOICE_H
#define GA_C_CONV_CHOICE_H

#include "c/dnn/conv.h"

/* Queues a convolution. */
typedef int (*ga_conv_run)(const ga_conv *c);

/* True if `own` takes no longer than `vendor`. Both are timed once for a signature, on
 * memory of their own, which waits; the answer is kept in memory and on disk. False
 * where they could not be timed. */
bool ga__conv_prefers(const ga_conv *c, ga_conv_run own, ga_conv_run vendor);

/* By the vendor's library. *done: false if `own` is to compute it: the library does not
 * serve the convolution, or is slower. */
int ga__conv_vendor(bool *done, const ga_conv *c, ga_conv_run own);

#endif
