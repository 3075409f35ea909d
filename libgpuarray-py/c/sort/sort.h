/* Sorts of rows that lie one after the other. */
#ifndef GA_C_SORT_H
#define GA_C_SORT_H

#include "c/array/array.h"
#include "c/sort/sort_source.h"

/* Memory from a byte on; `data` is NULL where there is none. */
typedef struct ga_sort_place {
  gpudata *data;
  size_t offset;
} ga_sort_place;

/* What is sorted. Either result may be missing; so may the values. */
typedef struct ga_sort_task {
  gpucontext *context;
  int typecode;
  size_t rows, n;
  bool descending;
  unsigned int key_bits; /* of unsigned keys: how many from the lowest on count; 0: all.
                            A hint: more of them may be looked at */
  ga_sort_place keys, out_keys;
  int value_size; /* bytes of a value; 0: none */
  ga_sort_place values, out_values;
  ga_sort_place out_indices; /* of GA_LONG; then there are no values */
} ga_sort_task;

/* Sorts rows of at least one element. Keys of more than a byte may be sorted where they
 * are; results overlap nothing else. */
int ga__sort_rows(const ga_sort_task *task);

/* Whether ga__select_rows is the way to the first `k`, and not a sort of all. */
bool ga__select_serves(const ga_sort_task *task, size_t k);
/* The first `k` of each of `rows` rows of `n`, in order, where it serves. `out_keys` or
 * `out_indices` may be missing. */
int ga__select_rows(const ga_sort_task *task, size_t k);

/* Elements along an axis at most. */
#define GA_SORT_LONGEST (((size_t)1 << 32) - ((size_t)1 << 20))

#endif
