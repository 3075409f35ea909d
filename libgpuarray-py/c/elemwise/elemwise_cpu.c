/* The kernel texts of an elementwise expression for CPUs: flat or strided. */
#include <stdio.h>
#include <string.h>

#include "c/elemwise/elemwise_text.h"

/* Characters of an expression from which on the work on an element outweighs the way it
 * is loaded: such an expression stands once in a kernel, since compilers take their
 * time for each copy. */
#define LONG_TEXT 2000

static bool is_long(const ga_elem_spec *spec) {
  return strlen(spec->expr) > LONG_TEXT;
}

/* ---- flat, CPU ---- */

/* Each group walks one run, its items side by side, so that the items of a group become
 * the lanes of a vector; the loop is the same for all items of a group. Compilers make
 * vectors of it only while it is plain: signed positions, one loop. */
void ga__elem_add_flat_cpu(ga_strbuf *sb, const ga_elem_spec *spec, uint64_t single) {
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
  ga__elem_add_body(sb, spec, single, "      ", "ga_i_@[ga_i_i]", "ga_i_@[ga_i_i]");
  ga__strbuf_add(sb, "    }\n  }\n}\n");
}

/* ---- strided, CPU ---- */

/* The elements of a piece of a row; `body` with ga_i_x for each. */
static void add_row(ga_strbuf *sb, const ga_strbuf *body) {
  ga__strbuf_add(sb, "      for (ga_int ga_i_u = 0; ga_i_u < ga_i_length;\n"
                     "           ga_i_u += (ga_int)LDIM_0) {\n"
                     "        const ga_int ga_i_x = ga_i_u + (ga_int)LID_0;\n"
                     "        if (ga_i_x < ga_i_length) {\n");
  if (ga__strbuf_status(body) == GA_NO_ERROR)
    ga__strbuf_add(sb, body->text);
  else
    sb->failed = true;
  ga__strbuf_add(sb, "        }\n      }\n");
}

/* Strides of 0 and 1: what has stride 0 is loaded before the row, else the compiler
 * would gather it. */
static void add_unit_row(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int last) {
  ga_strbuf body = {0};
  char from[64];
  snprintf(from, sizeof from, "(ga_i_t@_%u ? ga_i_a@[ga_i_x] : ga_i_f@)", last);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      ga__strbuf_addf(sb, "      const %s ga_i_f%u = *ga_i_a%u;\n",
                      ga__elem_stored(&spec->args[i]), i, i);
  ga__elem_add_body(&body, spec, 0, "          ", from, "ga_i_a@[ga_i_x]");
  add_row(sb, &body);
  ga__strbuf_clear(&body);
}

/* ---- strided: every second element ---- */

#define PAIR_ITEM 4 /* bytes of an element at most, so that a pair is an integer */

static size_t itemsize_of(const ga_elem_spec *spec, unsigned int i) {
  return gpuarray_get_elsize(spec->args[i].typecode);
}

/* The first of two neighbours is the lower half of both. */
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

bool ga__elem_takes_pairs(const ga_elem_spec *spec) {
  unsigned int inputs = 0;
  if (is_long(spec))
    return false;
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_read(&spec->args[i]))
      continue;
    if (ga__elem_is_written(&spec->args[i]) || itemsize_of(spec, i) > PAIR_ITEM)
      return false;
    inputs++;
  }
  return IS_LITTLE_ENDIAN && inputs > 0;
}

/* The types of two neighbours taken as one integer, wherever they begin. */
static void add_pair_types(ga_strbuf *sb) {
  static const char *const types[] = {"ga_ushort", "ga_uint", "ga_ulong"};
  for (unsigned int k = 0; k < 3; k++)
    ga__strbuf_addf(sb,
                    "  typedef struct __attribute__((packed)) { %s v; } "
                    "ga_i_pair%u;\n",
                    types[k], 1u << k);
}

/* Inputs of stride 2, outputs of stride 1: neighbours are loaded in pairs, whose second
 * is dropped; no gather keeps up with that. */
