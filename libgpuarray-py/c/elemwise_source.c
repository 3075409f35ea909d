/* The kernel texts of an elementwise expression: flat or strided, for GPUs or CPUs. */
#include "c/elemwise_source.h"

#include <stdio.h>
#include <string.h>

#include "c/dtype.h"

/* ---- one element ---- */

static bool is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

static bool is_read(const gpuelemwise_arg *arg) {
  return is_array(arg) && (arg->flags & GE_READ);
}

static bool is_written(const gpuelemwise_arg *arg) {
  return is_array(arg) && (arg->flags & GE_WRITE);
}

static bool is_single(uint64_t single, unsigned int i) {
  return (single >> i) & 1;
}

static bool is_converted(const ga_elem_spec *spec, const gpuelemwise_arg *arg) {
  return arg->typecode == GA_HALF && (spec->convert_half || !is_array(arg));
}

static const char *stored_type(const gpuelemwise_arg *arg) {
  return gpuarray_get_type(arg->typecode)->cluda_name;
}

/* The type of the expression's variable. */
static const char *variable_type(const ga_elem_spec *spec, const gpuelemwise_arg *arg) {
  return is_converted(spec, arg) ? "ga_float" : stored_type(arg);
}

/* Where a kernel finds argument i of the current element: `form` has "@" for i. */
static void add_place(ga_strbuf *sb, const char *form, unsigned int i) {
  for (const char *at; (at = strchr(form, '@')) != NULL; form = at + 1) {
    ga__strbuf_addn(sb, form, (size_t)(at - form));
    ga__strbuf_addf(sb, "%u", i);
  }
  ga__strbuf_add(sb, form);
}

/* The expression on one element: variables, statements, stores. `from` is where array
 * elements are read, `to` where they are written; those of single-element inputs are in
 * ga_i_s<i>. */
static void add_body(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single,
                     const char *indent, const char *from, const char *to) {
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    ga__strbuf_addf(sb, "%s%s %s", indent, variable_type(spec, arg), arg->name);
    bool convert = is_array(arg) && is_converted(spec, arg);
    if (!is_array(arg) || is_single(single, i)) {
      ga__strbuf_addf(sb, " = ga_i_s%u", i);
    } else if (is_read(arg)) {
      ga__strbuf_add(sb, convert ? " = ga_half2float(" : " = ");
      add_place(sb, from, i);
      ga__strbuf_add(sb, convert ? ")" : "");
    }
    ga__strbuf_add(sb, ";\n");
  }
  ga__strbuf_addf(sb, "%s%s;\n", indent, spec->expr);
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (!is_written(arg))
      continue;
    ga__strbuf_add(sb, indent);
    add_place(sb, to, i);
    const char *form = is_converted(spec, arg)    ? " = ga_float2half(%s);\n"
                       : arg->typecode == GA_BOOL ? " = (%s) != 0;\n"
                                                  : " = %s;\n";
    const char *mark = strstr(form, "%s");
    ga__strbuf_addn(sb, form, (size_t)(mark - form));
    ga__strbuf_add(sb, arg->name);
    ga__strbuf_add(sb, mark + 2);
  }
}

/* ---- heads ---- */

/* The arguments of the expression; each array with `nd` strides of type `stride`. */
static void add_parameters(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                           const char *stride) {
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (!is_array(arg)) {
      ga__strbuf_addf(sb, ", %s ga_i_s%u", variable_type(spec, arg), i);
      continue;
    }
    ga__strbuf_addf(sb, ",\n    GLOBAL_MEM %s *ga_i_%u, ga_size ga_i_o%u",
                    stored_type(arg), i, i);
    for (unsigned int k = 0; k < nd; k++)
      ga__strbuf_addf(sb, ", %s ga_i_t%u_%u", stride, i, k);
  }
  ga__strbuf_add(sb, ") {\n");
}

