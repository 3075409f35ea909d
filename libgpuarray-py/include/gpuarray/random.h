/* Counter-based random numbers: Philox4x32-10.
 *
 * A number depends only on the generator's seed, stream and position when the array is
 * filled, and on the element's index in C order; not on layout or device. Bits,
 * integers, booleans and uniform floats are the same bits on every device; normal and
 * exponential numbers differ by the rounding of the device's logarithm and sine.
 *
 * Ownership: a generator is a value; a copy repeats its numbers. Waiting: nothing
 * waits. Failure: array and generator are unchanged. Threads: a generator may be used
 * by one thread at a time. A recorded plan repeats the numbers of the generator's state
 * at recording. */
#ifndef GPUARRAY_RANDOM_H
#define GPUARRAY_RANDOM_H

#include <stdint.h>

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* The state of a generator. Philox's counter is (position, stream), low words first,
 * its key is the seed; each count gives 128 bits, four words of 32. Each stream of a
 * seed has 2^64 positions, and streams do not overlap. */
typedef struct _gpurandom {
  size_t size; /* sizeof(gpurandom) */
  uint64_t seed, stream, position;
} gpurandom;

/* Sets seed and stream, and the position to 0. */
void gpurandom_init(gpurandom *g, uint64_t seed, uint64_t stream);

/* Each function below fills `a`, of any layout, and advances the generator's position
 * past the counts used: an element takes as many words as said, and each call begins at
 * a new count. GA_VALUE_ERROR for read-only arrays and parameters out of range,
 * GA_INVALID_ERROR for other types and a generator whose `size` is wrong. */

/* Random bits of any integer type: for 64 bits two words, low first, else the lowest
 * bits of one word. */
int GpuArray_random_bits(GpuArray *a, gpurandom *g);
/* Uniform in [low, high), of float and complex types: a multiple of 2^-24 of the width
 * from one word, for float64 of 2^-53 from two; both parts of a complex number. */
int GpuArray_random_uniform(GpuArray *a, gpurandom *g, double low, double high);
/* Normal, by Box-Muller: two numbers from two words (four for float64). Both parts of a
 * complex number have this deviation. */
int GpuArray_random_normal(GpuArray *a, gpurandom *g, double mean, double deviation);
/* Exponential with this mean, from one word (two for float64). */
int GpuArray_random_exponential(GpuArray *a, gpurandom *g, double mean);
/* Integers in [low, low + count) of any integer type, from two words, or four if count
 * is above 2^32; `count` 0 is 2^64, and uint64 numbers are modulo 2^64. Probabilities
 * are exact to 2^-64. */
int GpuArray_random_integers(GpuArray *a, gpurandom *g, int64_t low, uint64_t count);
/* 1 with this probability, else 0, from one word; any type that is not complex. */
int GpuArray_random_bernoulli(GpuArray *a, gpurandom *g, double probability);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
