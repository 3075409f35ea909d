/* FFTs along one axis by our own kernel, so that plans can record them. Arrays of float
 * or double; complex arrays have a last axis of length 2. */
#ifndef GA_C_FOURIER_SPEC_H
#define GA_C_FOURIER_SPEC_H

#include "c/array/array.h"
#include "c/program/kernel.h"

/* Bits of `flags`. */
enum {
  GA_FOURIER_INVERSE = 1,
  GA_FOURIER_SCALED = 2,   /* divide by n */
  GA_FOURIER_REAL = 4,     /* real input, without a last axis of length 2 */
  GA_FOURIER_HALF = 8,     /* input is a half spectrum: elements up to n / 2 */
  GA_FOURIER_TO_REAL = 16, /* real output */
  GA_FOURIER_TO_HALF = 32, /* output is a half spectrum: elements up to n / 2 */
  GA_FOURIER_FLAGS = 64
};

/* Specialization; compared as bytes, padding is zero. */
typedef struct ga_fourier_spec {
  unsigned char typecode, wide;
} ga_fourier_spec;

/* FFT of `n` elements along an axis of `a`, cropped or zero-padded, as a new array.
 * GA_INVALID_ERROR or GA_VALUE_ERROR if there is no such axis. */
int ga__fourier(GpuArray *out, const GpuArray *a, long long axis, long long n,
                unsigned int flags);

/* Internal flags of the kernel. */
enum {
  GA_FOURIER_PRE = 64,   /* multiply the input by a table */
  GA_FOURIER_POST = 128, /* multiply the output by a table */
  GA_FOURIER_SWAP = 256, /* swap real and imaginary parts of the input */
  GA_FOURIER_TURN = 512, /* of the output, before the multiplication */
  GA_FOURIER_BACK = 1024 /* and after it */
};
int ga__fourier_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
