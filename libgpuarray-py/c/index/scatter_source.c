/* The kernel texts of additions in a fixed order, and of what is put place by place. */
#include "c/index/scatter_deterministic.h"

#include <stdio.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"

static const char *element_type(const ga_order_spec *s) {
  return s->put == 0   ? gpuarray_get_type(s->typecode)->cluda_name
         : s->put == 1 ? "ga_ubyte"
         : s->put == 2 ? "ga_ushort"
         : s->put == 4 ? "ga_uint"
         : s->put == 8 ? "ga_ulong"
                       : "ga_ulong2";
}

static const char *work_type(const ga_order_spec *s) {
  return gpuarray_get_type(ga__dtype_work(s->typecode))->cluda_name;
}

static const char *slot_type(const ga_order_spec *s) {
  return gpuarray_get_type(s->slot_type)->cluda_name;
}

static const char *position_type(const ga_order_spec *s) {
  return s->wide ? "ga_long" : "ga_int";
}

static const char *count_type(const ga_order_spec *s) {
  return s->wide ? "ga_ulong" : "ga_uint";
}

/* ---- arguments ---- */

static void add_list(ga_strbuf *t, const char *type, const char *name,
                     unsigned int from, unsigned int to) {
  for (unsigned int k = from; k < to; k++)
    ga__strbuf_addf(t, ", %s %s%u", type, name, k);
}

static int add_arguments(ga_strbuf *t, const ga_order_spec *s) {
  ga_strbuf starts = {0};
  ga__strbuf_add(t, "(");
  ga__text_array(t, &starts, false, element_type(s), "x");
  ga__text_array(t, &starts, true, s->first ? element_type(s) : work_type(s), "v");
  ga__text_array(t, &starts, true, slot_type(s), "slot");
  if (s->first && !s->put)
    ga__text_array(t, &starts, true, "ga_long", "order");
  if (!s->last) {
    ga__text_array(t, &starts, false, slot_type(s), "next_slot");
    ga__text_array(t, &starts, false, work_type(s), "next");
  }
  ga__strbuf_add(t, "ga_ulong count, ga_ulong others");
  add_list(t, count_type(s), "il", 1, s->n);
  add_list(t, position_type(s), "is", 0, s->n);
  add_list(t, count_type(s), "bl", 1, s->nb);
  add_list(t, position_type(s), "bs", 0, s->nb);
  add_list(t, count_type(s), "ol", 1, s->nd);
  add_list(t, position_type(s), "xs", 0, s->nd);
  add_list(t, position_type(s), "vs", 0, s->first ? s->nd : 0);
  int status = ga__strbuf_status(&starts);
  if (status == GA_NO_ERROR)
    ga__strbuf_addf(t, ") {\n%s", starts.text);
  ga__strbuf_clear(&starts);
  return status;
}

/* ---- values ---- */

/* Adds to `sum` where position `at` lies along axes of these lengths and strides. */
static void add_terms(ga_strbuf *t, const ga_order_spec *s, unsigned int nd,
                      const char *at, const char *lengths, const char *strides,
                      const char *sum) {
  const char *type = position_type(s);
  ga__strbuf_addf(t, "{ %s rest = (%s)%s;\n", count_type(s), count_type(s), at);
  for (unsigned int k = nd - 1; k > 0; k--)
    ga__strbuf_addf(t, "%s += (%s)(rest %% %s%u) * %s%u; rest /= %s%u;\n", sum, type,
                    lengths, k, strides, k, lengths, k);
  ga__strbuf_addf(t, "%s += (%s)rest * %s0; }\n", sum, type, strides);
}

static void add_pattern(ga_strbuf *t, const char *pattern, const char *text) {
  for (const char *c = pattern; *c != 0; c++)
    if (*c == '%')
      ga__strbuf_add(t, text);
    else
      ga__strbuf_addn(t, c, 1);
}

