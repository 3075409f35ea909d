/* Source generator of deterministic scatter-add, and of slot-parallel put. Pure. */
#ifndef GA_C_SCATTER_SOURCE_H
#define GA_C_SCATTER_SOURCE_H

#include "c/program/kernel.h"

/* Specialization; compared as bytes. */
typedef struct ga_order_spec {
  unsigned char put;       /* bytes per element of a put; 0: add */
  unsigned char typecode;  /* put: 0 */
  unsigned char slot_type; /* GA_UINT or GA_ULONG */
  unsigned char first;     /* first launch: reads values, not partial sums */
  unsigned char last;      /* last launch: no slot crosses a run's boundary */
  unsigned char wide;      /* 64-bit offsets */
  unsigned char n;         /* indexed axes */
  unsigned char nb;        /* axes of the indices; not first: 0 */
  unsigned char nd;        /* all other axes */
} ga_order_spec;

#define GA_ORDER_RUN 32 /* entries per run */

/* Segmented reduction. Entries are sorted by slot; all ones: out of bounds. An item
 * sums the entries of one slot within a run of GA_ORDER_RUN, starting from the element
 * if the slot begins there, and stores if it ends there. Otherwise partial sums go to
 * the next launch: two entries per run, for the slots that cross its start and its end.
 *
 * Arguments, arrays with byte offsets: elements, values (later: partial sums, in C
 * order), slots; first: index number of each entry (ga_long); not last: output slots
 * and partial sums; numbers of entries and of other positions (ga_ulong); lengths
 * (ga_uint; ga_ulong if wide) of the indexed axes but the first, and the elements'
 * strides (ga_int; ga_long if wide); first: lengths of the indices' axes but the first,
 * and the values' strides; lengths of the other axes but the first, the elements'
 * strides and, first, the values'. Strides are in elements.
 *
 * Put: entries are the slots, each with the number of its value from 1, or 0.
 * Arguments: elements, values, entries (ga_uint), then as first. A ga_make_source. */
int ga__order_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
