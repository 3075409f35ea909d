/* Parts of a loop's text that all forms have. */
#include "c/loop/loop_text.h"

#include "c/elemwise/elemwise_text.h"

/* The stride along axis k where the text has it: 0 or 1. Compilers gather elements of a
 * stride that they do not know. Else -1. */
static int known_stride(const ga_loop *l, unsigned int i, unsigned int k) {
  const ga_loop_operand *o = &l->operands[i];
  const ssize_t size = (ssize_t)gpuarray_get_elsize(o->array->typecode);
  if (o->strides[k] == 0)
    return 0;
  return k + 1 == l->nd && o->strides[k] == size ? 1 : -1;
}

bool ga__loop_has_stride(const ga_loop *l, unsigned int i, unsigned int k) {
  return known_stride(l, i, k) < 0;
}

void ga__loop_add_term(ga_strbuf *sb, const ga_loop *l, unsigned int i, unsigned int k,
                       const char *position) {
  const int known = known_stride(l, i, k);
  if (known < 0)
    ga__strbuf_addf(sb, " + %s * ga_i_t%u_%u", position, i, k);
  else if (known == 1)
    ga__strbuf_addf(sb, " + %s", position);
}

void ga__loop_add_split(ga_strbuf *sb, unsigned int from) {
  for (unsigned int k = from; k >= 1; k--)
    ga__strbuf_addf(sb,
                    "const ga_ssize ga_i_x%u = (ga_ssize)(ga_i_r %% ga_i_d%u);\n"
                    "ga_i_r /= ga_i_d%u;\n",
                    k, k, k);
}

/* The position of the last chunk. */
#define LAST_CHUNK "(ga_i_total - 1) / ga_i_turns"

void ga__loop_add_condition(ga_strbuf *sb, const ga_loop *l, const ga_loop_operand *o,
                            const char *first, const char *last) {
  const char *between = "if (";
  if (first != NULL) {
    ga__strbuf_addf(sb, "if (%s", first);
    between = " && ";
  }
  for (unsigned int k = 0; k < l->nd; k++) {
    if (!o->lacks[k])
      continue;
    const char *place = ga__loop_is_chunk_axis(l, k) ? LAST_CHUNK : "0";
    if (k + 1 == l->nd)
      ga__strbuf_addf(sb, "%s%s == %s", between, last, place);
    else
      ga__strbuf_addf(sb, "%sga_i_x%u == %s", between, k, place);
    between = " && ";
  }
  if (between[0] == ' ')
    ga__strbuf_add(sb, ") ");
}

void ga__loop_add_step(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step) {
  const GpuElemwise *ge = step->ge;
  char name[GA_LOOP_NAME];
  for (unsigned int i = 0; i < ge->n_out; i++)
    ga__strbuf_addf(sb, "%s ga_i_v%u;\n", ga__dtype_ctype(ge->args[i].typecode),
                    step->outs[i]);
  ga__strbuf_add(sb, "{");
  for (unsigned int i = 0; i < ge->n; i++) {
    const bool scalar = ga__elemwise_is_scalar(ge, i);
    if (i >= ge->n_out)
      ga__loop_variable(name, l, step->ins[i - ge->n_out]);
    ga__elem_add_value(sb, &ge->spec, i, i >= ge->n_out && !scalar ? name : NULL);
    if (scalar)
      ga__strbuf_addf(sb, " %s = %s;", ge->args[i].name, name);
  }
  ga__strbuf_addf(sb, "\n%s;\n", ge->expr);
  for (unsigned int i = 0; i < ge->n_out; i++) {
    snprintf(name, sizeof name, "ga_i_v%u", step->outs[i]);
    ga__elem_add_result(sb, &ge->spec, i, name);
  }
  ga__strbuf_add(sb, "}\n");
}