/* `to` becomes its sum with `one`. */
static void add_sum(ga_strbuf *t, const ga_order_spec *s, const char *to,
                    const char *one) {
  const char kind = ga__dtype_kind(s->typecode);
  if (kind == 'c')
    ga__strbuf_addf(t, "{ %s.x += %s.x; %s.y += %s.y; }\n", to, one, to, one);
  else if (kind == 'b')
    ga__strbuf_addf(t, "%s = %s | %s;\n", to, to, one);
  else
    ga__strbuf_addf(t, "%s = (%s)(%s + %s);\n", to, work_type(s), to, one);
}

/* What changes nothing that it is added to. */
static void add_nothing(ga_strbuf *t, const ga_order_spec *s, const char *name) {
  const char kind = ga__dtype_kind(s->typecode);
  const char *zero = kind == 'f' || kind == 'c' ? "-0.0f" : "0";
  if (kind == 'c')
    ga__strbuf_addf(t, "    %s %s; %s.x = %s; %s.y = %s;\n", work_type(s), name, name,
                    zero, name, zero);
  else
    ga__strbuf_addf(t, "    %s %s = %s;\n", work_type(s), name, zero);
}

/* `one`: the value of entry `k`. */
static void add_load(ga_strbuf *t, const ga_order_spec *s) {
  if (!s->first) {
    ga__strbuf_addf(t, "      const %s one = v[k * others + o];\n", work_type(s));
    return;
  }
  ga__strbuf_addf(t,
                  "      const ga_ulong number = (ga_ulong)order[k];\n      %s pv = "
                  "pv_o;\n",
                  position_type(s));
  add_terms(t, s, s->nb, "number", "bl", "bs", "pv");
  ga__strbuf_addf(t, "      const %s one = ", work_type(s));
  add_pattern(t, ga__dtype_load(s->typecode), "v[pv]");
  ga__strbuf_add(t, ";\n");
}

/* ---- the kernel ---- */

/* Stores an entry for the next launch: the first of a run of entries, or its last. */
static void add_entry(ga_strbuf *t, unsigned int which, const char *own,
                      const char *value) {
  ga__strbuf_addf(t,
                  "      if (o == 0) next_slot[2 * run + %u] = %s;\n"
                  "      next[(2 * run + %u) * others + o] = %s;\n",
                  which, own, which, value);
}

/* What no run goes on into, or out of, is an entry of nothing. */
static void add_empty_entries(ga_strbuf *t, const ga_order_spec *s) {
  char none[32];
  snprintf(none, sizeof none, "~(%s)0", slot_type(s));
  ga__strbuf_add(t, "    if (q == begin && !goes_on) {\n");
  add_entry(t, 0, none, "nothing");
  ga__strbuf_add(t, "    }\n"
                    "    if (q + 1 == end && (end == count || slot[end] != own)) {\n");
  add_entry(t, 1, none, "nothing");
  ga__strbuf_add(t, "    }\n");
}

/* `sum`, of the entries from `q` on. */
static void add_loop(ga_strbuf *t, const ga_order_spec *s) {
  ga__strbuf_addf(t,
                  "    %s px = px_o;\n"
                  "    %s sum = nothing;\n",
                  position_type(s), work_type(s));
  add_terms(t, s, s->n, "own", "il", "is", "px");
  if (s->first) {
    ga__strbuf_addf(t, "    if (!goes_on && own != ~(%s)0) sum = ", slot_type(s));
    add_pattern(t, ga__dtype_load(s->typecode), "x[px]");
    ga__strbuf_add(t, ";\n");
  }
  ga__strbuf_add(t, "    ga_ulong k = q;\n"
                    "    do {\n");
  add_load(t, s);
  ga__strbuf_add(t, "      ");
  add_sum(t, s, "sum", "one");
  ga__strbuf_add(t, "    } while (++k < end && slot[k] == own);\n");
}

