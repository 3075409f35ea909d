/* Source generator of sort and top-k kernels. */
#ifndef GA_C_SORT_SOURCE_H
#define GA_C_SORT_SOURCE_H

#include "c/program/kernel_table.h"

enum ga_sort_kind {
  GA_SORT_BLOCK, /* short rows: bitonic sort in local memory, or merge sort on CPUs */
  GA_SORT_HISTOGRAM, /* onesweep: histograms of all digits */
  GA_SORT_SWEEP,     /* onesweep: a pass, with decoupled look-back */
  GA_SORT_COUNT,     /* chunked radix sort: histogram of a digit per chunk */
  GA_SORT_SCATTER,   /* chunked radix sort: scatter by a digit */
  GA_SORT_SELECT,    /* top-k by radix select, unsorted */
  GA_SORT_PICK /* the same in registers, chunks read once: CPUs, devices with warps */
};

/* Specialization; compared as bytes, so zero it first. */
typedef struct ga_sort_spec {
  int kind;
  int typecode;
  int value_size; /* bytes of payload per key; 0: none */
  int bits;       /* per digit */
  int is_large;   /* SWEEP, HISTOGRAM: 64-bit counts */
  int is_wide;    /* SWEEP: larger tiles */
  int is_cpu;
} ga_sort_spec;

#define GA_SORT_THREADS 256 /* maximum block size; fixed for HISTOGRAM */
/* Number of digits of a key, lowest first. */
unsigned int ga__sort_passes(const ga_sort_spec *spec);
/* SWEEP: block size, keys per tile, bytes of dynamic local memory. */
unsigned int ga__sort_sweep_threads(const ga_sort_spec *spec);
unsigned int ga__sort_tile(const ga_sort_spec *spec);
unsigned int ga__sort_sweep_memory(const ga_sort_spec *spec);
/* BLOCK: maximum row length, a power of 2. */
unsigned int ga__sort_room(int typecode);

/* PICK: keys per item; maximum block size, a multiple of 32; largest k that it can
 * sort. */
unsigned int ga__sort_pick_items(int typecode);
#define GA_SORT_PICK_THREADS 1024
#define GA_SORT_RANKED 256
/* PICK on a CPU: size of the candidate list; k is at most half. */
#define GA_SORT_HELD 2048

/* Bits of `mode`. */
#define GA_SORT_KEYS 1   /* store keys */
#define GA_SORT_IOTA 2   /* first pass: values are positions in the row, not read */
#define GA_SORT_LONG 4   /* store values as ga_long to `indices` */
#define GA_SORT_FLIP 8   /* descending */
#define GA_SORT_GIVEN 16 /* SELECT, PICK: positions are read from `from` */
#define GA_SORT_ORDER 32 /* PICK: sort the results */
#define GA_SORT_HALVES                                                                 \
  64 /* SWEEP: store the upper halves of values of 8 bytes to `indices`, the lower     \
        ones as values */
#define GA_SORT_JOIN                                                                   \
  128 /* SWEEP: values of 8 bytes are read in halves, the upper ones from `indices` */

/* Arguments: every buffer is followed by its byte offset. Rows are contiguous, counts
 * 64-bit.
 *
 * all: keys in, keys out, values in, values out, indices out. BLOCK: rows, n, next
 * power of 2; mode. HISTOGRAM: bins[row][pass][digit], zeroed; rows, n, blocks per row;
 * mode. SWEEP: bins, as prefix sums; state, zeroed: a ticket counter of 8 bytes, then a
 * word per digit and tile; rows, n, tiles per row; pass; mode. COUNT, SCATTER:
 * counts[row][digit][chunk], for SCATTER as prefix sums; rows, n, chunk, chunks; pass;
 * mode. SELECT: from (positions of the keys); rows, length of a row, of a chunk,
 * chunks, k; mode; writes out[row][chunk][k] in input order. PICK: as SELECT, but
 * `chunk` is the minimum length, and the first chunks have one element more.
 *
 * PICK runs a chunk per work group, of a multiple of 32 by 1 items. Other groups are
 * GA_SORT_THREADS by 1 items (SWEEP has its own number), for BLOCK lanes by slots, a
 * row per slot; on a CPU one item, and groups share the work. The caller clears
 * out->body. */
int ga__sort_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
