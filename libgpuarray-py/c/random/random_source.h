/* Source generator of random kernels. Pure. */
#ifndef GA_C_RANDOM_SOURCE_H
#define GA_C_RANDOM_SOURCE_H

#include "c/program/kernel.h"

enum ga_random_kind {
  GA_RANDOM_BITS,
  GA_RANDOM_INTEGERS,      /* ranges up to 2^32 */
  GA_RANDOM_WIDE_INTEGERS, /* larger ranges */
  GA_RANDOM_BERNOULLI,     /* by a threshold */
  GA_RANDOM_DISTRIBUTION   /* of the table */
};

enum ga_random_kernel {
  GA_RANDOM_BY_ELEMENT, /* each element by itself, with ga_draw_NAME */
  GA_RANDOM_BY_ATTEMPT, /* attempts of neighbours, on GPUs */
  GA_RANDOM_BY_COUNTER, /* the elements of some counters */
  GA_RANDOM_FLAT        /* those of one, into a contiguous array on GPUs */
};

/* Specialization; compared as bytes. */
typedef struct ga_random_spec {
  unsigned char kind;
  unsigned char row;       /* of the table of distributions */
  unsigned char arrays;    /* bit k: parameter k is an array */
  unsigned char typecode;  /* never complex */
  unsigned char nd;        /* number of axes; 0: C-contiguous, without arrays */
  unsigned char wide;      /* 64-bit offsets; contiguous: 0 */
  unsigned char in_loops;  /* CPU whose compiler vectorizes loops only */
  unsigned char kernel;    /* ga_random_kernel */
  unsigned char in_memory; /* seed, stream and position are words on the device */
} ga_random_spec;

/* The kernel of a spec whose other members are set. */
enum ga_random_kernel ga__random_kernel(const ga_random_spec *spec, bool is_gpu);
/* 32-bit words per element; not of distributions BY_COUNTS. */
unsigned int ga__random_words(const ga_random_spec *spec);
/* Elements per item and step; not of attempts. */
unsigned int ga__random_chunk(const ga_random_spec *spec);

/* Arguments: array and offset; count, seed, stream and position (ga_ulong; in memory: a
 * pointer and an offset each of the last three). Then the
 * parameters: of a distribution its scalars, of the real type, and its arrays with
 * offsets, in their order; of others, as ga_ulong, low and count, or the threshold.
 * Then ga_uint: by attempt, the rows of a tile; by counters and contiguous, whether
 * vectors are aligned; else the lengths of the axes but the first (ga_uint) and the
 * strides in elements (ga_int; ga_long if wide), those of the array and of each
 * parameter's. A ga_make_source. */
int ga__random_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
