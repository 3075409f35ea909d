/* cuFFT behind the backend's table; see c/backend/backend.h. */
#ifndef GA_CUDA_FFT_H
#define GA_CUDA_FFT_H

#include "cuda/device.h"

extern const ga_fft ga__cuda_fft;

/* The device's context is current and its queue empty. */
void ga__cuda_fft_close(ga_cuda_device *device);

#endif