static void add_pair_row(ga_strbuf *sb, const ga_elem_spec *spec) {
  ga_strbuf body = {0};
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_read(&spec->args[i]))
      continue;
    const char *half = ga__elem_bytes_type(itemsize_of(spec, i));
    ga__strbuf_addf(&body,
                    "          union { %s v; %s e; } ga_i_w%u;\n"
                    "          ga_i_w%u.v = (%s)((GLOBAL_MEM ga_i_pair%zu *)ga_i_a%u)"
                    "[ga_i_x].v;\n",
                    half, ga__elem_stored(&spec->args[i]), i, i, half,
                    itemsize_of(spec, i), i);
  }
  ga__elem_add_body(&body, spec, 0, "          ", "ga_i_w@.e", "ga_i_a@[ga_i_x]");
  add_row(sb, &body);
  ga__strbuf_clear(&body);
}

/* ---- strided: any ---- */

/* An element of array i into ga_i_e, or back. Strides of 1 and -1 are told apart, once
 * for all lanes of a vector, since others are gathered and scattered. */
static void add_strided_element(ga_strbuf *sb, unsigned int i, bool load) {
  static const char load_text[] = "          if (ga_i_s@ == 1)\n"
                                  "            ga_i_e@ = ga_i_a@[ga_i_x];\n"
                                  "          else if (ga_i_s@ == -1)\n"
                                  "            ga_i_e@ = ga_i_a@[-ga_i_x];\n"
                                  "          else\n"
                                  "            ga_i_e@ = ga_i_a@[ga_i_x * ga_i_s@];\n";
  static const char store_text[] = "          if (ga_i_s@ == 1)\n"
                                   "            ga_i_a@[ga_i_x] = ga_i_e@;\n"
                                   "          else\n"
                                   "            ga_i_a@[ga_i_x * ga_i_s@] = ga_i_e@;\n";
  ga__elem_add_place(sb, load ? load_text : store_text, i);
}

static void add_strided_row(ga_strbuf *sb, const ga_elem_spec *spec) {
  ga_strbuf body = {0};
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      ga__strbuf_addf(&body, "          %s ga_i_e%u;\n",
                      ga__elem_stored(&spec->args[i]), i);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_strided_element(&body, i, true);
  ga__elem_add_body(&body, spec, 0, "          ", "ga_i_e@", "ga_i_e@");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      add_strided_element(&body, i, false);
  add_row(sb, &body);
  ga__strbuf_clear(&body);
}

/* Adds `form`, which says what is done with the element of array i that is ga_i_q of
 * its piece, in a loop of its own for each stride that is worth one. */
static void add_chunk_loops(ga_strbuf *sb, const char *form, unsigned int i) {
  static const struct {
    const char *test, *place;
  } ways[] = {{"if (ga_i_s@ == 1)", "ga_i_a@[ga_i_u + ga_i_k]"},
              {"else if (ga_i_s@ == -1)", "ga_i_a@[-ga_i_u - ga_i_k]"},
              {"else if (ga_i_s@ == 2)", "ga_i_a@[2 * (ga_i_u + ga_i_k)]"},
              {"else", "(ga_i_a@ + ga_i_u * ga_i_s@)[ga_i_k * ga_i_s@]"}};
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    char text[200];
    snprintf(text, sizeof text,
             "        %s\n"
             "          for (ga_int ga_i_k = 0; ga_i_k < ga_i_many; ga_i_k++)\n"
             "            ",
             ways[k].test);
    ga__elem_add_place(sb, text, i);
    snprintf(text, sizeof text, form, ways[k].place);
    ga__elem_add_place(sb, text, i);
  }
}

/* Elements of a chunk: few enough for the nearest cache, whatever the arrays. */
#define CHUNK 64

/* A piece in chunks, each array's part of which is brought together first: so that the
 * expression is a loop over neighbours, of which compilers make vectors. */
static void add_chunked_row(ga_strbuf *sb, const ga_elem_spec *spec) {
  ga__strbuf_addf(
      sb,
      "      for (ga_int ga_i_u = 0; ga_i_u < ga_i_length; ga_i_u += %d) {\n"
      "        const ga_int ga_i_many = ga_i_length - ga_i_u < %d\n"
      "            ? ga_i_length - ga_i_u : %d;\n",
      CHUNK, CHUNK, CHUNK);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      ga__strbuf_addf(sb, "        %s ga_i_e%u[%d];\n", ga__elem_stored(&spec->args[i]),
                      i, CHUNK);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_chunk_loops(sb, "ga_i_e@[ga_i_k] = %s;\n", i);
  ga__strbuf_add(sb,
                 "        for (ga_int ga_i_k = 0; ga_i_k < ga_i_many; ga_i_k++) {\n");
  ga__elem_add_body(sb, spec, 0, "          ", "ga_i_e@[ga_i_k]", "ga_i_e@[ga_i_k]");
  ga__strbuf_add(sb, "        }\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      add_chunk_loops(sb, "%s = ga_i_e@[ga_i_k];\n", i);
  ga__strbuf_add(sb, "      }\n");
}

/* Where items run side by side they are the vectors; else loops are. */
static void add_any_row(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int last) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      ga__strbuf_addf(sb, "      const ga_int ga_i_s%u = (ga_int)ga_i_t%u_%u;\n", i, i,
                      last);
  ga__strbuf_add(sb, "#if GA_WARP_SIZE == 1\n");
  add_chunked_row(sb, spec);
  ga__strbuf_add(sb, "#else\n");
  add_strided_row(sb, spec);
  ga__strbuf_add(sb, "#endif\n");
}

