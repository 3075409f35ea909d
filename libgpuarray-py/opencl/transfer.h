/* Transfers between host and OpenCL device; see c/backend/backend.h. */
#ifndef GA_OPENCL_TRANSFER_H
#define GA_OPENCL_TRANSFER_H

#include "opencl/device_state.h"

void *ga__opencl_host_address(void *device, void *memory);
int ga__opencl_read(void *device, void *host, void *memory, size_t offset, size_t size);
int ga__opencl_write(void *device, void *memory, size_t offset, const void *host,
                     size_t size, bool *waited);
int ga__opencl_copy(void *device, void *to, size_t to_offset, void *from,
                    size_t from_offset, size_t size);
int ga__opencl_fill(void *device, void *memory, size_t offset, unsigned char byte,
                    size_t size);

/* The host address of a buffer, or NULL if it has none. */
char *ga__opencl_host_bytes(ga_opencl_device *device, void *memory, size_t offset);

/* Frees the staging memory. The queue is idle. */
void ga__opencl_staging_close(ga_opencl_device *device);

#endif
