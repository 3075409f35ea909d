/* Device code of distributions: texts written for REAL, and ga_draw_NAME. */
#include "c/random/distribution.h"

#include <math.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/random/kernels/bounded.inc"
#include "c/random/kernels/counts.inc"
#include "c/random/kernels/discrete.inc"
#include "c/random/kernels/double_functions.inc"
#include "c/random/kernels/float_functions.inc"
#include "c/random/kernels/gamma.inc"
#include "c/random/kernels/inverse.inc"
#include "c/random/kernels/lognormal.inc"
#include "c/random/kernels/normal.inc"
#include "c/random/kernels/philox.inc"
#include "c/random/kernels/real.inc"
#include "c/random/kernels/uniform.inc"

static const struct {
  unsigned int flag;
  const char *name, *text;
} texts[] = {{GA_TEXT_UNIFORM, "UNIFORM", uniform_text},
             {GA_TEXT_NORMAL, "NORMAL", normal_text},
             {GA_TEXT_REAL, "REAL", real_text},
             {GA_TEXT_LOGNORMAL, "LOGNORMAL", lognormal_text},
             {GA_TEXT_INVERSE, "INVERSE", inverse_text},
             {GA_TEXT_COUNTS, "COUNTS", counts_text},
             {GA_TEXT_GAMMA, "GAMMA", gamma_text},
             {GA_TEXT_DISCRETE, "DISCRETE", discrete_text},
             {GA_TEXT_BOUNDED, "BOUNDED", bounded_text}};

static void begin_real(ga_strbuf *out, int real) {
  const bool is_double = real == GA_DOUBLE;
  ga__strbuf_addf(out,
                  "#define REAL %s\n#define BITS %s\n#define REAL_IS_DOUBLE %d\n"
                  "#define R(x) %s\n#define COUNTS %d\n"
                  "#define OF_REAL(name) name##_%s\n",
                  is_double ? "ga_double" : "ga_float",
                  is_double ? "ga_ulong" : "ga_uint", is_double,
                  is_double ? "x" : "x##f", GA_RANDOM_COUNTS,
                  is_double ? "double" : "float");
}

static void end_real(ga_strbuf *out) {
  ga__strbuf_add(out, "#undef REAL\n#undef BITS\n#undef REAL_IS_DOUBLE\n#undef R\n"
                      "#undef COUNTS\n#undef OF_REAL\n");
}

static void add_once(ga_strbuf *out, const char *name, int real, const char *text) {
  const char *type = real == GA_DOUBLE ? "DOUBLE" : "FLOAT";
  ga__strbuf_addf(out, "#ifndef GA_ONCE_RANDOM_%s_%s\n#define GA_ONCE_RANDOM_%s_%s\n",
                  name, type, name, type);
  ga__strbuf_add(out, text);
  ga__strbuf_add(out, "#endif\n");
}

void ga__distribution_functions(ga_strbuf *text, const ga_distribution *d, int real) {
  ga__strbuf_add(text, philox_text);
  ga__strbuf_add(text,
                 real == GA_DOUBLE ? double_functions_text : float_functions_text);
  begin_real(text, real);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    if (d->texts & texts[k].flag)
      add_once(text, texts[k].name, real, texts[k].text);
  end_real(text);
}

/* ---- ga_draw_NAME ---- */

static void add_bound(ga_strbuf *t, const char *name, const char *relation,
                      double bound) {
  if (isinf(bound))
    ga__strbuf_addf(t, " && %s %s %sINFINITY", name, relation, bound < 0 ? "-" : "");
  else
    ga__strbuf_addf(t, " && %s %s R(%.1f)", name, relation, bound);
}

