/* Source generator of random kernels. Pure. */
#ifndef GA_C_RANDOM_SOURCE_H
#define GA_C_RANDOM_SOURCE_H

#include "c/program/kernel.h"

enum ga_random_kind {
  GA_RANDOM_BITS,
  GA_RANDOM_UNIFORM,
  GA_RANDOM_NORMAL,
  GA_RANDOM_EXPONENTIAL,
  GA_RANDOM_INTEGERS,      /* ranges up to 2^32 */
  GA_RANDOM_WIDE_INTEGERS, /* larger ranges */
  GA_RANDOM_BERNOULLI
};

/* Specialization; compared as bytes. */
typedef struct ga_random_spec {
  unsigned char kind;
  unsigned char typecode; /* never complex */
  unsigned char nd;       /* number of axes; 0: C-contiguous */
  unsigned char wide;     /* 64-bit offsets; contiguous: 0 */
  unsigned char in_loops; /* CPU whose compiler vectorizes loops only */
} ga_random_spec;

/* 32-bit words per element. */
unsigned int ga__random_words(enum ga_random_kind kind, int typecode);
/* Elements per item and step. */
unsigned int ga__random_chunk(const ga_random_spec *spec);

/* Arguments: array and offset; count, seed, stream and position (ga_ulong); two
 * parameters: UNIFORM low, width and the largest value to store; NORMAL mean and
 * deviation; EXPONENTIAL the mean twice, in the work type; others, as ga_ulong, low and
 * count, or the threshold twice. Then, if contiguous, ga_uint: 16-byte stores are
 * aligned; else the lengths of the axes but the first (ga_uint) and the strides in
 * elements (ga_int; ga_long if wide). A ga_make_source. */
int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
