/* Macros (EL_...) shared by the elementwise kernel templates. */
#include "c/elemwise/elemwise_text.h"

#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"

/* ---- types ---- */

const char *ga__elem_stored(const gpuelemwise_arg *arg) {
  return gpuarray_get_type(arg->typecode)->cluda_name;
}

static bool is_made(const ga_elem_spec *spec, unsigned int i) {
  return spec->made != NULL && *spec->made == i;
}

/* True if the expression sees another type than memory has. */
static bool is_converted(const ga_elem_spec *spec, const gpuelemwise_arg *arg) {
  return spec->convert_half && ga__dtype_work(arg->typecode) != arg->typecode;
}

/* The type of the expression's variable. */
static const char *variable_type(const ga_elem_spec *spec, const gpuelemwise_arg *arg) {
  if (is_converted(spec, arg))
    return gpuarray_get_type(ga__dtype_work(arg->typecode))->cluda_name;
  return ga__elem_stored(arg);
}

const char *ga__elem_bytes_type(size_t bytes) {
  return bytes >= 16  ? "ga_uint4"
         : bytes == 8 ? "ga_uint2"
         : bytes == 4 ? "ga_uint"
         : bytes == 2 ? "ga_ushort"
                      : "ga_ubyte";
}

size_t ga__elem_largest(const ga_elem_spec *spec, uint64_t single) {
  size_t largest = 1;
  for (unsigned int i = 0; i < spec->n; i++) {
    size_t size = gpuarray_get_elsize(spec->args[i].typecode);
    if (ga__elem_is_array(&spec->args[i]) && !(single >> i & 1) && size > largest)
      largest = size;
  }
  return largest;
}

/* ---- one element ---- */

/* Load and conversion of argument i, stored at `element`. */
static void add_load(ga_strbuf *sb, const ga_elem_spec *spec, const char *element,
                     unsigned int i) {
  const gpuelemwise_arg *arg = &spec->args[i];
  ga__strbuf_fill(sb, is_converted(spec, arg) ? ga__dtype_load(arg->typecode) : "%",
                  element);
}

void ga__elem_add_value(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i,
                        const char *element) {
  const gpuelemwise_arg *arg = &spec->args[i];
  ga__strbuf_addf(sb, " %s %s", variable_type(spec, arg), arg->name);
  if (element != NULL) {
    ga__strbuf_add(sb, " = ");
    add_load(sb, spec, element, i);
  }
  ga__strbuf_add(sb, ";");
}

void ga__elem_add_result(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i,
                         const char *element) {
  const gpuelemwise_arg *arg = &spec->args[i];
  const bool plain = !is_converted(spec, arg) && arg->typecode != GA_BOOL;
  ga__strbuf_addf(sb, " %s = ", element);
  ga__strbuf_fill(sb, plain ? "%" : ga__dtype_store(arg->typecode), arg->name);
  ga__strbuf_add(sb, ";");
}

/* EL_VALUES(OF) declares the expression's variables, inputs initialized with element
 * OF(i), indices with OF_INDEX(i); EL_RESULTS(OF) stores the outputs. The parameter has
 * a reserved name: a variable of the expression may have any other. */
static void add_body(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
  char place[24];
  ga__strbuf_add(sb, "#define EL_VALUES(ga_i_of)");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (ga__elem_is_index(arg)) {
      if (single >> i & 1)
        ga__strbuf_addf(sb, " ga_ulong %s = ga_i_o%u;", arg->name, i);
      else
        ga__strbuf_addf(sb, " ga_ulong %s = ga_i_of##_INDEX(%u);", arg->name, i);
      continue;
    }
    if (!ga__elem_is_array(arg) || (single >> i & 1) || is_made(spec, i)) {
      ga__strbuf_addf(sb, " %s %s = ga_i_s%u;", variable_type(spec, arg), arg->name, i);
      continue;
    }
    snprintf(place, sizeof place, "ga_i_of(%u)", i);
    ga__elem_add_value(sb, spec, i, ga__elem_is_read(arg) ? place : NULL);
  }
  ga__strbuf_add(sb, "\n#define EL_RESULTS(ga_i_of)");
  for (unsigned int i = 0; i < spec->n; i++) {
    snprintf(place, sizeof place, "ga_i_of(%u)", i);
    if (ga__elem_is_written(&spec->args[i]))
      ga__elem_add_result(sb, spec, i, place);
  }
  ga__strbuf_add(sb, "\n");
}

/* ---- parameters, pointers, lists of arrays ---- */

/* EL_PARAMETERS: parameters of the expression; each array with `nd` strides. */
static void add_parameters(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd) {
  ga__strbuf_add(sb, "#define EL_PARAMETERS ");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (is_made(spec, i))
      continue;
    if (arg->flags & GE_SCALAR) {
      ga__strbuf_addf(sb, ", %s ga_i_s%u", variable_type(spec, arg), i);
      continue;
    }
    if (!ga__elem_is_index(arg))
      ga__strbuf_addf(sb, ", GLOBAL_MEM %s *ga_i_%u", ga__elem_stored(arg), i);
    ga__strbuf_addf(sb, ", ga_size ga_i_o%u", i);
    for (unsigned int k = 0; k < nd; k++)
      ga__strbuf_addf(sb, ", EL_INT ga_i_t%u_%u", i, k);
  }
  ga__strbuf_add(sb, "\n");
}

