/* Epilogues of convolutions: an expression of each element, stored in its place. */
#ifndef GA_C_CONV_MAP_H
#define GA_C_CONV_MAP_H

#include "c/convolution/conv_gather.h"
#include "c/program/kernel_table.h"

/* Finishes the source of a kernel: the macros in `words`, then its text, in which
 * CV_PUT stores an element: CV_SUM to CV_STORED, or, with CV_IS_MAPPED, an expression
 * of it (`map`, not NULL) at the group, row, outer column and three places ga_i_x0 to
 * ga_i_x5. CV_MAPPED are the expression's parameters, CV_STARTS adds their offsets. */
int ga__conv_finish(ga_source *out, const char *stem, const char *names,
                    ga_strbuf *words, const char *text, const ga_elem_spec *map);
/* The kernel, with the gather's epilogue if it has one; `write` makes both. */
int ga__conv_kernel(gpukernel **out, const ga_gather *g, ga_make_mapped write,
                    ga_make_source plain, const void *spec, size_t size,
                    size_t threads);
/* True for one output of an expression that computes in the type of sums, and arrays
 * whose elements an int counts, where it is not faster apart. */
bool ga__conv_map_fits(const ga_mapping *map, const ga_conv *c);
/* Memory of argument `i`, with strides of 0 where it is broadcast. */
ga_conv_array ga__conv_map_array(const ga_mapping *map, unsigned int i);
/* Arguments of the epilogue; none without one. */
void ga__conv_add_map(ga_args *args, const ga_gather *g);

#endif
