/* Counter-based random numbers: Philox4x32-10.
 *
 * A number depends only on the generator's seed, stream and position when the array is
 * filled, and on the element's index in C order; not on layout or device. Bits,
 * integers, booleans and uniform floats are the same bits on every device; other
 * numbers are equal to 2 ulp.
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
 * complex number have the deviation `scale`. */
int GpuArray_random_normal(GpuArray *a, gpurandom *g, double loc, double scale);
/* Exponential of mean `scale`, from one word (two for float64). */
int GpuArray_random_exponential(GpuArray *a, gpurandom *g, double scale);
/* Integers in [low, low + count) of any integer type, from two words, or four if count
 * is above 2^32; `count` 0 is 2^64, and uint64 numbers are modulo 2^64. Probabilities
 * are exact to 2^-64. */
int GpuArray_random_integers(GpuArray *a, gpurandom *g, int64_t low, uint64_t count);
/* 1 with probability `p`, else 0, from one word; any type that is not complex. */
int GpuArray_random_bernoulli(GpuArray *a, gpurandom *g, double p);

/* What an element of a draw is made of. Real numbers are computed in double for results
 * of float64, int64 and uint64, else in float. */
enum gpurandom_form {
  GA_RANDOM_BY_REAL = 0,  /* one word for float, two for double */
  GA_RANDOM_BY_WORD = 1,  /* one word */
  GA_RANDOM_BY_PAIR = 2,  /* as BY_REAL, but two neighbours from the words of both */
  GA_RANDOM_BY_COUNTS = 3 /* counts of its own, which rejection methods need */
};

enum gpurandom_flags {
  GA_RANDOM_ABOVE = 1, /* a parameter's `least` is not allowed itself */
  GA_RANDOM_BELOW = 2, /* nor its `greatest` */
  GA_RANDOM_WHOLE = 4  /* an integer */
};

/* What must hold between parameters. */
enum gpurandom_relation {
  GA_RANDOM_UNRELATED = 0,
  GA_RANDOM_RISING = 1,    /* the last `related` do not fall: low <= high */
  GA_RANDOM_WITHIN_SUM = 2 /* the third is at most the sum of the first two */
};

typedef struct _gpurandom_parameter {
  const char *name;
  double least, greatest; /* may be infinite */
  int flags;              /* gpurandom_flags */
} gpurandom_parameter;

typedef struct _gpurandom_distribution {
  const char *name;
  int kind; /* of results: 'f' floats; 'i' integers, also as floats; 'b' or booleans */
  int form; /* gpurandom_form */
  unsigned int counts;  /* of an element, for BY_COUNTS */
  int relation;         /* gpurandom_relation */
  unsigned int related; /* number of parameters that it is about, the last ones */
  unsigned int n;       /* number of parameters */
  gpurandom_parameter parameters[4];
} gpurandom_distribution;

/* A row of the table of distributions, counted from 0; NULL behind the last. Static. */
const gpurandom_distribution *gpurandom_table(unsigned int row);
/* Sets *counts to the counts that a draw of `n` elements of a type advances the
 * position by. GA_VALUE_ERROR for an unknown distribution, GA_INVALID_ERROR for a type
 * that its results cannot have. */
int gpurandom_counts(uint64_t *counts, const char *distribution, int typecode,
                     uint64_t n);
/* Device code for kernels of one's own, in CLUDA: the function
 *   REAL ga_draw_NAME(ga_ulong seed, ga_ulong stream, ga_ulong position, ga_ulong i,
 *                     REAL first, ...)
 * which computes element i of the draw that GpuArray_random_draw makes into this type,
 * REAL being ga_double or ga_float as said; nan for parameters out of range. Texts of
 * several distributions may follow one another. `*size` is the size of `text`, and
 * becomes the size needed with the final 0; `text` is filled if that fits, and may be
 * NULL. Fails as gpurandom_counts does. */
int gpurandom_device_code(char *text, size_t *size, const char *distribution,
                          int typecode);
/* Draws from a distribution of the table. Parameter k is values[k], or, where `arrays`
 * and arrays[k] are not NULL, that array, of float64 or float32 as real numbers are
 * computed, which broadcasts to `a` and does not overlap it, or is at the same place.
 * Values out of range are a GA_VALUE_ERROR; where an element of an array is, the result
 * is nan, or -1 in integer types. Integers that do not fit the type become its
 * greatest. GA_INVALID_ERROR for a type that results or parameters cannot have, and
 * another `n` than the distribution's. */
int GpuArray_random_draw(GpuArray *a, gpurandom *g, const char *distribution,
                         unsigned int n, const double *values,
                         const GpuArray *const *arrays);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
