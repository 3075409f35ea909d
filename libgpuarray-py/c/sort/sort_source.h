/* The kernel texts of sorts and selections. */
#ifndef GA_C_SORT_SOURCE_H
#define GA_C_SORT_SOURCE_H

#include "c/program/kernel_table.h"

enum ga_sort_kind {
  GA_SORT_BLOCK,     /* a short row in local memory */
  GA_SORT_HISTOGRAM, /* of all digits of a row */
  GA_SORT_SWEEP,     /* one digit, in one pass, where groups may wait for each other */
  GA_SORT_COUNT,     /* of one digit in each chunk */
  GA_SORT_SCATTER,   /* one digit, after COUNT */
  GA_SORT_SELECT,    /* the first k of a row, unsorted */
  GA_SORT_PICK /* the same, of chunks read once: on CPUs, and where there are warps */
};

/* What a kernel is made for; compared by its bytes, so zeroed before it is filled. */
typedef struct ga_sort_spec {
  int kind;
  int typecode;
  int value_size; /* bytes of what moves with a key, 0: nothing */
  int bits;       /* of a digit */
  int is_large;   /* SWEEP, HISTOGRAM: counts take 64 bits */
  int is_cpu;
} ga_sort_spec;

#define GA_SORT_THREADS 256 /* items of a group at most; of HISTOGRAM, SWEEP always */
/* Digits that a key has; keys are sorted by the last of them last. */
unsigned int ga__sort_passes(const ga_sort_spec *spec);
/* Keys of a SWEEP's tile. */
unsigned int ga__sort_tile(const ga_sort_spec *spec);
/* Keys that BLOCK has room for, a power of 2. */
unsigned int ga__sort_room(int typecode);

/* Keys that an item of PICK holds; items of its groups at most, a multiple of 32; keys
 * that PICK may leave in order. */
unsigned int ga__sort_pick_items(int typecode);
#define GA_SORT_PICK_THREADS 1024
#define GA_SORT_RANKED 256
/* Keys that PICK holds on a CPU, of which k are at most a half. */
#define GA_SORT_HELD 2048

/* Bits of `mode`. */
#define GA_SORT_KEYS 1   /* keys are stored */
#define GA_SORT_IOTA 2   /* a key's value is its place in the row; none are read */
#define GA_SORT_LONG 4   /* values are stored as ga_long, to `indices` */
#define GA_SORT_FLIP 8   /* descending */
#define GA_SORT_GIVEN 16 /* SELECT, PICK: places in the row are read from `from` */
#define GA_SORT_ORDER 32 /* PICK: in order */

/* Arguments: every buffer is followed by its offset in bytes. Rows of keys and values
 * lie one after the other.
 *   all: keys in, keys out, values in, values out, indices out;
 *   BLOCK: rows, n, the power of 2 that is at least n; mode;
 *   HISTOGRAM: bins[row][pass][digit], zeroed; rows, n, blocks of a row; mode;
 *   SWEEP: bins, summed up; state, zeroed: a counter of 8 bytes, then a word for each
 *     digit of each tile; rows, n, tiles of a row; pass; mode;
 *   COUNT, SCATTER: counts[row][digit][chunk], summed up for SCATTER; rows, n, chunk,
 *     chunks; pass; mode;
 *   SELECT: from, places of the keys; rows, length of a row, of a chunk, chunks, k;
 *     mode. Each chunk's first k go to out[row][chunk][k], in the order they lie in;
 *   PICK: as SELECT; `chunk` is the least length of a chunk, and the first chunks have
 *     one more until none is left. KEYS and LONG say what is stored. Groups are
 *     multiples of 32 by 1 items, with a chunk each.
 * Counts are 64-bit. Other groups are GA_SORT_THREADS by 1 items, or for BLOCK lanes by
 * slots of a row each; on a CPU one item, and groups of BLOCK, COUNT, SCATTER,
 * SELECT and PICK share what there is. The caller clears out->body. */
int ga__sort_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
