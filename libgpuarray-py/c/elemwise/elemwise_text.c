/* Shared parts of elementwise kernel sources. */
#include "c/elemwise/elemwise_text.h"

#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"

/* ---- types ---- */

const char *ga__elem_stored(const gpuelemwise_arg *arg) {
  return ga__dtype_ctype(arg->typecode);
}

static bool is_made(const ga_elem_spec *spec, unsigned int i) {
  return spec->made != NULL && *spec->made == i;
}

/* True if the expression's type differs from the stored one. */
static bool is_converted(const ga_elem_spec *spec, const gpuelemwise_arg *arg) {
  return spec->convert_half && ga__dtype_work(arg->typecode) != arg->typecode;
}

/* Type of the expression's variable. */
static const char *variable_type(const ga_elem_spec *spec, const gpuelemwise_arg *arg) {
  if (is_converted(spec, arg))
    return ga__dtype_work_ctype(arg->typecode);
  return ga__elem_stored(arg);
}

const char *ga__elem_bytes_type(size_t bytes) {
  return bytes >= 16  ? "ga_uint4"
         : bytes == 8 ? "ga_uint2"
         : bytes == 4 ? "ga_uint"
         : bytes == 2 ? "ga_ushort"
                      : "ga_ubyte";
}

size_t ga__elem_largest(const ga_elem_spec *spec) {
  size_t largest = 1;
  for (unsigned int i = 0; i < spec->n; i++) {
    size_t size = gpuarray_get_elsize(spec->args[i].typecode);
    if (ga__elem_is_array(&spec->args[i]) && size > largest)
      largest = size;
  }
  return largest;
}

/* ---- one element ---- */

void ga__elem_add_place(ga_strbuf *sb, const char *form, unsigned int i) {
  for (const char *at; (at = strchr(form, '@')) != NULL; form = at + 1) {
    ga__strbuf_addn(sb, form, (size_t)(at - form));
    ga__strbuf_addf(sb, "%u", i);
  }
  ga__strbuf_add(sb, form);
}

/* Load and conversion of argument i at `place`. */
static void add_load(ga_strbuf *sb, const ga_elem_spec *spec, const char *place,
                     unsigned int i) {
  const gpuelemwise_arg *arg = &spec->args[i];
  const char *form = is_converted(spec, arg) ? ga__dtype_load(arg->typecode) : "%";
  const char *mark = strchr(form, '%');
  ga__strbuf_addn(sb, form, (size_t)(mark - form));
  ga__elem_add_place(sb, place, i);
  ga__strbuf_add(sb, mark + 1);
}

static void add_store(ga_strbuf *sb, const ga_elem_spec *spec, const char *place,
                      unsigned int i) {
  const gpuelemwise_arg *arg = &spec->args[i];
  bool plain = !is_converted(spec, arg) && arg->typecode != GA_BOOL;
  ga__elem_add_place(sb, place, i);
  ga__strbuf_add(sb, " = ");
  ga__strbuf_fill(sb, plain ? "%" : ga__dtype_store(arg->typecode), arg->name);
  ga__strbuf_add(sb, ";\n");
}

void ga__elem_add_body(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single,
                       const char *indent, const char *from, const char *to) {
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    ga__strbuf_addf(sb, "%s%s %s", indent, variable_type(spec, arg), arg->name);
    if (!ga__elem_is_array(arg) || (single >> i & 1) || is_made(spec, i)) {
      ga__strbuf_addf(sb, " = ga_i_s%u", i);
    } else if (ga__elem_is_read(arg)) {
      ga__strbuf_add(sb, " = ");
      add_load(sb, spec, from, i);
    }
    ga__strbuf_add(sb, ";\n");
  }
  ga__strbuf_addf(sb, "%s%s;\n", indent, spec->expr);
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_written(&spec->args[i]))
      continue;
    ga__strbuf_add(sb, indent);
    add_store(sb, spec, to, i);
  }
}

/* ---- parameters and pointers ---- */

void ga__elem_add_parameters(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                             const char *stride) {
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (is_made(spec, i))
      continue;
    if (!ga__elem_is_array(arg)) {
      ga__strbuf_addf(sb, ", %s ga_i_s%u", variable_type(spec, arg), i);
      continue;
    }
    ga__strbuf_addf(sb, ",\n    GLOBAL_MEM %s *ga_i_%u, ga_size ga_i_o%u",
                    ga__elem_stored(arg), i, i);
    for (unsigned int k = 0; k < nd; k++)
      ga__strbuf_addf(sb, ", %s ga_i_t%u_%u", stride, i, k);
  }
}

void ga__elem_add_pointers(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (!ga__elem_is_array(arg) || is_made(spec, i))
      continue;
    ga__strbuf_addf(sb,
                    "  ga_i_%u = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)ga_i_%u + "
                    "ga_i_o%u);\n",
                    i, ga__elem_stored(arg), i, i);
    if (!(single >> i & 1))
      continue;
    ga__strbuf_addf(sb, "  const %s ga_i_s%u = ", variable_type(spec, arg), i);
    add_load(sb, spec, "ga_i_@[0]", i);
    ga__strbuf_add(sb, ";\n");
  }
}

/* ---- index computation ---- */

void ga__elem_add_split(ga_strbuf *sb, unsigned int nd, const char *indent,
                        const char *index, const char *position, const char *quotient) {
  for (unsigned int k = nd; k-- > 1;) {
    ga__strbuf_addf(sb, "%sconst %s ga_i_q%u = ", indent, index, k);
    ga__elem_add_place(sb, quotient, k);
    ga__strbuf_addf(sb,
                    ";\n%sconst %s ga_i_x%u = (%s)(ga_i_r - ga_i_q%u * ga_i_d%u);\n",
                    indent, position, k, position, k, k);
    ga__strbuf_addf(sb, "%sga_i_r = ga_i_q%u;\n", indent, k);
  }
  if (nd > 0)
    ga__strbuf_addf(sb, "%sconst %s ga_i_x0 = (%s)ga_i_r;\n", indent, position,
                    position);
}

void ga__elem_add_sum(ga_strbuf *sb, unsigned int nd, unsigned int i) {
  for (unsigned int k = 0; k < nd; k++)
    ga__strbuf_addf(sb, "%sga_i_x%u * ga_i_t%u_%u", k ? " + " : "", k, i, k);
  ga__strbuf_add(sb, nd ? "" : "0");
}

/* ---- assembly ---- */

int ga__elem_finish(ga_source *out, const ga_elem_spec *spec, const char *kind,
                    ga_strbuf *text) {
  bool preamble = spec->preamble != NULL && spec->preamble[0] != '\0';
  int status = ga__strbuf_status(text);
  if (status == GA_NO_ERROR) {
    if (preamble)
      ga__strbuf_addf(&out->body, "%s\n", spec->preamble);
    /* The hash covers the preamble too: equal names must mean equal kernels. */
    ga__strbuf_add(&out->body, text->text);
    status = ga__strbuf_status(&out->body);
  }
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, "elem", out->body.text);
    out->is_closed = ga__kernel_is_closed(spec->preamble);
    snprintf(out->title, sizeof out->title, "%s", spec->expr);
    ga__strbuf_clear(&out->body);
    if (preamble)
      ga__strbuf_addf(&out->body, "%s\n", spec->preamble);
    ga__strbuf_addf(&out->body, "%s void %s", kind, out->name);
    ga__strbuf_add(&out->body, text->text);
    status = ga__strbuf_status(&out->body);
  }
  ga__strbuf_clear(text);
  return status;
}