/* Moves the pointers to where the arrays begin, and loads single elements. */
static void add_pointers(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (!is_array(arg))
      continue;
    ga__strbuf_addf(sb,
                    "  ga_i_%u = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)ga_i_%u + "
                    "ga_i_o%u);\n",
                    i, stored_type(arg), i, i);
    if (!is_single(single, i))
      continue;
    const char *form =
        is_converted(spec, arg) ? "ga_half2float(ga_i_@[0])" : "ga_i_@[0]";
    ga__strbuf_addf(sb, "  const %s ga_i_s%u = ", variable_type(spec, arg), i);
    add_place(sb, form, i);
    ga__strbuf_add(sb, ";\n");
  }
}

/* Puts preamble, name and text together; `text` begins behind the name. */
static int finish(ga_source *out, const ga_elem_spec *spec, ga_strbuf *text) {
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
    ga__strbuf_clear(&out->body);
    if (preamble)
      ga__strbuf_addf(&out->body, "%s\n", spec->preamble);
    ga__strbuf_addf(&out->body, "KERNEL void %s", out->name);
    ga__strbuf_add(&out->body, text->text);
    status = ga__strbuf_status(&out->body);
  }
  ga__strbuf_clear(text);
  return status;
}

/* ---- flat ---- */

unsigned int ga__elem_vector(const ga_elem_spec *spec) {
  size_t largest = 1;
  for (unsigned int i = 0; i < spec->n; i++) {
    size_t size = gpuarray_get_elsize(spec->args[i].typecode);
    if (is_array(&spec->args[i]) && size > largest)
      largest = size;
  }
  return (unsigned int)(16 / largest);
}

/* The unsigned type of a vector's bytes. */
static const char *vector_type(size_t bytes) {
  return bytes >= 16  ? "ga_uint4"
         : bytes == 8 ? "ga_uint2"
         : bytes == 4 ? "ga_uint"
         : bytes == 2 ? "ga_ushort"
                      : "ga_ubyte";
}

/* The vector of argument i in memory. */
static void add_vector(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i) {
  size_t itemsize = gpuarray_get_elsize(spec->args[i].typecode);
  ga__strbuf_addf(sb, "((GLOBAL_MEM %s *)ga_i_%u)[ga_i_at]",
                  vector_type(itemsize * ga__elem_vector(spec)), i);
}

/* A block takes `ga_i_block` elements; its threads load whole vectors side by side. The
 * last block, and arrays that are not aligned, go element by element. Blocks repeat if
 * the grid was too small. */
static void add_flat_gpu(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
  unsigned int vector = ga__elem_vector(spec);
  ga__strbuf_addf(
      sb,
      "  const ga_size ga_i_block = (ga_size)LDIM_0 * %u;\n"
      "  for (ga_size ga_i_start = GID_0 * ga_i_block; ga_i_start < ga_i_n;\n"
      "       ga_i_start += GDIM_0 * ga_i_block) {\n"
      "    if (ga_i_aligned && ga_i_n - ga_i_start >= ga_i_block) {\n"
      "      const ga_size ga_i_at = ga_i_start / %u + LID_0;\n",
      vector, vector);
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (is_array(arg) && !is_single(single, i))
      ga__strbuf_addf(sb, "      union { %s v; %s e[%u]; } ga_i_v%u;\n",
                      vector_type(gpuarray_get_elsize(arg->typecode) * vector),
                      stored_type(arg), vector, i);
  }
  for (unsigned int i = 0; i < spec->n; i++)
    if (is_read(&spec->args[i]) && !is_single(single, i)) {
      ga__strbuf_addf(sb, "      ga_i_v%u.v = ", i);
      add_vector(sb, spec, i);
      ga__strbuf_add(sb, ";\n");
    }
  ga__strbuf_addf(sb,
                  "#pragma unroll\n"
                  "      for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++) {\n",
                  vector);
  add_body(sb, spec, single, "        ", "ga_i_v@.e[ga_i_k]", "ga_i_v@.e[ga_i_k]");
  ga__strbuf_add(sb, "      }\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (is_written(&spec->args[i])) {
      ga__strbuf_add(sb, "      ");
      add_vector(sb, spec, i);
      ga__strbuf_addf(sb, " = ga_i_v%u.v;\n", i);
    }
  ga__strbuf_add(sb,
                 "    } else {\n"
                 "      const ga_size ga_i_end = ga_i_n - ga_i_start < ga_i_block\n"
                 "          ? ga_i_n : ga_i_start + ga_i_block;\n"
                 "      for (ga_size ga_i_i = ga_i_start + LID_0; ga_i_i < ga_i_end;\n"
                 "           ga_i_i += LDIM_0) {\n");
  add_body(sb, spec, single, "        ", "ga_i_@[ga_i_i]", "ga_i_@[ga_i_i]");
  ga__strbuf_add(sb, "      }\n    }\n  }\n}\n");
}

