/* The kernel texts of a scan. */
#ifndef GA_C_SCAN_SOURCE_H
#define GA_C_SCAN_SOURCE_H

#include "c/program/kernel.h"
#include <gpuarray/scan.h>

/* What a group's items own: neighbouring elements along the axis; neighbouring lines
 * of which each walks along the axis; of short rows that lie one after the other, a row
 * each; or of long rows packs of neighbours. WHOLE is ROWS of which a group has one. */
enum ga_scan_kind {
  GA_SCAN_ROWS,
  GA_SCAN_COLUMNS,
  GA_SCAN_SHORT,
  GA_SCAN_PACKS,
  GA_SCAN_WHOLE
};

/* What a kernel computes. Nothing here is owned. */
typedef struct ga_scan_spec {
  const char *preamble; /* may be NULL */
  const char *map, *combine, *identity;
  int acc, out; /* acc is a work type */
  gpuelemwise_arg input;
  unsigned int lanes; /* CPU: items of a group of COLUMNS; divides GA_SCAN_STRIP */
  bool is_cpu, is_wide;
  bool has_warps;  /* the prelude has words for them */
  bool looks_back; /* one tile a group, whose prefix comes from the tiles before it */
} ga_scan_spec;

/* Items of a group at most, and elements of an item in a tile. A group of CPU columns
 * takes so many lines. */
unsigned int ga__scan_block(enum ga_scan_kind kind);
unsigned int ga__scan_items(const ga_scan_spec *spec, enum ga_scan_kind kind);
#define GA_SCAN_STRIP 64
#define GA_SCAN_RADIX 64 /* tiles of a group, of rows */
/* Bytes that a pack's place in an array of the type is a multiple of. */
size_t ga__scan_alignment(const ga_scan_spec *spec, int typecode);
/* Elements that a group of SHORT has room for, and of a row at most. */
unsigned int ga__scan_room(const ga_scan_spec *spec);
#define GA_SCAN_SHORTEST 64

/* Bits of the kernel's `mode`. */
#define GA_SCAN_SHIFT 1  /* exclusive */
#define GA_SCAN_SUM 2    /* store each chunk's total to `part`, and no results */
#define GA_SCAN_PREFIX 4 /* chunks but the first begin with what `part` has */
#define GA_SCAN_UNIT 8   /* CPU: both arrays are contiguous in the walked direction */

/* A kernel over `nk` outer axes. Its arguments, in order; counts are 32-bit unless
 * is_wide, strides 64-bit, in bytes:
 *   out, x, part, each with its offset;
 *   rows (lines of the outer axes), across (lines side by side; 1 for ROWS), length,
 *   chunk, chunks; mode; the strides of x and out along the axis, and across;
 *   for each outer axis its length and the strides of x and out.
 * part[(row * chunks + chunk) * across + column] holds a chunk's value. If looks_back,
 * a chunk is one tile, and `mode` holds above bit 8 how many tiles make a group; part
 * is zeroed: a word of 64 bits to count with, then as many for each value as it has of
 * 32 bits; a row has a value for each chunk and each group of them. The grid is (rows
 * of blocks, or of columns' tiles) * chunks; blocks are lanes by slots: ROWS give lanes
 * to a row, COLUMNS to neighbouring columns. On a CPU ROWS have one item. SHORT has no
 * strides: a group of lanes by 1 takes `chunk` rows. PACKS looks back and is contiguous
 * along the axis; every row begins at a pack's place. The caller clears out->body. */
int ga__scan_source(ga_source *out, const ga_scan_spec *spec, enum ga_scan_kind kind,
                    unsigned int nk);

#endif
