/* The table of distributions, and checks of parameters against it. */
#include "c/random/distribution.h"

#include <math.h>
#include <string.h>

#include "c/base/dtype.h"

/* ---- the table ---- */

/* Ranges of parameters. */
#define FINITE -INFINITY, INFINITY, GA_RANDOM_ABOVE | GA_RANDOM_BELOW
#define NOT_NEGATIVE 0, INFINITY, GA_RANDOM_BELOW
#define POSITIVE 0, INFINITY, GA_RANDOM_ABOVE | GA_RANDOM_BELOW
#define PROBABILITY 0, 1, 0
#define NOT_0 0, 1, GA_RANDOM_ABOVE /* a probability */
#define NOT_1 0, 1, GA_RANDOM_BELOW
#define ABOVE_1 1, INFINITY, GA_RANDOM_ABOVE | GA_RANDOM_BELOW
#define WHOLE 0, INFINITY, GA_RANDOM_BELOW | GA_RANDOM_WHOLE
#define BELOW_INFINITY -INFINITY, INFINITY, GA_RANDOM_BELOW
#define ABOVE_INFINITY -INFINITY, INFINITY, GA_RANDOM_ABOVE
/* Forms. */
#define BY_REAL GA_RANDOM_BY_REAL, 0
#define BY_WORD GA_RANDOM_BY_WORD, 0
#define BY_PAIR GA_RANDOM_BY_PAIR, 0
#define BY_COUNT GA_RANDOM_BY_COUNTS, 1
#define BY_COUNTS GA_RANDOM_BY_COUNTS, GA_RANDOM_COUNTS
#define BY_TWICE GA_RANDOM_BY_COUNTS, 2 * GA_RANDOM_COUNTS
/* Relations. */
#define FREE GA_RANDOM_UNRELATED, 0
#define RISING(n) GA_RANDOM_RISING, n
#define WITHIN_SUM GA_RANDOM_WITHIN_SUM, 3
/* Texts. */
#define UNIFORM_TEXT GA_TEXT_UNIFORM
#define NORMAL_TEXT (GA_TEXT_UNIFORM | GA_TEXT_NORMAL)
#define LOGNORMAL_TEXT (NORMAL_TEXT | GA_TEXT_REAL | GA_TEXT_LOGNORMAL)
#define INVERSE_TEXT (GA_TEXT_UNIFORM | GA_TEXT_REAL | GA_TEXT_INVERSE)
#define COUNTS_TEXT (GA_TEXT_UNIFORM | GA_TEXT_REAL | GA_TEXT_COUNTS)
#define GAMMA_TEXT (COUNTS_TEXT | GA_TEXT_GAMMA)
#define DISCRETE_TEXT (INVERSE_TEXT | GAMMA_TEXT | GA_TEXT_DISCRETE)
#define BOUNDED_TEXT (COUNTS_TEXT | GA_TEXT_BOUNDED)

