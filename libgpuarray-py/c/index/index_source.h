/* The kernel texts of indexing. Pure: text from a description. */
#ifndef GA_C_INDEX_SOURCE_H
#define GA_C_INDEX_SOURCE_H

#include "c/program/kernel.h"
#include <gpuarray/index.h>

/* What is done at each position of the walk. The place that indices lead to is in the
 * source of TAKE and CLAIM, else in the destination. */
enum ga_index_op {
  GA_INDEX_TAKE,  /* dst = src[place] */
  GA_INDEX_PUT,   /* dst[place] = src */
  GA_INDEX_ADD,   /* dst[place] += src, by atomic additions */
  GA_INDEX_OWN,   /* dst[place] = max(dst[place], position + 1); uint32 */
  GA_INDEX_CLAIM, /* dst = src[place] == position + 1; uint8 of uint32 */
  GA_INDEX_SLOT   /* dst = place, or all ones if out of bounds; uint32 or uint64 */
};

/* Modes beside GA_INDEX_RAISE and the others: indices that are known to be in bounds,
 * not negative and different; and as RAISE, but another launch reports. */
#define GA_INDEX_TRUSTED 3
#define GA_INDEX_QUIET 4

/* What a text is made from; compared by bytes. */
typedef struct ga_index_spec {
  unsigned char op, mode;
  unsigned char typecode; /* of the elements of ADD */
  unsigned char word;     /* bytes that TAKE and PUT move at once, 1 to 16; of a SLOT */
  unsigned char keep;     /* whether positions with keep == 0 are left out */
  unsigned char wide;     /* whether offsets take 64 bits */
  unsigned char uniform;  /* whether indices are the same along the last axis */
  unsigned char tall;     /* whether a thread's items lie below each other */
  unsigned char per; /* items of a thread; 0: for processors, as many as there are */
  unsigned char nd;  /* axes, at least 1 */
  unsigned char n;   /* index arrays */
  unsigned char types[GA_MAX_NDIM]; /* their typecodes */
} ga_index_spec;

/* The last axis is x; all others together, in C order, are y. Arguments: dst, src (not
 * of OWN and SLOT), keep (if kept) and each index array with their byte offsets; each
 * index array's length (ga_long) and step of the place; the report's (of RAISE); as
 * ga_uint the numbers of x and y, a block's width and height (for processors: how many
 * pieces of that width a row has), and the lengths of the axes but the first and the
 * last; for each array, in the same order, its strides in units of what it holds.
 * Offsets and strides are ga_int, or ga_long if wide. A ga_make_source. */
int ga__index_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
