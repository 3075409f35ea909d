/* The kernel text of additions in a fixed order. Pure. */
#ifndef GA_C_INDEX_ORDER_H
#define GA_C_INDEX_ORDER_H

#include "c/kernel.h"

/* Compared by bytes. */
typedef struct ga_order_spec {
  unsigned char typecode;
  unsigned char slot_type; /* GA_UINT or GA_ULONG */
  unsigned char n;         /* indexed axes */
  unsigned char nb;        /* axes of the indices */
  unsigned char nd;        /* all other axes */
} ga_order_spec;

/* What leads to one place is added up by one item. Arguments: elements, values, slots
 * of the indices and their order by slot (ga_long) with offsets; the numbers of indices
 * and of other positions (ga_ulong); lengths (ga_ulong) of the indexed axes but the
 * first, and the elements' strides (ga_long); lengths of the axes of the indices but
 * the first, and the values' strides; lengths of the other axes but the first, the
 * elements' strides and the values'. Strides are in elements. A ga_make_source. */
int ga__order_source(ga_source *out, const gpucontext *ctx, const void *spec);

#endif
