/* Graphs: work recorded once and queued again in one call. */
#ifndef GA_CUDA_GRAPH_H
#define GA_CUDA_GRAPH_H

#include "cuda/device.h"

/* The entries of the backend's table; see c/backend.h. */
int ga__cuda_graph_begin(void *device);
int ga__cuda_graph_end(void **graph, void *device);
int ga__cuda_graph_launch(void *device, void *graph);
void ga__cuda_graph_free(void *device, void *graph);

#endif
