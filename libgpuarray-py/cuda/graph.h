/* CUDA graphs by stream capture. */
#ifndef GA_CUDA_GRAPH_H
#define GA_CUDA_GRAPH_H

#include "cuda/device_state.h"

/* Concurrent lanes of products; each but the first has a workspace here. */
#define GA_CUDA_LANES 3

/* Backend table entries; see c/backend/backend.h. */
int ga__cuda_graph_begin(void *device, unsigned int lanes);
int ga__cuda_graph_next(void *device, unsigned int n, const unsigned int *after,
                        unsigned int lane);
int ga__cuda_graph_end(void **graph, void *device);
int ga__cuda_graph_launch(void *device, void *graph);
void ga__cuda_graph_free(void *device, void *graph);

void ga__cuda_graph_close(ga_cuda_device *d);

#endif