/* Where the sum goes. */
static void add_result(ga_strbuf *t, const ga_order_spec *s) {
  if (!s->last) {
    ga__strbuf_add(t, "    const ga_int is_cut = k == end && k < count && slot[k] == "
                      "own;\n"
                      "    if (goes_on) {\n");
    add_entry(t, 0, "own", "sum");
    ga__strbuf_add(t, "    }\n    if (is_cut) {\n");
    add_entry(t, 1, "own", "(goes_on ? nothing : sum)");
    ga__strbuf_add(t, "    }\n    if (goes_on || is_cut) continue;\n");
  }
  ga__strbuf_addf(t, "    if (own != ~(%s)0) x[px] = ", slot_type(s));
  add_pattern(t, ga__dtype_store(s->typecode), "sum");
  ga__strbuf_add(t, ";\n");
}

/* Item (x, y): position x of the other axes, and entry y if it is the first of its slot
 * or of its run of entries. */
static void add_body(ga_strbuf *t, const ga_order_spec *s) {
  ga__strbuf_addf(t,
                  "  const ga_ulong o = GID_0 * LDIM_0 + LID_0;\n"
                  "  if (o >= others) return;\n"
                  "  %s px_o = 0, pv_o = 0;\n  (void)pv_o;\n",
                  position_type(s));
  add_terms(t, s, s->nd, "o", "ol", "xs", "px_o");
  if (s->first)
    add_terms(t, s, s->nd, "o", "ol", "vs", "pv_o");
  add_nothing(t, s, "nothing");
  ga__strbuf_addf(t,
                  "  for (ga_ulong q = GID_1 * LDIM_1 + LID_1; q < count; "
                  "q += GDIM_1 * LDIM_1) {\n"
                  "    const ga_ulong run = q / %d, begin = run * %d;\n"
                  "    const ga_ulong end = begin + %d < count ? begin + %d : count;\n"
                  "    const %s own = slot[q];\n"
                  "    const ga_int goes_on = q > 0 && slot[q - 1] == own;\n",
                  GA_ORDER_RUN, GA_ORDER_RUN, GA_ORDER_RUN, GA_ORDER_RUN, slot_type(s));
  if (!s->last)
    add_empty_entries(t, s);
  ga__strbuf_add(t, "    if (goes_on && q != begin) continue;\n");
  add_loop(t, s);
  add_result(t, s);
  ga__strbuf_add(t, "  }\n}\n");
}

/* Item (x, y): position x of the other axes and slot y. */
static void add_put(ga_strbuf *t, const ga_order_spec *s) {
  const char *type = position_type(s);
  ga__strbuf_addf(t,
                  "  const ga_ulong o = GID_0 * LDIM_0 + LID_0;\n"
                  "  if (o >= others) return;\n"
                  "  %s px_o = 0, pv_o = 0;\n",
                  type);
  add_terms(t, s, s->nd, "o", "ol", "xs", "px_o");
  add_terms(t, s, s->nd, "o", "ol", "vs", "pv_o");
  ga__strbuf_addf(t,
                  "  for (ga_ulong y = GID_1 * LDIM_1 + LID_1; y < count; "
                  "y += GDIM_1 * LDIM_1) {\n"
                  "    const ga_uint number = slot[y];\n"
                  "    if (number == 0) continue;\n"
                  "    %s px = px_o, pv = pv_o;\n",
                  type);
  add_terms(t, s, s->n, "y", "il", "is", "px");
  add_terms(t, s, s->nb, "(number - 1)", "bl", "bs", "pv");
  ga__strbuf_add(t, "    x[px] = v[pv];\n  }\n}\n");
}

int ga__order_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_order_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  int status = add_arguments(&text, s);
  if (status == GA_NO_ERROR) {
    if (s->put)
      add_put(&text, s);
    else
      add_body(&text, s);
    return ga__text_finish(out, s->put ? "index_put" : "index_add", NULL, &text);
  }
  ga__strbuf_clear(&text);
  return status;
}