/* EL_STARTS: adds offsets to the pointers. */
static void add_starts(ga_strbuf *sb, const ga_elem_spec *spec) {
  ga__strbuf_add(sb, "#define EL_STARTS");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (!ga__elem_is_array(arg) || is_made(spec, i))
      continue;
    ga__strbuf_addf(sb,
                    " ga_i_%u = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)ga_i_%u + "
                    "ga_i_o%u);",
                    i, ga__elem_stored(arg), i, i);
  }
  ga__strbuf_add(sb, "\n");
}

/* EL_CONSTANTS: loads what has one element, or one for each place of the outer axes. */
static void add_constants(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                          uint64_t single) {
  char place[40];
  ga__strbuf_add(sb, "#define EL_CONSTANTS");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (!ga__elem_is_array(arg) || !(single >> i & 1))
      continue;
    ga__strbuf_addf(sb, " const %s ga_i_s%u = ", variable_type(spec, arg), i);
    snprintf(place, sizeof place, nd > 0 ? "ga_i_%u[EL_OUTER(%u)]" : "ga_i_%u[0]", i,
             i);
    add_load(sb, spec, place, i);
    ga__strbuf_add(sb, ";");
  }
  ga__strbuf_add(sb, "\n");
}

void ga__elem_add_words(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                        const char *position, uint64_t single) {
  ga__strbuf_addf(sb, "#define EL_INT %s\n", position);
  add_parameters(sb, spec, nd);
  add_starts(sb, spec);
  add_constants(sb, spec, nd, single);
  add_body(sb, spec, single);
}

static void add_list(ga_strbuf *sb, const ga_elem_spec *spec, const char *word,
                     uint64_t arrays, unsigned int vector) {
  ga__strbuf_addf(sb, "#define %s(F)", word);
  for (unsigned int i = 0; i < spec->n; i++)
    if (arrays >> i & 1)
      ga__strbuf_addf(
          sb, " F(%u, %s, %s)", i, ga__elem_stored(&spec->args[i]),
          ga__elem_bytes_type(gpuarray_get_elsize(spec->args[i].typecode) * vector));
  ga__strbuf_add(sb, "\n");
}

void ga__elem_add_arrays(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int vector,
                         uint64_t single) {
  uint64_t arrays = 0, reads = 0, writes = 0, indices = 0;
  for (unsigned int i = 0; i < spec->n; i++) {
    arrays |= (uint64_t)ga__elem_is_array(&spec->args[i]) << i;
    reads |= (uint64_t)ga__elem_is_read(&spec->args[i]) << i;
    writes |= (uint64_t)ga__elem_is_written(&spec->args[i]) << i;
    indices |= (uint64_t)ga__elem_is_index(&spec->args[i]) << i;
  }
  ga__strbuf_addf(sb, "#define EL_VECTOR %u\n", vector);
  add_list(sb, spec, "EL_ARRAYS", arrays & ~single, vector);
  add_list(sb, spec, "EL_READS", reads & ~single, vector);
  add_list(sb, spec, "EL_WRITES", writes, vector);
  add_list(sb, spec, "EL_INDICES", indices, vector);
}

/* ---- index computation ---- */

void ga__elem_add_sum(ga_strbuf *sb, const char *word, unsigned int nd) {
  ga__strbuf_addf(sb, "#define %s(i) %s", word, nd ? "" : "0");
  for (unsigned int k = 0; k < nd; k++)
    ga__strbuf_addf(sb, "%sga_i_x%u * ga_i_t##i##_%u", k ? " + " : "", k, k);
  ga__strbuf_add(sb, "\n");
}

void ga__elem_add_axes(ga_strbuf *sb, unsigned int nd, unsigned int n_split) {
  ga__elem_add_sum(sb, "EL_PLACE", nd);
  ga__strbuf_addf(sb,
                  "#define EL_X ga_i_x%u\n#define EL_STRIDE(i) ga_i_t##i##_%u\n"
                  "#define EL_LENGTHS(F)",
                  nd - 1, nd - 1);
  for (unsigned int k = n_split > 0; k < nd; k++)
    ga__strbuf_addf(sb, " F(%u)", k);
  ga__strbuf_add(sb, "\n#define EL_AXES(F)");
  for (unsigned int k = n_split; k-- > 1;)
    ga__strbuf_addf(sb, " F(%u)", k);
  ga__strbuf_add(sb, "\n");
}

/* ---- assembly ---- */

int ga__elem_finish(ga_source *out, const ga_elem_spec *spec, ga_strbuf *words,
                    const char *text) {
  ga_text_part parts[] = {{.name = "EL_EXPRESSION"}};
  ga__strbuf_addf(&parts[0].text, "%s;", spec->expr);
  ga__text_add_parts(words, text, parts, 1);
  const bool has_preamble = spec->preamble != NULL && *spec->preamble != '\0';
  out->is_closed = has_preamble ? ga__kernel_is_closed(spec->preamble)
                                : strchr(spec->expr, '#') == NULL;
  snprintf(out->title, sizeof out->title, "%s", spec->expr);
  return ga__text_finish_named(out, "elem", spec->preamble, "#define EL_NAME %\n",
                               words);
}