/* Each group walks one run, its items side by side, so that the items of a group become
 * the lanes of a vector; the loop is the same for all items of a group. Compilers make
 * vectors of it only while it is plain: signed positions, one loop. */
static void add_flat_cpu(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
  ga__strbuf_add(
      sb, "  const ga_ssize ga_i_step = (ga_ssize)LDIM_0;\n"
          "  const ga_ssize ga_i_run = (ga_ssize)(((ga_i_n + GDIM_0 - 1) / GDIM_0\n"
          "      + LDIM_0 - 1) / LDIM_0 * LDIM_0);\n"
          "  const ga_ssize ga_i_start = (ga_ssize)GID_0 * ga_i_run;\n"
          "  const ga_ssize ga_i_end = ga_i_start + ga_i_run < (ga_ssize)ga_i_n\n"
          "      ? ga_i_start + ga_i_run : (ga_ssize)ga_i_n;\n"
          "  for (ga_ssize ga_i_u = ga_i_start; ga_i_u < ga_i_end;\n"
          "       ga_i_u += ga_i_step) {\n"
          "    const ga_ssize ga_i_i = ga_i_u + (ga_ssize)LID_0;\n"
          "    if (ga_i_i < ga_i_end) {\n");
  add_body(sb, spec, single, "      ", "ga_i_@[ga_i_i]", "ga_i_@[ga_i_i]");
  ga__strbuf_add(sb, "    }\n  }\n}\n");
}

int ga__elem_flat_source(ga_source *out, const ga_elem_spec *spec, uint64_t single) {
  ga_strbuf text = {0};
  ga__strbuf_add(&text, "(ga_size ga_i_n, ga_uint ga_i_aligned");
  add_parameters(&text, spec, 0, "");
  add_pointers(&text, spec, single);
  if (spec->is_cpu)
    add_flat_cpu(&text, spec, single);
  else
    add_flat_gpu(&text, spec, single);
  return finish(out, spec, &text);
}

/* ---- strided ---- */

/* Splits ga_i_r into positions along `nd` axes (`quotient` is the form of a division by
 * the length of axis @), and defines `place` of each array @ from them. */
static void add_positions(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                          const char *indent, const char *index, const char *stride,
                          const char *quotient, const char *place) {
  for (unsigned int k = nd; k-- > 1;) {
    ga__strbuf_addf(sb, "%sconst %s ga_i_q%u = ", indent, index, k);
    add_place(sb, quotient, k);
    ga__strbuf_addf(sb,
                    ";\n%sconst %s ga_i_x%u = (%s)(ga_i_r - ga_i_q%u * ga_i_d%u);\n",
                    indent, stride, k, stride, k, k);
    ga__strbuf_addf(sb, "%sga_i_r = ga_i_q%u;\n", indent, k);
  }
  if (nd > 0)
    ga__strbuf_addf(sb, "%sconst %s ga_i_x0 = (%s)ga_i_r;\n", indent, stride, stride);
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!is_array(&spec->args[i]))
      continue;
    ga__strbuf_add(sb, indent);
    add_place(sb, place, i);
    ga__strbuf_add(sb, " = ");
    for (unsigned int k = 0; k < nd; k++)
      ga__strbuf_addf(sb, "%sga_i_x%u * ga_i_t%u_%u", k ? " + " : "", k, i, k);
    ga__strbuf_add(sb, nd ? ";\n" : "0;\n");
  }
}