/* True if all parameters are allowed. */
static void add_condition(ga_strbuf *t, const gpurandom_distribution *d) {
  ga__strbuf_add(t, "1");
  for (unsigned int k = 0; k < d->n; k++) {
    const gpurandom_parameter *p = &d->parameters[k];
    add_bound(t, p->name, p->flags & GA_RANDOM_ABOVE ? ">" : ">=", p->least);
    add_bound(t, p->name, p->flags & GA_RANDOM_BELOW ? "<" : "<=", p->greatest);
    if (p->flags & GA_RANDOM_WHOLE)
      ga__strbuf_addf(t, " && %s == floor(%s)", p->name, p->name);
  }
  if (d->relation == GA_RANDOM_WITHIN_SUM)
    ga__strbuf_addf(t, " && %s <= %s + %s", d->parameters[2].name,
                    d->parameters[0].name, d->parameters[1].name);
  for (unsigned int k = d->n - d->related + 1;
       d->relation == GA_RANDOM_RISING && k < d->n; k++)
    ga__strbuf_addf(t, " && %s <= %s", d->parameters[k - 1].name,
                    d->parameters[k].name);
}

/* The call that computes an element from its random bits, into `v`. */
static void add_call(ga_strbuf *t, const gpurandom_distribution *d, int real) {
  const bool is_double = real == GA_DOUBLE;
  const char *bits = is_double ? "ga_philox_pair" : "ga_philox_word";
  const char *place = ", stream, seed)";
  if (d->form == GA_RANDOM_BY_PAIR)
    ga__strbuf_addf(t,
                    "REAL other; ga_%s_of(&v, &other, %s(position, i & ~(ga_ulong)1%s, "
                    "%s(position, i | 1%s",
                    d->name, bits, place, bits, place);
  else if (d->form == GA_RANDOM_BY_COUNTS)
    ga__strbuf_addf(t, "v = ga_%s_of(position + i * %u, stream, seed", d->name,
                    d->counts);
  else
    ga__strbuf_addf(t, "v = ga_%s_of(%s(position, i%s", d->name,
                    d->form == GA_RANDOM_BY_WORD ? "ga_philox_word" : bits, place);
  for (unsigned int k = 0; k < d->n; k++)
    ga__strbuf_addf(t, ", %s", d->parameters[k].name);
  ga__strbuf_add(t, d->form == GA_RANDOM_BY_PAIR ? "); v = i & 1 ? other : v" : ")");
}

void ga__distribution_element(ga_strbuf *text, const ga_distribution *d, int real) {
  ga_strbuf body = {0};
  ga__distribution_functions(text, d, real);
  ga__strbuf_addf(&body,
                  "GA_INLINE REAL ga_draw_%s(ga_ulong seed, ga_ulong stream, "
                  "ga_ulong position, ga_ulong i",
                  d->row.name);
  for (unsigned int k = 0; k < d->row.n; k++)
    ga__strbuf_addf(&body, ", REAL %s", d->row.parameters[k].name);
  ga__strbuf_add(&body, ") {\n  REAL v = NAN;\n  if (");
  add_condition(&body, &d->row);
  ga__strbuf_add(&body, ") { ");
  add_call(&body, &d->row, real);
  ga__strbuf_add(&body, "; }\n  return v;\n}\n");
  if (ga__strbuf_status(&body) != GA_NO_ERROR)
    text->failed = true;
  else {
    begin_real(text, real);
    add_once(text, d->row.name, real, body.text);
    end_real(text);
  }
  ga__strbuf_clear(&body);
}

int gpurandom_device_code(char *text, size_t *size, const char *distribution,
                          int typecode) {
  static const char operation[] = "random_device_code";
  unsigned int row;
  ga_strbuf code = {0};
  if (size == NULL)
    return ga__fail_null(operation, "size");
  GA_TRY(ga__distribution_find(&row, distribution, operation));
  GA_TRY(ga__distribution_has(ga__distribution(row), typecode, operation));
  ga__distribution_element(&code, ga__distribution(row),
                           ga__distribution_real(typecode));
  const int status = ga__strbuf_status(&code);
  if (status == GA_NO_ERROR) {
    if (text != NULL && *size > code.length)
      memcpy(text, code.text, code.length + 1);
    *size = code.length + 1;
  }
  ga__strbuf_clear(&code);
  return status;
}
