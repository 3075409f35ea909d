/* Source generator of scan kernels. */
#ifndef GA_C_SCAN_SOURCE_H
#define GA_C_SCAN_SOURCE_H

#include "c/program/kernel.h"
#include <gpuarray/scan.h>

/* How items divide the work. ROWS: adjacent elements along the axis; COLUMNS: adjacent
 * lines; SHORT: one short contiguous row each; PACKS: vectors of long contiguous rows;
 * WHOLE: ROWS with one row per work group. */
enum ga_scan_kind {
  GA_SCAN_ROWS,
  GA_SCAN_COLUMNS,
  GA_SCAN_SHORT,
  GA_SCAN_PACKS,
  GA_SCAN_WHOLE
};

/* What a kernel computes. Owns nothing. */
typedef struct ga_scan_spec {
  const char *preamble; /* may be NULL */
  const char *map, *combine, *identity;
  int acc, out; /* typecodes; acc is a work type */
  gpuelemwise_arg input;
  unsigned int lanes; /* CPU COLUMNS: items per work group; divides GA_SCAN_STRIP */
  bool is_cpu, is_wide;
  bool has_warps;  /* warp intrinsics in the prelude */
  bool looks_back; /* decoupled look-back, a tile per work group */
} ga_scan_spec;

/* Maximum block size; elements per item in a tile. CPU columns: GA_SCAN_STRIP lines per
 * work group. */
unsigned int ga__scan_block(enum ga_scan_kind kind);
unsigned int ga__scan_items(const ga_scan_spec *spec, enum ga_scan_kind kind);
#define GA_SCAN_STRIP 64
#define GA_SCAN_RADIX 64 /* look-back over rows: tiles per group */
/* Vector alignment in bytes for an array of the type. */
size_t ga__scan_alignment(const ga_scan_spec *spec, int typecode);
/* SHORT: elements that fit local memory; longest row. */
unsigned int ga__scan_room(const ga_scan_spec *spec);
#define GA_SCAN_SHORTEST 64

/* Bits of `mode`. */
#define GA_SCAN_SHIFT 1 /* exclusive */
#define GA_SCAN_SUM 2   /* first pass: store each chunk's total to `part`, no results */
#define GA_SCAN_PREFIX                                                                 \
  4 /* last pass: chunks but the first start from their prefix in `part` */
#define GA_SCAN_UNIT 8 /* CPU: both arrays are contiguous along the inner loop */

/* Source of a kernel for `nk` outer axes. Arguments in order; counts are 32-bit unless
 * is_wide, strides 64-bit, in bytes: out, x, part, each with its offset; rows (lines of
 * the outer axes), across (adjacent lines; 1 for ROWS), length, chunk, chunks; mode;
 * strides of x and out along the axis, and across; per outer axis its length and the
 * strides of x and out.
 *
 * part[(row * chunks + chunk) * across + column] is a chunk's value. With looks_back a
 * chunk is a tile, mode >> 8 is the tiles per group, and `part` is zeroed: a 64-bit
 * ticket counter, then the values, a 64-bit word per 32 bits; a row has one value per
 * chunk and one per group. Grid: (blocks of rows, or tiles of columns) * chunks; block:
 * lanes by slots. ROWS: lanes along a row; COLUMNS: lanes on adjacent columns. CPU ROWS
 * have one item. SHORT has no strides: a group of lanes by 1 takes `chunk` rows. PACKS
 * looks back, is contiguous and aligned. The caller clears out->body. */
int ga__scan_source(ga_source *out, const ga_scan_spec *spec, enum ga_scan_kind kind,
                    unsigned int nk);

#endif