/* A thread takes elements that are a block apart and loads all of them before the first
 * use. Positions come from multiplications: no division. */
static void add_strided_gpu(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                            bool wide) {
  const char *index = wide ? "ga_size" : "ga_uint";
  const char *stride = wide ? "ga_ssize" : "ga_int";
  ga__strbuf_addf(
      sb,
      "  const %s ga_i_block = (%s)LDIM_0 * %d;\n"
      "  for (%s ga_i_start = (%s)GID_0 * ga_i_block; ga_i_start < ga_i_n;\n"
      "       ga_i_start += (%s)GDIM_0 * ga_i_block) {\n",
      index, index, GA_ELEM_STRIDED, index, index, index);
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->args[i];
    if (is_array(arg))
      ga__strbuf_addf(sb, "    %s ga_i_p%u[%d];\n", stride, i, GA_ELEM_STRIDED);
    if (is_read(arg))
      ga__strbuf_addf(sb, "    %s ga_i_v%u[%d];\n", stored_type(arg), i,
                      GA_ELEM_STRIDED);
  }
  ga__strbuf_addf(sb,
                  "#pragma unroll\n"
                  "    for (int ga_i_k = 0; ga_i_k < %d; ga_i_k++) {\n"
                  "      %s ga_i_r = ga_i_start + (%s)ga_i_k * (%s)LDIM_0 + "
                  "(%s)LID_0;\n"
                  "      if (ga_i_r < ga_i_n) {\n",
                  GA_ELEM_STRIDED, index, index, index, index);
  add_positions(sb, spec, nd, "        ", index, stride,
                wide ? "ga_i_r / ga_i_d@"
                     : "(ga_uint)(((ga_ulong)ga_i_r * ga_i_m@) >> ga_i_h@)",
                "ga_i_p@[ga_i_k]");
  for (unsigned int i = 0; i < spec->n; i++)
    if (is_read(&spec->args[i]))
      ga__strbuf_addf(sb, "        ga_i_v%u[ga_i_k] = ga_i_%u[ga_i_p%u[ga_i_k]];\n", i,
                      i, i);
  ga__strbuf_addf(sb,
                  "      }\n"
                  "    }\n"
                  "#pragma unroll\n"
                  "    for (int ga_i_k = 0; ga_i_k < %d; ga_i_k++) {\n"
                  "      if (ga_i_start + (%s)ga_i_k * (%s)LDIM_0 + (%s)LID_0 < "
                  "ga_i_n) {\n",
                  GA_ELEM_STRIDED, index, index, index);
  add_body(sb, spec, 0, "        ", "ga_i_v@[ga_i_k]", "ga_i_@[ga_i_p@[ga_i_k]]");
  ga__strbuf_add(sb, "      }\n    }\n  }\n}\n");
}

/* The elements of a piece of a row. */
static void add_row(ga_strbuf *sb, const ga_elem_spec *spec, const char *from,
                    const char *to) {
  ga__strbuf_add(sb, "      for (ga_ssize ga_i_u = ga_i_from; ga_i_u < ga_i_to;\n"
                     "           ga_i_u += (ga_ssize)LDIM_0) {\n"
                     "        const ga_ssize ga_i_x = ga_i_u + (ga_ssize)LID_0;\n"
                     "        if (ga_i_x < ga_i_to) {\n");
  add_body(sb, spec, 0, "          ", from, to);
  ga__strbuf_add(sb, "        }\n      }\n");
}

