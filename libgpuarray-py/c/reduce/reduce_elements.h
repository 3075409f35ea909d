/* Texts of the elements of a reduction's inputs, and the parts that CPUs have. */
#ifndef GA_C_REDUCE_ELEMENTS_H
#define GA_C_REDUCE_ELEMENTS_H

#include "c/reduce/reduce_words.h"

/* Where an element is ("#" is `axis`): the text of an array's element, and of its
 * number. */
typedef struct ga_element_text {
  const char *array, *number;
  const char *repeated; /* of an array that is known to have stride 0; NULL: `array` */
} ga_element_text;

#define GA_REDUCE_STRIDED(pointer, stride)                                             \
  ((ga_element_text){.array =                                                          \
                         "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)" pointer   \
                         "@ + (p) * " stride "@_#)",                                   \
                     .number = "(" pointer "@ + (ga_ulong)((p) * " stride "@_#))"})

const char *ga__reduce_input_type(const ga_reduce_spec *spec, unsigned int i);
/* An array that is known to have stride 0 along the innermost axis. */
bool ga__reduce_is_repeated(const ga_reduce_spec *spec, unsigned int i);
/* The number of arrays, and of numbers of elements. */
unsigned int ga__reduce_count_walked(const ga_reduce_spec *spec);

/* Adds `form` once per array; per number of an element; per one of both. */
void ga__reduce_add_arrays(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                           unsigned int axis);
void ga__reduce_add_numbers(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                            unsigned int axis);
void ga__reduce_add_walked(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                           unsigned int axis);

/* Map of an element; `at` is its index along the innermost reduced axis. */
void ga__reduce_add_map(ga_strbuf *sb, const ga_reduce_spec *spec, ga_element_text form,
                        unsigned int axis, const char *at, unsigned int last);
/* Row kernels: defines `word`(p), the map of element p of the inner axis. */
void ga__reduce_add_row_element(ga_strbuf *sb, const ga_reduce_spec *spec,
                                const char *word, ga_element_text form,
                                unsigned int nr);

/* CPUs: the elements of rows, and those of tiles of columns with their totals. */
void ga__reduce_add_rows_cpu(ga_strbuf *sb, const ga_reduce_spec *spec,
                             unsigned int nr);
void ga__reduce_add_columns_cpu(ga_strbuf *sb, const ga_reduce_spec *spec,
                                unsigned int nk, unsigned int nr);

#endif
