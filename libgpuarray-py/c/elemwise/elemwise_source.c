/* The kernel texts of an elementwise expression: flat or strided, for GPUs. */
#include "c/elemwise/elemwise_source.h"

#include <stdio.h>

#include "c/elemwise/elemwise_text.h"

static bool is_single(uint64_t single, unsigned int i) {
  return single >> i & 1;
}

unsigned int ga__elem_vector(const ga_elem_spec *spec) {
  return (unsigned int)(16 / ga__elem_largest(spec));
}

bool ga__elem_takes_gaps(const ga_elem_spec *spec) {
  unsigned int vector = ga__elem_vector(spec);
  return vector > 1 && vector <= 8;
}

unsigned int ga__elem_leader(const ga_elem_spec *spec) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      return i;
  return 0;
}

/* The type of a vector of argument i. */
static const char *vector_type(const ga_elem_spec *spec, unsigned int i) {
  size_t itemsize = gpuarray_get_elsize(spec->args[i].typecode);
  return ga__elem_bytes_type(itemsize * ga__elem_vector(spec));
}

/* ---- flat, GPU ---- */

/* Whole vectors of every array, loads before the first use. */
static void add_flat_vectors(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
  unsigned int vector = ga__elem_vector(spec);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]) && !is_single(single, i))
      ga__strbuf_addf(sb, "      union { %s v; %s e[%u]; } ga_i_v%u;\n",
                      vector_type(spec, i), ga__elem_stored(&spec->args[i]), vector, i);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]) && !is_single(single, i))
      ga__strbuf_addf(sb, "      ga_i_v%u.v = ((GLOBAL_MEM %s *)ga_i_%u)[ga_i_at];\n",
                      i, vector_type(spec, i), i);
  ga__strbuf_addf(sb,
                  "#pragma unroll\n"
                  "      for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++) {\n",
                  vector);
  ga__elem_add_body(sb, spec, single, "        ", "ga_i_v@.e[ga_i_k]",
                    "ga_i_v@.e[ga_i_k]");
  ga__strbuf_add(sb, "      }\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      ga__strbuf_addf(sb, "      ((GLOBAL_MEM %s *)ga_i_%u)[ga_i_at] = ga_i_v%u.v;\n",
                      vector_type(spec, i), i, i);
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
  add_flat_vectors(sb, spec, single);
  ga__strbuf_add(sb,
                 "    } else {\n"
                 "      const ga_size ga_i_end = ga_i_n - ga_i_start < ga_i_block\n"
                 "          ? ga_i_n : ga_i_start + ga_i_block;\n"
                 "      for (ga_size ga_i_i = ga_i_start + LID_0; ga_i_i < ga_i_end;\n"
                 "           ga_i_i += LDIM_0) {\n");
  ga__elem_add_body(sb, spec, single, "        ", "ga_i_@[ga_i_i]", "ga_i_@[ga_i_i]");
  ga__strbuf_add(sb, "      }\n    }\n  }\n}\n");
}

/* ---- flat ---- */

int ga__elem_flat_source(ga_source *out, const ga_elem_spec *spec, uint64_t single) {
  ga_strbuf text = {0};
  ga__strbuf_add(&text, "(ga_size ga_i_n, ga_uint ga_i_aligned");
  ga__elem_add_parameters(&text, spec, 0, "");
  ga__strbuf_add(&text, ") {\n");
  ga__elem_add_pointers(&text, spec, single);
  if (spec->is_cpu)
    ga__elem_add_flat_cpu(&text, spec, single);
  else
    add_flat_gpu(&text, spec, single);
  return ga__elem_finish(out, spec, "KERNEL", &text);
}

/* ---- strided, GPU ---- */

/* The vector of array i: whole where it lies so, else its elements. */
static void add_vector_load(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i) {
  const char *vector = vector_type(spec, i), *type = ga__elem_stored(&spec->args[i]);
  unsigned int n = ga__elem_vector(spec);
  ga__strbuf_addf(
      sb,
      "        if ((ga_i_units >> %u & 1) && (ga_size)ga_i_a%u %% sizeof(%s) == 0) {\n"
      "          ga_i_v%u.v = *(GLOBAL_MEM %s *)ga_i_a%u;\n"
      "        } else if (ga_i_ones >> %u & 1) {\n"
      "          const %s ga_i_s = *ga_i_a%u;\n"
      "#pragma unroll\n"
      "          for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++)\n"
      "            ga_i_v%u.e[ga_i_k] = ga_i_s;\n"
      "        } else {\n"
      "#pragma unroll\n"
      "          for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++)\n"
      "            ga_i_v%u.e[ga_i_k] = ga_i_a%u[ga_i_k * ga_i_j%u];\n"
      "        }\n",
      i, i, vector, i, vector, i, i, type, i, n, i, n, i, i, i);
}

