/* Pipelined transfers between a device and pageable memory. */
#ifndef GA_C_PIECES_H
#define GA_C_PIECES_H

#include "c/device/context.h"

#define GA_PIECES_LEAST ((size_t)4 << 20) /* bytes; below, one copy is faster */

/* Copies `size` bytes at `offset` of device memory to the host (or back if `writes`)
 * and waits. Threads copy between `host` and pinned memory while the device copies
 * other parts. GA_DEVSUP_ERROR, with nothing done, without pinned memory. */
int ga__pieces_copy(gpucontext *ctx, void *device, void *memory, size_t offset,
                    void *host, size_t size, bool writes);

#endif