/* Each group walks a run of pieces of rows, its items side by side; pieces that follow
 * each other are below each other, so that short ones make a transposition go block by
 * block. Where the strides
 * along the row are 0 and 1 only, loads and stores of a group are whole vectors; what
 * has stride 0 is loaded before the row, else the compiler would gather it. */
static void add_strided_cpu(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd) {
  unsigned int last = nd - 1;
  ga__strbuf_addf(sb,
                  "  const ga_size ga_i_n = ga_i_rows * ga_i_pieces;\n"
                  "  const ga_size ga_i_run = (ga_i_n + GDIM_0 - 1) / GDIM_0;\n"
                  "  const ga_size ga_i_start = GID_0 * ga_i_run;\n"
                  "  const ga_size ga_i_end = ga_i_start + ga_i_run < ga_i_n\n"
                  "      ? ga_i_start + ga_i_run : ga_i_n;\n"
                  "  for (ga_size ga_i_i = ga_i_start; ga_i_i < ga_i_end; ga_i_i++) {\n"
                  "    const ga_ssize ga_i_from =\n"
                  "        (ga_ssize)(ga_i_i / ga_i_rows * ga_i_piece);\n"
                  "    const ga_ssize ga_i_to =\n"
                  "        ga_i_from + (ga_ssize)ga_i_piece < (ga_ssize)ga_i_d%u\n"
                  "        ? ga_i_from + (ga_ssize)ga_i_piece : (ga_ssize)ga_i_d%u;\n"
                  "    ga_size ga_i_r = ga_i_i %% ga_i_rows;\n",
                  last, last);
  add_positions(sb, spec, last, "    ", "ga_size", "ga_ssize", "ga_i_r / ga_i_d@",
                "const ga_ssize ga_i_p@");
  char from[96], to[64];
  snprintf(to, sizeof to, "ga_i_@[ga_i_p@ + ga_i_x]");
  snprintf(from, sizeof from, "(ga_i_t@_%u ? ga_i_@[ga_i_p@ + ga_i_x] : ga_i_f@)",
           last);
  ga__strbuf_add(sb, "    if (ga_i_unit) {\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (is_read(&spec->args[i]))
      ga__strbuf_addf(sb, "      const %s ga_i_f%u = ga_i_%u[ga_i_p%u];\n",
                      stored_type(&spec->args[i]), i, i, i);
  add_row(sb, spec, from, to);
  snprintf(to, sizeof to, "ga_i_@[ga_i_p@ + ga_i_x * ga_i_t@_%u]", last);
  ga__strbuf_add(sb, "    } else {\n");
  add_row(sb, spec, to, to);
  ga__strbuf_add(sb, "    }\n  }\n}\n");
}

int ga__elem_strided_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                            bool wide) {
  ga_strbuf text = {0};
  if (spec->is_cpu)
    ga__strbuf_add(&text, "(ga_size ga_i_rows, ga_size ga_i_pieces, ga_size "
                          "ga_i_piece, ga_uint ga_i_unit");
  else
    ga__strbuf_add(&text, wide ? "(ga_size ga_i_n" : "(ga_uint ga_i_n");
  bool divides = spec->is_cpu || wide;
  for (unsigned int k = spec->is_cpu && nd == 1 ? 0 : 1; k < nd; k++) {
    ga__strbuf_addf(&text, ", %s ga_i_d%u", divides ? "ga_size" : "ga_uint", k);
    if (!divides)
      ga__strbuf_addf(&text, ", ga_uint ga_i_m%u, ga_uint ga_i_h%u", k, k);
  }
  add_parameters(&text, spec, nd, divides ? "ga_ssize" : "ga_int");
  add_pointers(&text, spec, 0);
  if (spec->is_cpu)
    add_strided_cpu(&text, spec, nd);
  else
    add_strided_gpu(&text, spec, nd, wide);
  return finish(out, spec, &text);
}
