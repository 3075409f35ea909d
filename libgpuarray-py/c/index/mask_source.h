/* The kernel texts that count, list and pick the elements that are not zero. Pure. */
#ifndef GA_C_MASK_SOURCE_H
#define GA_C_MASK_SOURCE_H

#include "c/program/kernel.h"

enum ga_mask_kind {
  GA_MASK_COUNT, /* per block of elements: how many are not zero */
  GA_MASK_LIST,  /* where they are, from the place that the block begins at */
  GA_MASK_PICK,  /* what another array has there */
  GA_MASK_SCAN   /* counts of blocks to places where they begin, and the whole */
};

#define GA_MASK_PER 16      /* elements of an item, next to each other */
#define GA_MASK_THREADS 256 /* of a block, at most; a power of two */

/* Compared by bytes. */
typedef struct ga_mask_spec {
  unsigned char kind;
  unsigned char typecode; /* of the elements; SCAN: 0 */
  unsigned char nd;       /* axes that are walked, at least 1; SCAN: 0 */
  unsigned char wide;     /* whether offsets take 64 bits */
  unsigned char packed;   /* whether elements are bools, GA_MASK_PER at once */
  unsigned char out;      /* LIST: axes that positions have; else 0 */
  unsigned char word;     /* PICK: bytes of an element, a power of two up to 16 */
  unsigned short threads; /* of a block, a power of two */
} ga_mask_spec;

/* Arguments of COUNT: counts (ga_ulong), elements, both with offsets; their number, and
 * that of a block, a multiple of what the items have together (both ga_ulong); lengths
 * of the axes but the first (ga_uint); strides, in elements (ga_int, or ga_long if
 * wide). Of LIST: where blocks begin (ga_ulong), elements, positions (ga_long), all
 * with offsets; numbers as of COUNT, and how far the lists of two axes are apart
 * (ga_ulong); lengths and strides as of COUNT; lengths of the axes that positions have,
 * but the first (ga_ulong). Of PICK: where blocks begin, elements, what is picked, what
 * is picked from, all with offsets; numbers, lengths and strides as of COUNT; strides
 * of what is picked from. Of SCAN: counts, with offset, changed in place; their number
 * (ga_ulong); the sum goes behind the last. A ga_make_source. */
int ga__mask_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
