/* Fourier transforms along one axis by a kernel of our own, which plans may record.
 * Arrays are of floats or doubles; where elements are complex the last axis has length
 * 2: real and imaginary parts. */
#ifndef GA_C_FOURIER_H
#define GA_C_FOURIER_H

#include "c/array/array.h"
#include "c/program/kernel.h"

/* What `flags` says. */
enum {
  GA_FOURIER_INVERSE = 1,
  GA_FOURIER_SCALED = 2, /* divided by n */
  GA_FOURIER_REAL = 4,   /* what is given has no imaginary parts, and no axis of them */
  GA_FOURIER_HALF = 8,   /* of elements and conjugates, those up to n / 2 are given */
  GA_FOURIER_TO_REAL = 16, /* the result has the real parts alone */
  GA_FOURIER_TO_HALF = 32, /* the result has the elements up to n / 2 */
  GA_FOURIER_FLAGS = 64
};

/* A kernel's: bytes of a key, so padding is zero. */
typedef struct ga_fourier_spec {
  unsigned char typecode, wide;
} ga_fourier_spec;

/* A new array: the transform of `n` elements along an axis of `a`. What the axis has
 * more is left out, what it has less are zeros. GA_INVALID_ERROR and GA_VALUE_ERROR for
 * what has no such axis. */
int ga__fourier(GpuArray *out, const GpuArray *a, long long axis, long long n,
                unsigned int flags);

/* The kernel's own flags, behind those above. */
enum {
  GA_FOURIER_PRE = 64,   /* what is read is multiplied by a table */
  GA_FOURIER_POST = 128, /* what is written is */
  GA_FOURIER_SWAP = 256, /* real and imaginary parts exchanged: of what is read */
  GA_FOURIER_TURN = 512, /* of what is written, before it is multiplied */
  GA_FOURIER_BACK = 1024 /* and after that */
};
int ga__fourier_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