static const ga_distribution table[] = {
    {{"uniform", 'f', BY_REAL, RISING(2), 2, {{"low", FINITE}, {"high", FINITE}}},
     UNIFORM_TEXT},
    {{"normal", 'f', BY_PAIR, FREE, 2, {{"loc", FINITE}, {"scale", NOT_NEGATIVE}}},
     NORMAL_TEXT},
    {{"lognormal", 'f', BY_PAIR, FREE, 2, {{"mean", FINITE}, {"sigma", NOT_NEGATIVE}}},
     LOGNORMAL_TEXT},
    {{"exponential", 'f', BY_REAL, FREE, 1, {{"scale", NOT_NEGATIVE}}}, INVERSE_TEXT},
    {{"laplace", 'f', BY_REAL, FREE, 2, {{"loc", FINITE}, {"scale", NOT_NEGATIVE}}},
     INVERSE_TEXT},
    {{"logistic", 'f', BY_REAL, FREE, 2, {{"loc", FINITE}, {"scale", NOT_NEGATIVE}}},
     INVERSE_TEXT},
    {{"gumbel", 'f', BY_REAL, FREE, 2, {{"loc", FINITE}, {"scale", NOT_NEGATIVE}}},
     INVERSE_TEXT},
    {{"cauchy", 'f', BY_REAL, FREE, 2, {{"loc", FINITE}, {"scale", NOT_NEGATIVE}}},
     INVERSE_TEXT},
    {{"weibull", 'f', BY_REAL, FREE, 1, {{"a", NOT_NEGATIVE}}}, INVERSE_TEXT},
    {{"rayleigh", 'f', BY_REAL, FREE, 1, {{"scale", NOT_NEGATIVE}}}, INVERSE_TEXT},
    {{"pareto", 'f', BY_REAL, FREE, 1, {{"a", POSITIVE}}}, INVERSE_TEXT},
    {{"power", 'f', BY_REAL, FREE, 1, {{"a", POSITIVE}}}, INVERSE_TEXT},
    {{"triangular",
      'f',
      BY_REAL,
      RISING(3),
      3,
      {{"left", FINITE}, {"mode", FINITE}, {"right", FINITE}}},
     INVERSE_TEXT},
    {{"gamma",
      'f',
      BY_COUNTS,
      FREE,
      2,
      {{"shape", NOT_NEGATIVE}, {"scale", NOT_NEGATIVE}}},
     GAMMA_TEXT | GA_TEXT_ATTEMPTS},
    {{"loggamma", 'f', BY_COUNTS, FREE, 1, {{"shape", POSITIVE}}}, GAMMA_TEXT},
    {{"chisquare", 'f', BY_COUNTS, FREE, 1, {{"df", POSITIVE}}}, GAMMA_TEXT},
    {{"noncentral_chisquare",
      'f',
      BY_TWICE,
      FREE,
      2,
      {{"df", POSITIVE}, {"nonc", NOT_NEGATIVE}}},
     DISCRETE_TEXT},
    {{"beta", 'f', BY_TWICE, FREE, 2, {{"a", POSITIVE}, {"b", POSITIVE}}}, GAMMA_TEXT},
    {{"f", 'f', BY_TWICE, FREE, 2, {{"dfnum", POSITIVE}, {"dfden", POSITIVE}}},
     GAMMA_TEXT},
    {{"standard_t", 'f', BY_COUNTS, FREE, 1, {{"df", POSITIVE}}}, GAMMA_TEXT},
    {{"wald", 'f', BY_COUNT, FREE, 2, {{"mean", POSITIVE}, {"scale", POSITIVE}}},
     GAMMA_TEXT},
    {{"vonmises", 'f', BY_COUNTS, FREE, 2, {{"mu", FINITE}, {"kappa", NOT_NEGATIVE}}},
     BOUNDED_TEXT},
    {{"truncated_normal",
      'f',
      BY_COUNTS,
      RISING(2),
      4,
      {{"loc", FINITE},
       {"scale", NOT_NEGATIVE},
       {"low", BELOW_INFINITY},
       {"high", ABOVE_INFINITY}}},
     BOUNDED_TEXT},
    {{"bernoulli", 'b', BY_WORD, FREE, 1, {{"p", PROBABILITY}}}, INVERSE_TEXT},
    {{"geometric", 'i', BY_REAL, FREE, 1, {{"p", NOT_0}}}, INVERSE_TEXT},
    {{"poisson", 'i', BY_COUNTS, FREE, 1, {{"lam", NOT_NEGATIVE}}},
     DISCRETE_TEXT | GA_TEXT_ATTEMPTS},
    {{"binomial", 'i', BY_COUNTS, FREE, 2, {{"n", WHOLE}, {"p", PROBABILITY}}},
     DISCRETE_TEXT | GA_TEXT_ATTEMPTS},
    {{"negative_binomial", 'i', BY_TWICE, FREE, 2, {{"n", POSITIVE}, {"p", NOT_0}}},
     DISCRETE_TEXT},
    {{"hypergeometric",
      'i',
      BY_COUNTS,
      WITHIN_SUM,
      3,
      {{"ngood", WHOLE}, {"nbad", WHOLE}, {"nsample", WHOLE}}},
     DISCRETE_TEXT},
    {{"zipf", 'i', BY_COUNTS, FREE, 1, {{"a", ABOVE_1}}}, DISCRETE_TEXT},
    {{"logseries", 'i', BY_COUNT, FREE, 1, {{"p", NOT_1}}}, DISCRETE_TEXT},
};

#define N_ROWS (sizeof table / sizeof *table)
_Static_assert(sizeof table->row.parameters ==
                   GA_RANDOM_PARAMETERS * sizeof(gpurandom_parameter),
               "the header says how many parameters there are");

const ga_distribution *ga__distribution(unsigned int row) {
  return row < N_ROWS ? &table[row] : NULL;
}

const gpurandom_distribution *gpurandom_table(unsigned int row) {
  return row < N_ROWS ? &table[row].row : NULL;
}

static int fail_unknown(const char *name, const char *operation) {
  ga_strbuf names = {0};
  for (unsigned int k = 0; k < N_ROWS; k++)
    ga__strbuf_addf(&names, "%s%s", k > 0 ? ", " : "", table[k].row.name);
  const int status =
      names.failed
          ? GA_MEMORY_ERROR
          : GA_FAIL(GA_VALUE_ERROR, "%s: got distribution '%s', expected one of %s",
                    operation, name, names.text);
  ga__strbuf_clear(&names);
  return status;
}

int ga__distribution_find(unsigned int *row, const char *name, const char *operation) {
  if (name == NULL)
    return ga__fail_null(operation, "distribution");
  for (unsigned int k = 0; k < N_ROWS; k++)
    if (strcmp(table[k].row.name, name) == 0) {
      *row = k;
      return GA_NO_ERROR;
    }
  return fail_unknown(name, operation);
}

/* ---- types and counts ---- */

int ga__distribution_real(int typecode) {
  const bool is_wide = typecode == GA_DOUBLE || typecode == GA_CDOUBLE ||
                       typecode == GA_LONG || typecode == GA_ULONG;
  return is_wide ? GA_DOUBLE : GA_FLOAT;
}

