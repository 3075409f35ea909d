/* The table of distributions: parameters, their ranges, form, device code. */
#ifndef GA_C_RANDOM_DISTRIBUTION_H
#define GA_C_RANDOM_DISTRIBUTION_H

#include "c/base/strbuf.h"
#include <gpuarray/random.h>

/* The counts of an element of the distributions that reject attempts; some have twice
 * as many. */
#define GA_RANDOM_COUNTS 64

#define GA_RANDOM_PARAMETERS 4 /* of a distribution at most */

/* Texts of device code, in the order in which they depend on one another. */
enum ga_random_text {
  GA_TEXT_UNIFORM = 1,
  GA_TEXT_NORMAL = 2,
  GA_TEXT_REAL = 4, /* logarithm and others, with the same bits everywhere */
  GA_TEXT_LOGNORMAL = 8,
  GA_TEXT_INVERSE = 16, /* by the inverse of the distribution function */
  GA_TEXT_COUNTS = 32,  /* numbers of an element's counts */
  GA_TEXT_GAMMA = 64,
  GA_TEXT_DISCRETE = 128,
  GA_TEXT_BOUNDED = 256,
  /* Not a text: they have ga_plan_NAME, ga_try_NAME and ga_NAME_number, which compute
   * an element by attempts, a count each. */
  GA_TEXT_ATTEMPTS = 512
};

typedef struct ga_distribution {
  gpurandom_distribution row; /* first */
  unsigned int texts;         /* ga_random_text */
} ga_distribution;

/* The row's number, or GA_VALUE_ERROR with the names. */
int ga__distribution_find(unsigned int *row, const char *name, const char *operation);
/* NULL behind the last. */
const ga_distribution *ga__distribution(unsigned int row);
/* GA_FLOAT or GA_DOUBLE, in which results of a type are computed. */
int ga__distribution_real(int typecode);
/* GA_INVALID_ERROR unless results can have the type. */
int ga__distribution_has(const ga_distribution *d, int typecode, const char *operation);
/* 32-bit words of an element; not BY_COUNTS. */
unsigned int ga__distribution_words(const ga_distribution *d, int typecode);
uint64_t ga__distribution_counts(const ga_distribution *d, int typecode, uint64_t n);
/* GA_VALUE_ERROR for a parameter that is out of range in `real`. `is_array[k]`: not
 * known, so not checked.
 */
int ga__distribution_check(const ga_distribution *d, int real, const double *values,
                           const bool *is_array);

/* Adds the functions that compute a distribution's numbers in `real`, each text once in
 * a program, or with these also ga_draw_NAME of gpurandom_device_code. */
void ga__distribution_functions(ga_strbuf *text, const ga_distribution *d, int real);
void ga__distribution_element(ga_strbuf *text, const ga_distribution *d, int real);

#endif
