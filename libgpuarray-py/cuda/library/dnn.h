/* cuDNN as the backend's table of neural networks; see c/backend/backend.h. */
#ifndef GA_CUDA_DNN_H
#define GA_CUDA_DNN_H

#include "cuda/device_state.h"

extern const ga_dnn ga__cuda_dnn;

/* The context is current and the stream idle. */
void ga__cuda_dnn_close(ga_cuda_device *device);

#endif
