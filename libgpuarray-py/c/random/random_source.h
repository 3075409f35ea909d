/* The kernel texts of random numbers. Pure. */
#ifndef GA_C_RANDOM_SOURCE_H
#define GA_C_RANDOM_SOURCE_H

#include "c/program/kernel.h"

enum ga_random_kind {
  GA_RANDOM_BITS,
  GA_RANDOM_UNIFORM,
  GA_RANDOM_NORMAL,
  GA_RANDOM_EXPONENTIAL,
  GA_RANDOM_INTEGERS,      /* of counts up to 2^32 */
  GA_RANDOM_WIDE_INTEGERS, /* of larger ones */
  GA_RANDOM_BERNOULLI
};

/* Compared by bytes. */
typedef struct ga_random_spec {
  unsigned char kind;
  unsigned char typecode; /* no complex one */
  unsigned char nd;       /* axes that are walked; 0: one block in C order */
  unsigned char wide;     /* whether offsets take 64 bits; of one block: 0 */
  unsigned char in_loops; /* a processor whose compiler makes vectors of loops alone */
} ga_random_spec;

/* Words that an element takes. */
unsigned int ga__random_words(enum ga_random_kind kind, int typecode);
/* Elements that an item makes at once. */
unsigned int ga__random_chunk(const ga_random_spec *spec);

/* Arguments: elements, with offset; their number, seed, stream and position (all
 * ga_ulong); two parameters: of UNIFORM low, width and the largest value that may be
 * stored, of NORMAL mean and deviation, of EXPONENTIAL the mean twice, in the type of
 * work; of the others, as ga_ulong, low and count, or the threshold twice. Of one block
 * then whether its elements may be stored 16 bytes at once (ga_uint); else the lengths
 * of the axes but the first (ga_uint) and strides, in elements (ga_int, or ga_long if
 * wide). A ga_make_source. */
int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
