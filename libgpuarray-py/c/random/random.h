/* Draws by a state that is on the device. */
#ifndef GA_C_RANDOM_RANDOM_H
#define GA_C_RANDOM_RANDOM_H

#include <gpuarray/random.h>

/* GpuArray_random_draw of scalars, where `words` are arrays of one uint64 each: seed,
 * stream and position. Advances none of them. */
int ga__random_draw_by(GpuArray *a, const GpuArray *const *words,
                       const char *distribution, const double *values);

#endif
