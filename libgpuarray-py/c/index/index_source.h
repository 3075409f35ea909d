/* Source generator of indexing kernels. Pure. */
#ifndef GA_C_INDEX_SOURCE_H
#define GA_C_INDEX_SOURCE_H

#include "c/program/kernel.h"
#include <gpuarray/index.h>

/* Operation at each position. `place`, the indexed element, is in the source of TAKE
 * and CLAIM, else in the destination. */
enum ga_index_op {
  GA_INDEX_TAKE,  /* gather: dst = src[place] */
  GA_INDEX_PUT,   /* scatter: dst[place] = src */
  GA_INDEX_ADD,   /* scatter-add: dst[place] += src, atomic */
  GA_INDEX_OWN,   /* dst[place] = max(dst[place], position + 1), atomic; uint32 */
  GA_INDEX_CLAIM, /* dst = src[place] == position + 1; uint8 from uint32 */
  GA_INDEX_SLOT   /* dst = place as a slot number, all ones if out of bounds; uint32 or
                     uint64 */
};

/* Internal modes. TRUSTED: in bounds, not negative, distinct. QUIET: as RAISE, but
 * another launch reports. */
#define GA_INDEX_TRUSTED 3
#define GA_INDEX_QUIET 4

/* Specialization; compared as bytes. */
typedef struct ga_index_spec {
  unsigned char op, mode;
  unsigned char typecode; /* ADD: of the elements */
  unsigned char word;     /* TAKE, PUT: bytes per word, 1 to 16; SLOT: of a slot */
  unsigned char keep;     /* has a keep mask: positions with 0 are skipped */
  unsigned char wide;     /* 64-bit offsets */
  unsigned char uniform;  /* indices are constant along the last axis */
  unsigned char tall;     /* a thread's items are in one column */
  unsigned char per;      /* items per thread; 0: CPU, grid-stride */
  unsigned char nd;       /* axes, at least 1 */
  unsigned char n;        /* number of index arrays */
  unsigned char types[GA_MAX_NDIM]; /* their typecodes */
} ga_index_spec;

/* x is the last axis, y all others in C order. Arguments: dst, src (not OWN, SLOT),
 * keep (if any) and each index array, with byte offsets; per index array the axis's
 * length (ga_long) and its stride in place units; the error report's (RAISE); as
 * ga_uint: sizes of x and y, a block's width and height (CPU: width of a row's piece
 * and their number), lengths of the axes but the first and last; per array, in the same
 * order, strides in its units. Offsets and strides are ga_int, or ga_long if wide. A
 * ga_make_source. */
int ga__index_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
