/* Transfers between host and devices; see c/backend/backend.h. */
#ifndef GA_CUDA_TRANSFER_H
#define GA_CUDA_TRANSFER_H

#include "cuda/device_state.h"

int ga__cuda_read_all(void *device, unsigned int n, const ga_reading *list);
int ga__cuda_read(void *device, void *host, void *memory, size_t offset, size_t size);
int ga__cuda_write(void *device, void *memory, size_t offset, const void *host,
                   size_t size, bool *waited);
int ga__cuda_copy(void *device, void *to, size_t to_offset, void *from,
                  size_t from_offset, size_t size);
int ga__cuda_fill(void *device, void *memory, size_t offset, unsigned char byte,
                  size_t size);
int ga__cuda_copy_peer(void *to_device, void *to, size_t to_offset, void *from_device,
                       void *from, size_t from_offset, size_t size);

/* Frees the staging memory. The context is current and the stream idle. */
void ga__cuda_staging_close(ga_cuda_staging *staging);

#endif