static void add_vector_store(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int i) {
  const char *vector = vector_type(spec, i);
  ga__strbuf_addf(
      sb,
      "        if ((ga_i_units >> %u & 1) && (ga_size)ga_i_a%u %% sizeof(%s) == 0) {\n"
      "          *(GLOBAL_MEM %s *)ga_i_a%u = ga_i_v%u.v;\n"
      "        } else {\n"
      "#pragma unroll\n"
      "          for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++)\n"
      "            ga_i_a%u[ga_i_k * ga_i_j%u] = ga_i_v%u.e[ga_i_k];\n"
      "        }\n",
      i, i, vector, vector, i, i, ga__elem_vector(spec), i, i, i);
}

/* The vector that begins at position ga_i_x of a row. */
static void add_vector(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int last,
                       const char *position) {
  unsigned int vector = ga__elem_vector(spec);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      ga__strbuf_addf(sb,
                      "        union { %s v; %s e[%u]; } ga_i_v%u;\n"
                      "        GLOBAL_MEM %s *ga_i_a%u = ga_i_%u + (ga_i_p%u + ga_i_x "
                      "* ga_i_t%u_%u);\n"
                      "        const %s ga_i_j%u = (%s)ga_i_gap * ga_i_t%u_%u;\n",
                      vector_type(spec, i), ga__elem_stored(&spec->args[i]), vector, i,
                      ga__elem_stored(&spec->args[i]), i, i, i, i, last, position, i,
                      position, i, last);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_vector_load(sb, spec, i);
  ga__strbuf_addf(sb,
                  "#pragma unroll\n"
                  "        for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++) {\n",
                  vector);
  ga__elem_add_body(sb, spec, 0, "          ", "ga_i_v@.e[ga_i_k]",
                    "ga_i_v@.e[ga_i_k]");
  ga__strbuf_add(sb, "        }\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      add_vector_store(sb, spec, i);
}

/* A thread takes a vector of a row: one split of its number gives the row's place in
 * every array. Vectors begin where the leader's do in memory, so that the first and the
 * last of a row may be cut short. Or it takes as many elements apart, of whole rows. */
static void add_rows_gpu(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                         const char *position) {
  unsigned int vector = ga__elem_vector(spec), last = nd - 1;
  unsigned int leader = ga__elem_leader(spec);
  char place[64];
  snprintf(place, sizeof place, "ga_i_@[ga_i_p@ + ga_i_k * ga_i_t@_%u]", last);
  ga__strbuf_add(sb,
                 "    for (ga_uint ga_i_i = (ga_uint)(GID_0 * LDIM_0 + LID_0);\n"
                 "         ga_i_i < ga_i_n; ga_i_i += (ga_uint)(GDIM_0 * LDIM_0)) {\n"
                 "      ga_uint ga_i_r = ga_i_i;\n");
  ga__elem_add_split(sb, nd, "      ", "ga_uint", position, GA_ELEM_QUOTIENT);
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->args[i]))
      continue;
    ga__strbuf_addf(sb, "      const %s ga_i_p%u = ", position, i);
    ga__elem_add_sum(sb, last, i);
    ga__strbuf_add(sb, ";\n");
  }
  ga__strbuf_addf(
      sb,
      "      const %s ga_i_x = ga_i_gap > 1 ? ga_i_x%u : ga_i_x%u * %u\n"
      "          - (%s)((ga_size)(ga_i_%u + ga_i_p%u) / sizeof(%s) %% %u);\n"
      "      if (ga_i_gap > 1 || (ga_i_x >= 0 && ga_i_x + %u <= (%s)ga_i_row)) {\n",
      position, last, last, vector, position, leader, leader,
      ga__elem_stored(&spec->args[leader]), vector, vector, position);
  add_vector(sb, spec, last, position);
  ga__strbuf_addf(sb,
                  "      } else {\n"
                  "#pragma unroll 1\n"
                  "        for (%s ga_i_k = ga_i_x < 0 ? 0 : ga_i_x;\n"
                  "             ga_i_k < ga_i_x + %u && ga_i_k < (%s)ga_i_row; "
                  "ga_i_k++) {\n",
                  position, vector, position);
  ga__elem_add_body(sb, spec, 0, "          ", place, place);
  ga__strbuf_add(sb, "        }\n      }\n    }\n");
}

