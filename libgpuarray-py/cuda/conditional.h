/* Conditional nodes in CUDA graphs. */
#ifndef GA_CUDA_CONDITIONAL_H
#define GA_CUDA_CONDITIONAL_H

#include "cuda/device_state.h"

/* Backend table entries; see c/backend/backend.h. */
bool ga__cuda_graph_chooses(void *device);
int ga__cuda_graph_if(void *device, void *memory, size_t offset, size_t size);
int ga__cuda_graph_else(void *device);
int ga__cuda_graph_end_if(void *device);

/* Closes conditionals that a failed capture left open; then fails, for the graph is
 * incomplete. The device is current. */
int ga__cuda_choice_end(bool *chose, ga_cuda_device *d);
void ga__cuda_choice_close(ga_cuda_device *d);

#endif
