/* The kernel texts of additions in a fixed order, and of what is put place by place.
 * Pure. */
#ifndef GA_C_SCATTER_DETERMINISTIC_H
#define GA_C_SCATTER_DETERMINISTIC_H

#include "c/program/kernel.h"

/* Compared by bytes. */
typedef struct ga_order_spec {
  unsigned char put;       /* bytes of an element that is put; 0: they are added */
  unsigned char typecode;  /* put: 0 */
  unsigned char slot_type; /* GA_UINT or GA_ULONG */
  unsigned char first;     /* whether values are read, rather than partial sums */
  unsigned char last;      /* whether no run goes on behind an item's */
  unsigned char wide;      /* whether offsets take 64 bits */
  unsigned char n;         /* indexed axes */
  unsigned char nb;        /* axes of the indices; not first: 0 */
  unsigned char nd;        /* all other axes */
} ga_order_spec;

#define GA_ORDER_RUN 32 /* entries that an item sums up at most */

/* Entries are sorted by slot, the place that they belong to; all ones: to none. Of each
 * GA_ORDER_RUN entries an item sums up those of one slot, one after another, beginning
 * with the element if no entry of the slot comes before, and stores the sum if none
 * comes behind. Where others do, there are two new entries for another launch: of what
 * goes on from the entries before, and of what goes on into those behind.
 *
 * Arguments: elements, values (not first: partial sums, in C order) and slots; of the
 * first, which number each entry has (ga_long); unless it is the last, slots and
 * partial sums that are made; all with offsets; the numbers of entries and of other
 * positions (ga_ulong); lengths (ga_uint, or ga_ulong if wide) of the indexed axes but
 * the first, and the elements' strides (ga_int or ga_long); of the first, lengths of
 * the axes of the indices but the first, and the values' strides; lengths of the other
 * axes but the first, the elements' strides and, of the first, the values'. Strides are
 * in elements.
 *
 * To put: entries are all slots, and hold which number each gets, counted from 1, or 0.
 * Arguments: elements, values, entries (ga_uint), with offsets; then as of the first. A
 * ga_make_source. */
int ga__order_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
