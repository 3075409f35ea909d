/* Choices in graphs: parts that run or not by what the device finds. */
#ifndef GA_CUDA_CONDITIONAL_H
#define GA_CUDA_CONDITIONAL_H

#include "cuda/device.h"

/* The entries of the backend's table; see c/backend/backend.h. */
bool ga__cuda_graph_chooses(void *device);
int ga__cuda_graph_if(void *device, void *memory, size_t offset, size_t size);
int ga__cuda_graph_else(void *device);
int ga__cuda_graph_end_if(void *device);

/* For graph.c, with the device current: ends what is open where recording failed, and
 * then fails, for such a graph is not to be instantiated. */
int ga__cuda_choice_end(bool *chose, ga_cuda_device *d);
/* Frees what choices need. */
void ga__cuda_choice_close(ga_cuda_device *d);

#endif
