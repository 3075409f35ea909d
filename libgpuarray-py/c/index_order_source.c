/* The kernel text of additions in a fixed order. */
#include "c/index_order.h"

#include "c/dtype.h"

static void add_list(ga_strbuf *t, const char *type, const char *name,
                     unsigned int from, unsigned int to) {
  for (unsigned int k = from; k < to; k++)
    ga__strbuf_addf(t, ", %s %s%u", type, name, k);
}

static void add_arguments(ga_strbuf *t, const ga_order_spec *s) {
  const char *type = gpuarray_get_type(s->typecode)->cluda_name;
  const char *slot = gpuarray_get_type(s->slot_type)->cluda_name;
  ga__strbuf_addf(t,
                  "(GLOBAL_MEM %s *x, ga_size x_off, GLOBAL_MEM const %s *v, ga_size "
                  "v_off, GLOBAL_MEM const %s *slot, ga_size slot_off, GLOBAL_MEM "
                  "const ga_long *order, ga_size order_off, ga_ulong count, ga_ulong "
                  "others",
                  type, type, slot);
  add_list(t, "ga_ulong", "il", 1, s->n);
  add_list(t, "ga_long", "is", 0, s->n);
  add_list(t, "ga_ulong", "bl", 1, s->nb);
  add_list(t, "ga_long", "bs", 0, s->nb);
  add_list(t, "ga_ulong", "ol", 1, s->nd);
  add_list(t, "ga_long", "xs", 0, s->nd);
  add_list(t, "ga_long", "vs", 0, s->nd);
  ga__strbuf_addf(
      t,
      ") {\n"
      "  x = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)x + x_off);\n"
      "  v = (GLOBAL_MEM const %s *)((GLOBAL_MEM const char *)v + v_off);\n"
      "  slot = (GLOBAL_MEM const %s *)((GLOBAL_MEM const char *)slot + "
      "slot_off);\n"
      "  order = (GLOBAL_MEM const ga_long *)((GLOBAL_MEM const char *)order "
      "+ order_off);\n",
      type, type, slot);
}

/* Adds to `sum` where position `at` lies along axes of these lengths and strides. */
static void add_terms(ga_strbuf *t, unsigned int nd, const char *at,
                      const char *lengths, const char *strides, const char *sum) {
  if (nd == 0)
    return;
  ga__strbuf_addf(t, "{ ga_ulong rest = %s;\n", at);
  for (unsigned int k = nd - 1; k > 0; k--)
    ga__strbuf_addf(t, "%s += (ga_long)(rest %% %s%u) * %s%u; rest /= %s%u;\n", sum,
                    lengths, k, strides, k, lengths, k);
  ga__strbuf_addf(t, "%s += (ga_long)rest * %s0; }\n", sum, strides);
}

static void add_pattern(ga_strbuf *t, const char *pattern, const char *text) {
  for (const char *c = pattern; *c != 0; c++)
    if (*c == '%')
      ga__strbuf_add(t, text);
    else
      ga__strbuf_addn(t, c, 1);
}

static void add_sum(ga_strbuf *t, const ga_order_spec *s) {
  const char kind = ga__dtype_kind(s->typecode);
  const char *work = gpuarray_get_type(ga__dtype_work(s->typecode))->cluda_name;
  ga__strbuf_addf(t, "      const %s one = ", work);
  add_pattern(t, ga__dtype_load(s->typecode), "v[pv]");
  if (kind == 'c')
    ga__strbuf_add(t, ";\n      sum.x += one.x;\n      sum.y += one.y;\n");
  else if (kind == 'b')
    ga__strbuf_add(t, ";\n      sum = sum | one;\n");
  else
    ga__strbuf_addf(t, ";\n      sum = (%s)(sum + one);\n", work);
}

/* Item (x, y): position x of the other axes and index y of the order, if it is the
 * first of its slot. */
static void add_body(ga_strbuf *t, const ga_order_spec *s) {
  const char *work = gpuarray_get_type(ga__dtype_work(s->typecode))->cluda_name;
  const char *slot = gpuarray_get_type(s->slot_type)->cluda_name;
  ga__strbuf_add(t, "  const ga_ulong o = GID_0 * LDIM_0 + LID_0;\n"
                    "  if (o >= others) return;\n"
                    "  ga_long px_o = 0, pv_o = 0;\n");
  add_terms(t, s->nd, "o", "ol", "xs", "px_o");
  add_terms(t, s->nd, "o", "ol", "vs", "pv_o");
  ga__strbuf_addf(t,
                  "  for (ga_ulong q = GID_1 * LDIM_1 + LID_1; q < count; "
                  "q += GDIM_1 * LDIM_1) {\n"
                  "    ga_long number = order[q];\n"
                  "    const %s own = slot[number];\n"
                  "    if (own == ~(%s)0 || (q > 0 && slot[order[q - 1]] == own)) "
                  "continue;\n"
                  "    ga_long px = px_o;\n",
                  slot, slot);
  add_terms(t, s->n, "own", "il", "is", "px");
  ga__strbuf_addf(t, "    %s sum = ", work);
  add_pattern(t, ga__dtype_load(s->typecode), "x[px]");
  ga__strbuf_add(t, ";\n    for (ga_ulong r = q; ; number = order[r]) {\n"
                    "      if (slot[number] != own) break;\n"
                    "      ga_long pv = pv_o;\n");
  add_terms(t, s->nb, "(ga_ulong)number", "bl", "bs", "pv");
  add_sum(t, s);
  ga__strbuf_add(t, "      if (++r == count) break;\n    }\n    x[px] = ");
  add_pattern(t, ga__dtype_store(s->typecode), "sum");
  ga__strbuf_add(t, ";\n  }\n}\n");
}

int ga__order_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_order_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_arguments(&text, s);
  add_body(&text, s);
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, "index_add", text.text);
    ga__strbuf_addf(&out->body, "KERNEL void %s", out->name);
    ga__strbuf_addn(&out->body, text.text, text.length);
    status = ga__strbuf_status(&out->body);
  }
  ga__strbuf_clear(&text);
  return status;
}
