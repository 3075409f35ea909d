/* Large transfers between a device and any memory of the host, in pieces. */
#ifndef GA_C_PIECES_H
#define GA_C_PIECES_H

#include "c/device/context.h"

#define GA_PIECES_LEAST ((size_t)4 << 20) /* bytes from which pieces pay */

/* Copies `size` bytes at `offset` of the device's memory to the host, or from there
 * where `writes`, and waits. Several threads copy between `host` and pinned memory
 * while the device copies other pieces. GA_DEVSUP_ERROR, and nothing is done, where
 * there is no pinned memory for that. */
int ga__pieces_copy(gpucontext *ctx, void *device, void *memory, size_t offset,
                    void *host, size_t size, bool writes);

#endif
