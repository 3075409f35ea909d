/* Source generator of deterministic scatter-add, and of slot-parallel put. */
#include "c/index/scatter_source.h"

#include <stdio.h>

#include "c/base/dtype.h"
#include "c/index/kernels/index_add.inc"
#include "c/index/kernels/index_put.inc"
#include "c/program/kernel_text.h"

static const char *element_type(const ga_order_spec *s) {
  return s->put == 0 ? ga__dtype_ctype(s->typecode) : ga__dtype_word(s->put);
}

static const char *count_type(const ga_order_spec *s) {
  return s->wide ? "ga_ulong" : "ga_uint";
}

/* ---- macros ---- */

static void add_list(ga_strbuf *t, const char *type, const char *name,
                     unsigned int from, unsigned int to) {
  for (unsigned int k = from; k < to; k++)
    ga__strbuf_addf(t, ", %s %s%u", type, name, k);
}

static void add_parameters(ga_strbuf *t, const ga_order_spec *s) {
  ga_strbuf starts = {0};
  ga__strbuf_add(t, "#define OR_PARAMETERS ");
  ga__text_array(t, &starts, false, element_type(s), "x");
  ga__text_array(t, &starts, true,
                 s->first ? element_type(s) : ga__dtype_work_ctype(s->typecode), "v");
  ga__text_array(t, &starts, true, ga__dtype_ctype(s->slot_type), "slot");
  if (s->first && !s->put)
    ga__text_array(t, &starts, true, "ga_long", "order");
  if (!s->last) {
    ga__text_array(t, &starts, false, ga__dtype_ctype(s->slot_type), "next_slot");
    ga__text_array(t, &starts, false, ga__dtype_work_ctype(s->typecode), "next");
  }
  ga__strbuf_add(t, "ga_ulong count, ga_ulong others");
  add_list(t, count_type(s), "il", 1, s->n);
  add_list(t, ga__text_position(s->wide), "is", 0, s->n);
  add_list(t, count_type(s), "bl", 1, s->nb);
  add_list(t, ga__text_position(s->wide), "bs", 0, s->nb);
  add_list(t, count_type(s), "ol", 1, s->nd);
  add_list(t, ga__text_position(s->wide), "xs", 0, s->nd);
  add_list(t, ga__text_position(s->wide), "vs", 0, s->first ? s->nd : 0);
  ga__strbuf_add(t, "\n#define OR_STARTS ");
  ga__strbuf_move(t, &starts);
  ga__strbuf_add(t, "\n");
}

/* Defines `word`(at, sum): adds the offset of linear index `at`, by these lengths and
 * strides, to `sum`. */
static void add_terms(ga_strbuf *t, const char *word, const ga_order_spec *s,
                      unsigned int nd, const char *lengths, const char *strides) {
  const char *type = ga__text_position(s->wide), *count = count_type(s);
  ga__strbuf_addf(t, "#define %s(at, sum) { %s rest = (%s)at;", word, count, count);
  for (unsigned int k = nd; k-- > 1;)
    ga__strbuf_addf(t, " sum += (%s)(rest %% %s%u) * %s%u; rest /= %s%u;", type,
                    lengths, k, strides, k, lengths, k);
  ga__strbuf_addf(t, " sum += (%s)rest * %s0; }\n", type, strides);
}

/* Defines `word`(e): `pattern` with e in place of "%". */
static void add_pattern(ga_strbuf *t, const char *word, const char *pattern) {
  ga__strbuf_addf(t, "#define %s(e) ", word);
  ga__strbuf_fill(t, pattern, "e");
  ga__strbuf_add(t, "\n");
}

static void add_words(ga_strbuf *t, const ga_order_spec *s) {
  const char kind = ga__dtype_kind(s->typecode);
  add_parameters(t, s);
  ga__strbuf_addf(t,
                  "#define OR_INT %s\n#define OR_SLOT %s\n#define OR_WORK %s\n"
                  "#define OR_RUN %d\n#define OR_FIRST %d\n#define OR_LAST %d\n"
                  "#define OR_IS_COMPLEX %d\n#define OR_IS_BOOL %d\n"
                  "#define OR_ZERO %s\n",
                  ga__text_position(s->wide), ga__dtype_ctype(s->slot_type),
                  ga__dtype_work_ctype(s->typecode), GA_ORDER_RUN, s->first, s->last,
                  kind == 'c', kind == 'b', kind == 'f' || kind == 'c' ? "-0.0f" : "0");
  add_pattern(t, "OR_LOAD", ga__dtype_load(s->typecode));
  add_pattern(t, "OR_STORE", ga__dtype_store(s->typecode));
  add_terms(t, "OR_X_TERMS", s, s->nd, "ol", "xs");
  add_terms(t, "OR_V_TERMS", s, s->nd, "ol", "vs");
  add_terms(t, "OR_INDEX_TERMS", s, s->n, "il", "is");
  add_terms(t, "OR_VALUE_TERMS", s, s->nb, "bl", "bs");
}

int ga__order_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_order_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_words(&text, s);
  ga__strbuf_add(&text, s->put ? index_put_text : index_add_text);
  out->is_closed = true;
  return ga__text_finish_named(out, s->put ? "index_put" : "index_add", NULL,
                               "#define OR_NAME %\n", &text);
}
