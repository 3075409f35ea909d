/* Convolutions on GPUs by our kernels. */
#ifndef GA_C_CONV_GPU_H
#define GA_C_CONV_GPU_H

#include "c/convolution/conv_gather.h"

/* True if our kernel for GPUs takes it: a GPU, shared filters, and 32-bit offsets. */
bool ga__conv_tiles_serve(const ga_conv *c);
int ga__conv_tiles(const ga_conv *c);
/* True if the kernel that takes it can store an expression of each element. */
bool ga__conv_tiles_map(const ga_conv *c);

/* True for a channel a group, and filters that an item's registers hold. */
bool ga__conv_depthwise_serves(const ga_conv *c, const ga_gather *g);
int ga__conv_depthwise(const ga_conv *c, const ga_gather *g);

/* True for a gradient by images of few channels, and filters whose products an item's
 * text has one by one. */
bool ga__conv_transposed_serves(const ga_conv *c);
int ga__conv_transposed(const ga_conv *c);

#endif
