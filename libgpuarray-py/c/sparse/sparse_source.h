/* Source generator of the kernels of sparse matrices. */
#ifndef GA_C_SPARSE_SOURCE_H
#define GA_C_SPARSE_SOURCE_H

#include "c/program/kernel_table.h"

#include <gpuarray/sparse.h>

enum ga_sparse_kernel {
  GA_SPARSE_ROWS,   /* products: rows by lanes, or by processors' items */
  GA_SPARSE_PIECES, /* products: pieces of long rows, one column */
  GA_SPARSE_PIECES_SUM,
  GA_SPARSE_LONG,     /* products: pieces of long rows, any columns */
  GA_SPARSE_LONG_SUM, /* products: sums of the pieces */
  GA_SPARSE_COLUMNS,  /* products from the left, on processors */
  GA_SPARSE_COLUMNS_SUM,
  GA_SPARSE_BUCKETS,       /* sorts by rows, on processors */
  GA_SPARSE_EXPAND,        /* the row of each value */
  GA_SPARSE_PACK,          /* pairs of values and rows, to be sorted */
  GA_SPARSE_KEYS,          /* keys of rows and columns, to sort by */
  GA_SPARSE_SPLIT,         /* what was sorted, apart again */
  GA_SPARSE_COMPRESS,      /* where each row begins */
  GA_SPARSE_INSPECT,       /* what is wrong with the arrays */
  GA_SPARSE_DENSE,         /* to dense */
  GA_SPARSE_UNIQUE_OF,     /* duplicates: counts and sums */
  GA_SPARSE_MERGE_PARTS,   /* two matrices: parts of their merged order */
  GA_SPARSE_MATCH,         /* the same: how many places they share */
  GA_SPARSE_MERGE,         /* sums and products, element by element */
  GA_SPARSE_SAMPLED,       /* sampled products */
  GA_SPARSE_TAKE_LENGTHS,  /* rows by index: how long they are */
  GA_SPARSE_TAKE,          /* the same: what is in them */
  GA_SPARSE_SPGEMM_ROWS,   /* products of two matrices: short rows, by teams */
  GA_SPARSE_SPGEMM_GROUPS, /* the same: rows of some thousand terms, by work groups */
  GA_SPARSE_SPGEMM_LONG,   /* the same: longer rows */
  GA_SPARSE_SOLVE,         /* triangular systems */
  GA_SPARSE_KEEP,          /* values by a mask */
  GA_SPARSE_MERGE_ROWS,    /* processors: sums and products, element by element */
  GA_SPARSE_KEEP_ROWS,     /* processors: values by a mask */
  GA_SPARSE_PACK_SHARES,   /* both: shares behind one another */
  GA_SPARSE_MULTIPLY_ROWS, /* processors: products of two matrices */
  GA_SPARSE_SORT_ROWS,     /* processors: sorts the indices of each row */
};

/* Specialization; compared as bytes, so zero it first. */
typedef struct ga_sparse_spec {
  unsigned char kind;
  unsigned char typecode; /* of values; kernels that only move them: their bytes */
  unsigned char index;    /* GA_INT or GA_LONG */
  unsigned char form;     /* ROWS, LONG: enum ga_sparse_term; MERGE, MERGE_ROWS: kind of
                             a ga_sparse_pair; else as the kind says */
  unsigned char lanes; /* ROWS: items that share the values of a row; SAMPLED: terms */
  unsigned char width; /* ROWS, LONG: items beside one another, for columns of x;
                          SPGEMM: room for terms, a power of 2 */
  unsigned char per;   /* the same: columns of an item; SAMPLED: sums of a processor's
                          item; PACK to SPLIT, SPGEMM: bytes of a pair or a key; MERGE,
                          MERGE_ROWS: the combination */
  unsigned char is_cpu;
  unsigned char
      packs; /* ROWS: four values in so many loads of 16 bytes; 0: one by one */
  unsigned short threads; /* of a work group that is not free to choose */
} ga_sparse_spec;

/* Most shares of processors whose words the host reads. */
#define GA_SPARSE_SHARES 256
/* The kernel of a specification; is_cpu is filled in. */
int ga__sparse_kernel(gpukernel **out, gpucontext *ctx, const ga_sparse_spec *spec);
/* Launches it over `items` elements, of which there is at least one. */
int ga__sparse_launch(gpucontext *ctx, const ga_sparse_spec *spec, const ga_args *args,
                      size_t items);
/* The same on a processor with one item for each of a few shares. */
int ga__sparse_launch_shares(gpucontext *ctx, const ga_sparse_spec *spec,
                             const ga_args *args, size_t shares);
/* Values of a tile, in kernels/tile_rows.cl.h. */
#define GA_SPARSE_TILE 2048
/* Values of a part that is merged at once. */
static inline size_t ga__sparse_merged(int index_typecode) {
  return index_typecode == GA_INT ? 2048 : 1024;
}
/* Items of a work group that is not free to choose: 256 where the device has so many, a
 * power of 2; 1 on a processor. */
unsigned short ga__sparse_threads(const gpucontext *ctx);
/* Launches up to `groups` work groups of spec->threads. */
int ga__sparse_launch_sized(gpucontext *ctx, const ga_sparse_spec *spec,
                            const ga_args *args, size_t groups);
/* Adds a vector. */
void ga__sparse_add(ga_args *args, const GpuArray *a, bool is_read);
/* The vector, or `otherwise` for one without elements, which may have no memory. */
const GpuArray *ga__sparse_or(const GpuArray *a, const GpuArray *otherwise);
/* Adds the vectors of a matrix that is read. */
void ga__sparse_add_matrix(ga_args *args, const GpuSparse *a);
/* Adds a factor, real and imaginary part, in the type in which kernels take it; NULL is
 * `otherwise`. */
void ga__sparse_add_factor(ga_args *args, int typecode, const double *factor,
                           double otherwise);

#endif
