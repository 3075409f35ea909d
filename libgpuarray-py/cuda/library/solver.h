/* cuSOLVER as the backend's solver table; see c/backend/backend.h. */
#ifndef GA_CUDA_SOLVER_H
#define GA_CUDA_SOLVER_H

#include "cuda/device_state.h"

extern const ga_solver ga__cuda_solver;

/* The context is current and the stream idle. */
void ga__cuda_solver_close(ga_cuda_device *device);

#endif