int ga__distribution_has(const ga_distribution *d, int typecode,
                         const char *operation) {
  const char *kinds = d->row.kind == 'f' ? "f" : d->row.kind == 'i' ? "iuf" : "biuf";
  const char kind = ga__dtype_kind(typecode);
  if (kind != 0 && strchr(kinds, kind) != NULL)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR, "%s: got %s for %s, expected %s", operation,
                 ga__dtype_name(typecode), d->row.name,
                 kinds[0] == 'f'   ? "a float type"
                 : kinds[0] == 'i' ? "an integer or float type"
                                   : "a bool, integer or float type");
}

unsigned int ga__distribution_words(const ga_distribution *d, int typecode) {
  const bool one =
      d->row.form == GA_RANDOM_BY_WORD || ga__distribution_real(typecode) == GA_FLOAT;
  return one ? 1 : 2;
}

uint64_t ga__distribution_counts(const ga_distribution *d, int typecode, uint64_t n) {
  if (d->row.form == GA_RANDOM_BY_COUNTS)
    return n * d->row.counts;
  const uint64_t per_count = 4 / ga__distribution_words(d, typecode);
  return n / per_count + (n % per_count != 0);
}

int gpurandom_counts(uint64_t *counts, const char *distribution, int typecode,
                     uint64_t n) {
  unsigned int row;
  if (counts == NULL)
    return ga__fail_null("random_counts", "pointer for the counts");
  GA_TRY(ga__distribution_find(&row, distribution, "random_counts"));
  GA_TRY(ga__distribution_has(&table[row], typecode, "random_counts"));
  *counts = ga__distribution_counts(&table[row], typecode, n);
  return GA_NO_ERROR;
}

/* ---- parameters ---- */

/* The largest integer up to which all are numbers of the type. */
static double most_exact(int real) {
  return real == GA_DOUBLE ? 0x1p53 : 0x1p24;
}

static bool in_range(const gpurandom_parameter *p, double value) {
  return (p->flags & GA_RANDOM_ABOVE ? value > p->least : value >= p->least) &&
         (p->flags & GA_RANDOM_BELOW ? value < p->greatest : value <= p->greatest) &&
         !(p->flags & GA_RANDOM_WHOLE && value != floor(value));
}

/* "an integer from 0 on", "a number above 0, at most 1"; returns `out`. */
static const char *range_text(char out[96], const gpurandom_parameter *p) {
  const bool is_above = p->flags & GA_RANDOM_ABOVE,
             is_below = p->flags & GA_RANDOM_BELOW;
  const char *noun = p->flags & GA_RANDOM_WHOLE       ? "an integer"
                     : is_below && isinf(p->greatest) ? "a finite number"
                                                      : "a number";
  if (isinf(p->least))
    snprintf(out, 96, "%s", noun);
  else if (isinf(p->greatest))
    snprintf(out, 96, "%s %s %g%s", noun, is_above ? "above" : "from", p->least,
             is_above ? "" : " on");
  else if (!is_above && !is_below)
    snprintf(out, 96, "%s from %g to %g", noun, p->least, p->greatest);
  else
    snprintf(out, 96, "%s %s %g, %s %g", noun, is_above ? "above" : "from", p->least,
             is_below ? "below" : "at most", p->greatest);
  return out;
}

static int check_relation(const gpurandom_distribution *d, const double *values,
                          const bool *is_array) {
  const unsigned int first = d->n - d->related;
  for (unsigned int k = first; k < d->n; k++)
    if (is_array[k])
      return GA_NO_ERROR;
  if (d->relation == GA_RANDOM_WITHIN_SUM && values[2] > values[0] + values[1])
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %s %g, expected at most %s + %s, %g",
                   d->name, d->parameters[2].name, values[2], d->parameters[0].name,
                   d->parameters[1].name, values[0] + values[1]);
  for (unsigned int k = first + 1; d->relation == GA_RANDOM_RISING && k < d->n; k++)
    if (values[k] < values[k - 1])
      return GA_FAIL(GA_VALUE_ERROR, "%s: got %s %g, expected at least %s, %g", d->name,
                     d->parameters[k].name, values[k], d->parameters[k - 1].name,
                     values[k - 1]);
  return GA_NO_ERROR;
}

int ga__distribution_check(const ga_distribution *d, int real, const double *values,
                           const bool *is_array) {
  char text[96];
  for (unsigned int k = 0; k < d->row.n; k++) {
    const gpurandom_parameter *p = &d->row.parameters[k];
    const double value = real == GA_DOUBLE ? values[k] : (float)values[k];
    if (is_array[k])
      continue;
    if (!in_range(p, value))
      return GA_FAIL(GA_VALUE_ERROR, "%s: got %s %g%s, expected %s", d->row.name,
                     p->name, values[k], in_range(p, values[k]) ? " in float32" : "",
                     range_text(text, p));
    if (p->flags & GA_RANDOM_WHOLE && value > most_exact(real))
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: got %s %g, expected at most %g for results "
                     "computed in %s",
                     d->row.name, p->name, value, most_exact(real),
                     real == GA_DOUBLE ? "float64"
                                       : "float32; those of 8 bytes are in float64");
  }
  return check_relation(&d->row, values, is_array);
}
