/* cuFFT as the backend's FFT table; see c/backend/backend.h. */
#ifndef GA_CUDA_FFT_H
#define GA_CUDA_FFT_H

#include "cuda/device_state.h"

extern const ga_fft ga__cuda_fft;

/* The context is current and the stream idle. */
void ga__cuda_fft_close(ga_cuda_device *device);

#endif