/* ---- strided ---- */

/* Each group walks a run of pieces of rows, its items side by side; pieces that follow
 * each other are below each other, so that short ones make a transposition go block by
 * block. Positions within a piece take 32 bits, which makes gathers twice as fast. */
static void add_strided_cpu(ga_strbuf *sb, const ga_elem_spec *spec, unsigned int nd) {
  unsigned int last = nd - 1;
  ga__strbuf_addf(sb,
                  "  const ga_size ga_i_n = ga_i_rows * ga_i_pieces;\n"
                  "  const ga_size ga_i_run = (ga_i_n + GDIM_0 - 1) / GDIM_0;\n"
                  "  const ga_size ga_i_start = GID_0 * ga_i_run;\n"
                  "  const ga_size ga_i_end = ga_i_start + ga_i_run < ga_i_n\n"
                  "      ? ga_i_start + ga_i_run : ga_i_n;\n"
                  "  for (ga_size ga_i_i = ga_i_start; ga_i_i < ga_i_end; ga_i_i++) {\n"
                  "    const ga_size ga_i_from = ga_i_i / ga_i_rows * ga_i_piece;\n"
                  "    const ga_ssize ga_i_x%u = (ga_ssize)ga_i_from;\n"
                  "    const ga_int ga_i_length = (ga_int)(ga_i_d%u - ga_i_from < "
                  "ga_i_piece\n"
                  "        ? ga_i_d%u - ga_i_from : ga_i_piece);\n"
                  "    ga_size ga_i_r = ga_i_i %% ga_i_rows;\n",
                  last, last, last);
  ga__elem_add_split(sb, last, "    ", "ga_size", "ga_ssize", "ga_i_r / ga_i_d@");
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->args[i]))
      continue;
    ga__strbuf_addf(sb, "    GLOBAL_MEM %s *ga_i_a%u = ga_i_%u + (",
                    ga__elem_stored(&spec->args[i]), i, i);
    ga__elem_add_sum(sb, nd, i);
    ga__strbuf_add(sb, ");\n");
  }
  if (!is_long(spec)) {
    ga__strbuf_add(sb, "    if (ga_i_row == 1) {\n");
    add_unit_row(sb, spec, last);
    ga__strbuf_add(sb, "    } else ");
  }
  if (ga__elem_takes_pairs(spec)) {
    ga__strbuf_add(sb, "if (ga_i_row == 2) {\n");
    add_pair_row(sb, spec);
    ga__strbuf_add(sb, "    } else ");
  }
  ga__strbuf_add(sb, is_long(spec) ? "    {\n" : "{\n");
  add_any_row(sb, spec, last);
  ga__strbuf_add(sb, "    }\n  }\n}\n");
}

int ga__elem_strided_cpu(ga_source *out, const ga_elem_spec *spec, unsigned int nd) {
  ga_strbuf text = {0};
  ga__strbuf_add(&text, "(ga_size ga_i_rows, ga_size ga_i_pieces, ga_size ga_i_piece, "
                        "ga_uint ga_i_row");
  for (unsigned int k = nd == 1 ? 0 : 1; k < nd; k++)
    ga__strbuf_addf(&text, ", ga_size ga_i_d%u", k);
  ga__elem_add_parameters(&text, spec, nd, "ga_ssize");
  ga__strbuf_add(&text, ") {\n");
  if (ga__elem_takes_pairs(spec))
    add_pair_types(&text);
  ga__elem_add_pointers(&text, spec, 0);
  add_strided_cpu(&text, spec, nd);
  return ga__elem_finish(out, spec, "KERNEL", &text);
}
