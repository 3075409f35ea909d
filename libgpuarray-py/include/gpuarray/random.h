/* Random numbers made by counting: Philox4x32-10.
 *
 * A number depends on the generator's seed and stream, on its position when the array
 * is filled, and on the place of the element in C order; on nothing else, neither the
 * layout of the array nor the device. Bits, integers, truth values and uniform floats
 * are the same bits on every device; normal and exponential numbers differ by the
 * rounding of its logarithm and sine.
 *
 * Ownership: a generator is a value; copying it repeats its numbers. Waiting: nothing
 * waits. Failure: the array and the generator stay as they were. Threads: a generator
 * may be used by one thread at a time. A plan that is recorded repeats the numbers of
 * the state that the generator had. */
#ifndef GPUARRAY_RANDOM_H
#define GPUARRAY_RANDOM_H

#include <stdint.h>

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* The counter of Philox is (position, stream), low words first, and its key is the
 * seed: each count gives 128 bits, four words of 32. Streams of a seed have 2^64
 * positions each and share none. */
typedef struct _gpurandom {
  size_t size; /* sizeof(gpurandom) */
  uint64_t seed, stream, position;
} gpurandom;

/* Sets all of it; the position is 0. */
void gpurandom_init(gpurandom *g, uint64_t seed, uint64_t stream);

/* Each of the following fills `a`, of any layout, and moves the generator's position
 * behind what was used: an element takes the words that are said, and counts begin
 * anew with each call. GA_VALUE_ERROR for read-only arrays and parameters out of range,
 * GA_INVALID_ERROR for types that are not offered and a generator whose size is wrong.
 */

/* Random bits, of any integer type: of 64 bits two words, low first, else one word,
 * whose lowest bits are taken. */
int GpuArray_random_bits(GpuArray *a, gpurandom *g);
/* Uniform in [low, high), of float and complex types: a multiple of 2^-24 of the width,
 * in one word, or of 2^-53 in two for float64; of a complex number both parts. */
int GpuArray_random_uniform(GpuArray *a, gpurandom *g, double low, double high);
/* Normal, by Box and Muller: two numbers from two words (four for float64); of a
 * complex number both parts, each with this deviation. */
int GpuArray_random_normal(GpuArray *a, gpurandom *g, double mean, double deviation);
/* Exponential with this mean, in one word (two for float64). */
int GpuArray_random_exponential(GpuArray *a, gpurandom *g, double mean);
/* Integers low, low + 1 ... low + count - 1 of any integer type, in two words, or four
 * for counts above 2^32; `count` 0 is 2^64, and numbers of uint64 are taken modulo
 * 2^64. No number's probability is off by more than 2^-64. */
int GpuArray_random_integers(GpuArray *a, gpurandom *g, int64_t low, uint64_t count);
/* 1 with this probability, else 0, in one word; of any type but complex ones. */
int GpuArray_random_bernoulli(GpuArray *a, gpurandom *g, double probability);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
