/* Source generator of mask kernels. Pure. */
#ifndef GA_C_MASK_SOURCE_H
#define GA_C_MASK_SOURCE_H

#include "c/program/kernel.h"

enum ga_mask_kind {
  GA_MASK_COUNT, /* nonzero elements per block */
  GA_MASK_LIST,  /* their indices */
  GA_MASK_PICK,  /* the elements of another array there */
  GA_MASK_SCAN   /* exclusive scan of the block counts, and the total */
};

#define GA_MASK_PER 16      /* adjacent elements per item */
#define GA_MASK_THREADS 256 /* maximum block size, a power of two */

/* Specialization; compared as bytes. */
typedef struct ga_mask_spec {
  unsigned char kind;
  unsigned char typecode; /* of the elements; SCAN: 0 */
  unsigned char nd;       /* axes, at least 1; SCAN: 0 */
  unsigned char wide;     /* 64-bit offsets */
  unsigned char packed;   /* contiguous bools, vector loads */
  unsigned char out;      /* LIST: rank of the indices; else 0 */
  unsigned char word;     /* PICK: element size, a power of two up to 16 */
  unsigned short threads; /* block size, a power of two */
} ga_mask_spec;

/* Arguments, arrays with byte offsets. COUNT: counts (ga_ulong), elements; number of
 * elements and per block, a multiple of the tile (ga_ulong); lengths of the axes but
 * the first (ga_uint); strides in elements (ga_int; ga_long if wide). LIST: scanned
 * counts, elements, indices (ga_long); numbers as COUNT, and the row stride of the
 * indices (ga_ulong); lengths and strides as COUNT; lengths of the original axes but
 * the first (ga_ulong). PICK: scanned counts, elements, output, source; numbers,
 * lengths and strides as COUNT; the source's strides. SCAN: counts, in place, and their
 * number (ga_ulong); the total goes behind the last. A ga_make_source. */
int ga__mask_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