/* A thread takes elements that are a block apart and loads all of them before the first
 * use. Positions come from multiplications: no division. */
static void add_elements_gpu(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd,
                             const char *position) {
  const unsigned int apart = GA_ELEM_APART;
  ga__strbuf_addf(
      sb,
      "    const ga_uint ga_i_block = (ga_uint)LDIM_0 * %u;\n"
      "    for (ga_uint ga_i_start = (ga_uint)GID_0 * ga_i_block + (ga_uint)LID_0;\n"
      "         ga_i_start < ga_i_n; ga_i_start += (ga_uint)GDIM_0 * ga_i_block) {\n",
      apart);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      ga__strbuf_addf(sb, "      %s ga_i_p%u[%u];\n", position, i, apart);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      ga__strbuf_addf(sb, "      %s ga_i_v%u[%u];\n", ga__elem_stored(&spec->args[i]),
                      i, apart);
  ga__strbuf_addf(sb,
                  "#pragma unroll\n"
                  "      for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++) {\n"
                  "        ga_uint ga_i_r = ga_i_start + (ga_uint)ga_i_k * "
                  "(ga_uint)LDIM_0;\n"
                  "        if (ga_i_r < ga_i_n) {\n",
                  apart);
  ga__elem_add_split(sb, nd, "          ", "ga_uint", position, GA_ELEM_QUOTIENT);
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->args[i]))
      continue;
    ga__strbuf_addf(sb, "          ga_i_p%u[ga_i_k] = ", i);
    ga__elem_add_sum(sb, nd, i);
    ga__strbuf_add(sb, ";\n");
  }
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      ga__strbuf_addf(sb, "          ga_i_v%u[ga_i_k] = ga_i_%u[ga_i_p%u[ga_i_k]];\n",
                      i, i, i);
  ga__strbuf_addf(sb,
                  "        }\n"
                  "      }\n"
                  "#pragma unroll\n"
                  "      for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++) {\n"
                  "        if (ga_i_start + (ga_uint)ga_i_k * (ga_uint)LDIM_0 < "
                  "ga_i_n) {\n",
                  apart);
  ga__elem_add_body(sb, spec, 0, "          ", "ga_i_v@[ga_i_k]",
                    "ga_i_@[ga_i_p@[ga_i_k]]");
  ga__strbuf_add(sb, "        }\n      }\n    }\n");
}

static int strided_gpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                       bool wide) {
  const char *position = wide ? "ga_ssize" : "ga_int";
  ga_strbuf text = {0};
  ga__strbuf_add(
      &text,
      "(ga_uint ga_i_n, ga_uint ga_i_row, ga_uint ga_i_apart, ga_ulong ga_i_units, "
      "ga_ulong ga_i_ones");
  for (unsigned int k = 1; k < nd; k++)
    ga__strbuf_addf(&text, ", ga_uint ga_i_d%u, ga_uint ga_i_m%u, ga_uint ga_i_h%u", k,
                    k, k);
  ga__elem_add_parameters(&text, spec, nd, position);
  ga__strbuf_add(&text, ") {\n");
  ga__elem_add_pointers(&text, spec, 0);
  if (ga__elem_vector(spec) > 1) {
    ga__strbuf_addf(&text, "  const ga_uint ga_i_gap = %s;\n  if (ga_i_row) {\n",
                    ga__elem_takes_gaps(spec) ? "ga_i_apart" : "1");
    add_rows_gpu(&text, spec, nd, position);
    ga__strbuf_add(&text, "    return;\n  }\n");
  }
  add_elements_gpu(&text, spec, nd, position);
  ga__strbuf_add(&text, "}\n");
  return ga__elem_finish(out, spec, "KERNEL", &text);
}

/* ---- strided ---- */

int ga__elem_strided_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd,
                            bool wide) {
  return spec->is_cpu ? ga__elem_strided_cpu(out, spec, nd)
                      : strided_gpu(out, spec, nd, wide);
}
