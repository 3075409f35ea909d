/* The kernel text of an elementwise expression over arrays that differ in order. */
#include <stdio.h>

#include "c/elemwise_text.h"

/* Rows of 128 bytes or more, of which a thread has few enough elements to leave room
 * for other blocks' registers. */
unsigned int ga__elem_tile(const ga_elem_spec *spec) {
  return ga__elem_largest(spec) < 4 ? 64 : 32;
}

/* Eight elements or vectors each: with fewer, finding their places takes longer than
 * moving them. */
unsigned int ga__elem_tile_threads(const ga_elem_spec *spec) {
  return ga__elem_tile(spec) == 32 ? 128 : 256;
}

unsigned int ga__elem_tile_vector(const ga_elem_spec *spec) {
  size_t largest = ga__elem_largest(spec);
  return largest < 4 ? (unsigned int)(4 / largest) : 1;
}

/* Elements from a row of a tile to the next: 4 bytes more than the row, so that neither
 * walking a row nor a column meets a bank of the memory twice. */
static unsigned int tile_pitch(const ga_elem_spec *spec, unsigned int i) {
  size_t itemsize = gpuarray_get_elsize(spec->args[i].typecode);
  return ga__elem_tile(spec) + (itemsize < 4 ? (unsigned int)(4 / itemsize) : 1);
}

size_t ga__elem_tile_bytes(const ga_elem_spec *spec, unsigned int i) {
  size_t bytes = gpuarray_get_elsize(spec->args[i].typecode) * ga__elem_tile(spec) *
                 tile_pitch(spec, i);
  return (bytes + 15) / 16 * 16;
}

/* What a text is made from, with the numbers that follow. */
typedef struct tiling {
  const ga_elem_spec *spec;
  unsigned int nd, tile, vector;
  unsigned int lanes; /* threads of a row */
  unsigned int step;  /* rows that the block takes at once */
  unsigned int steps; /* times that it does */
} tiling;

/* Where the tile of array i is in local memory, and the strides along the axis of its
 * neighbours (ga_i_f) and along the other (ga_i_g). */
static void add_array(ga_strbuf *sb, const tiling *t, unsigned int i) {
  const char *type = ga__elem_stored(&t->spec->args[i]);
  unsigned int y = t->nd - 2, x = t->nd - 1;
  ga__strbuf_addf(
      sb,
      "  const bool ga_i_z%u = ga_i_turned >> %u & 1;\n"
      "  LOCAL_MEM_ARG %s *ga_i_l%u = (LOCAL_MEM_ARG %s *)(ga_i_pool + ga_i_used);\n"
      "  ga_i_used += ga_i_z%u ? %u : 0;\n"
      "  const ga_ssize ga_i_f%u = ga_i_z%u ? ga_i_t%u_%u : ga_i_t%u_%u;\n"
      "  const ga_ssize ga_i_g%u = ga_i_z%u ? ga_i_t%u_%u : ga_i_t%u_%u;\n"
      "  const ga_ssize ga_i_s%u = %u * ga_i_g%u;\n",
      i, i, type, i, type, i, (unsigned int)(ga__elem_tile_bytes(t->spec, i) / 16), i,
      i, i, y, i, x, i, i, i, x, i, y, i, t->step, i);
}

/* Where the thread's first element of array i is, how many elements of its rows, and
 * rows, lie within the array, and whether it moves them as vectors. */
static void add_place(ga_strbuf *sb, const tiling *t, unsigned int i) {
  const gpuelemwise_arg *arg = &t->spec->args[i];
  unsigned int y = t->nd - 2, x = t->nd - 1;
  ga__strbuf_addf(
      sb,
      "    const int ga_i_c%u = (ga_i_z%u ? ga_i_high : ga_i_wide) - ga_i_lane;\n"
      "    const int ga_i_e%u = ga_i_c%u <= 0 ? 0 : ga_i_z%u ? ga_i_wide : ga_i_high;\n"
      "    GLOBAL_MEM %s *ga_i_p%u = ga_i_%u + ga_i_lane * ga_i_f%u + ga_i_a * "
      "ga_i_g%u\n"
      "        + %u * (ga_i_x%u * ga_i_t%u_%u + ga_i_x%u * ga_i_t%u_%u) + ",
      i, i, i, i, i, ga__elem_stored(arg), i, i, i, i, t->tile, y, i, y, x, i, x);
  ga__elem_add_sum(sb, t->nd - 2, i);
  ga__strbuf_addf(sb,
                  ";\n"
                  "    union { %s v; %s e[%u]; } ga_i_v%u[%u];\n",
                  ga__elem_bytes_type(gpuarray_get_elsize(arg->typecode) * t->vector),
                  ga__elem_stored(arg), t->vector, i, t->steps);
}

/* A loop over the thread's rows ga_i_b of the tile, with `text` ("@": i) for each. */
static void add_rows(ga_strbuf *sb, const tiling *t, const char *text, unsigned int i) {
  ga__strbuf_addf(sb,
                  "#pragma unroll\n"
                  "    for (int ga_i_k = 0; ga_i_k < %u; ga_i_k++) {\n"
                  "      const int ga_i_b = ga_i_a + ga_i_k * %u;\n",
                  t->steps, t->step);
  ga__elem_add_place(sb, text, i);
  ga__strbuf_add(sb, "    }\n");
}

/* The same for each element ga_i_w of the thread's in the row. */
static void add_elements(ga_strbuf *sb, const tiling *t, const char *text,
                         unsigned int i) {
  ga_strbuf inner = {0};
  ga__strbuf_addf(&inner,
                  "#pragma unroll\n"
                  "      for (int ga_i_w = 0; ga_i_w < %u; ga_i_w++)\n"
                  "        %s\n",
                  t->vector, text);
  if (ga__strbuf_status(&inner) == GA_NO_ERROR)
    add_rows(sb, t, inner.text, i);
  else
    sb->failed = true;
  ga__strbuf_clear(&inner);
}

/* Between array i and the thread's registers, whole vectors where they may be. */
static void add_transfer(ga_strbuf *sb, const tiling *t, unsigned int i, bool load) {
  const char *type = ga__elem_stored(&t->spec->args[i]);
  const char *whole =
      ga__elem_bytes_type(gpuarray_get_elsize(t->spec->args[i].typecode) * t->vector);
  char text[320], there[64];
  ga__strbuf_addf(sb, "    {\n    GLOBAL_MEM %s *ga_i_q = ga_i_p%u;\n", type, i);
  snprintf(there, sizeof there, "*(GLOBAL_MEM %s *)ga_i_q", whole);
  if (t->vector > 1)
    ga__strbuf_addf(sb, "    if ((ga_i_vectors >> %u & 1) && ga_i_c%u >= %u) {\n", i, i,
                    t->vector);
  snprintf(text, sizeof text,
           "      if (ga_i_b < ga_i_e@)\n"
           "        %s = %s;\n"
           "      ga_i_q += ga_i_s@;\n",
           load ? "ga_i_v@[ga_i_k].v" : there, load ? there : "ga_i_v@[ga_i_k].v");
  add_rows(sb, t, text, i);
  if (t->vector > 1) {
    const char *here = "ga_i_v@[ga_i_k].e[ga_i_w]", *out = "ga_i_q[ga_i_w * ga_i_f@]";
    ga__strbuf_add(sb, "    } else {\n");
    snprintf(text, sizeof text,
             "#pragma unroll\n"
             "      for (int ga_i_w = 0; ga_i_w < %u; ga_i_w++)\n"
             "        if (ga_i_b < ga_i_e@ && ga_i_w < ga_i_c@)\n"
             "          %s = %s;\n"
             "      ga_i_q += ga_i_s@;\n",
             t->vector, load ? here : out, load ? out : here);
    add_rows(sb, t, text, i);
    ga__strbuf_add(sb, "    }\n");
  }
  ga__strbuf_add(sb, "    }\n");
}

/* Between the registers and the tile of array i in local memory: in the array's order,
 * or in the order in which the expression is computed. */
static void add_exchange(ga_strbuf *sb, const tiling *t, unsigned int i, bool to_local,
                         bool array_order) {
  unsigned int pitch = tile_pitch(t->spec, i);
  char place[64], text[192];
  const char *here = "ga_i_v@[ga_i_k].e[ga_i_w]";
  if (array_order)
    snprintf(place, sizeof place, "ga_i_l@[ga_i_b * %u + ga_i_lane + ga_i_w]", pitch);
  else
    snprintf(place, sizeof place, "ga_i_l@[(ga_i_lane + ga_i_w) * %u + ga_i_b]", pitch);
  snprintf(text, sizeof text, "%s = %s;", to_local ? place : here,
           to_local ? here : place);
  ga__strbuf_addf(sb, "    if (ga_i_z%u)\n", i);
  add_elements(sb, t, text, i);
}

/* The expression on the thread's elements, those within the arrays (`edge`) or all. */
static void add_expression(ga_strbuf *sb, const tiling *t, bool edge) {
  ga_strbuf body = {0};
  ga__strbuf_add(&body,
                 edge ? "if (ga_i_b < ga_i_high && ga_i_lane + ga_i_w < ga_i_wide) {\n"
                      : "{\n");
  ga__elem_add_body(&body, t->spec, 0, "          ", "ga_i_v@[ga_i_k].e[ga_i_w]",
                    "ga_i_v@[ga_i_k].e[ga_i_w]");
  ga__strbuf_add(&body, "        }");
  if (ga__strbuf_status(&body) == GA_NO_ERROR)
    add_elements(sb, t, body.text, 0);
  else
    sb->failed = true;
  ga__strbuf_clear(&body);
}

/* Whole tiles ask no questions. (Of pairs they cost nothing, and the kernel is
 * shorter.)
 */
static void add_expressions(ga_strbuf *sb, const tiling *t) {
  if (t->vector == 2) {
    add_expression(sb, t, true);
    return;
  }
  ga__strbuf_addf(sb, "    if (ga_i_high >= %u && ga_i_wide >= %u) {\n", t->tile,
                  t->tile);
  add_expression(sb, t, false);
  ga__strbuf_add(sb, "    } else {\n");
  add_expression(sb, t, true);
  ga__strbuf_add(sb, "    }\n");
}

/* One tile. Turned arrays are loaded in their own order, and exchanged over local
 * memory; all loads come before the first wait. */
static void add_tile(ga_strbuf *sb, const tiling *t) {
  const ga_elem_spec *spec = t->spec;
  uint64_t written = 0;
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      add_place(sb, t, i);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_transfer(sb, t, i, true);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_exchange(sb, t, i, true, true);
  ga__strbuf_add(sb, "    local_barrier();\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_exchange(sb, t, i, false, false);
  add_expressions(sb, t);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i])) {
      add_exchange(sb, t, i, true, false);
      written |= (uint64_t)1 << i;
    }
  ga__strbuf_addf(sb,
                  "    if (ga_i_turned & %lluUL)\n"
                  "      local_barrier();\n",
                  (unsigned long long)written);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i])) {
      add_exchange(sb, t, i, false, true);
      add_transfer(sb, t, i, false);
    }
  ga__strbuf_add(sb, "    local_barrier();\n");
}

int ga__elem_tiled_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd) {
  tiling t = {spec, nd, ga__elem_tile(spec), ga__elem_tile_vector(spec), 0, 0, 0};
  t.lanes = t.tile / t.vector;
  t.step = ga__elem_tile_threads(spec) / t.lanes;
  t.steps = t.tile / t.step;
  ga_strbuf text = {0};
  ga__strbuf_add(&text, "(ga_uint ga_i_n");
  for (unsigned int k = 1; k < nd; k++)
    ga__strbuf_addf(&text, ", ga_uint ga_i_d%u, ga_uint ga_i_m%u, ga_uint ga_i_h%u", k,
                    k, k);
  ga__strbuf_add(&text, ", ga_uint ga_i_height, ga_uint ga_i_width, ga_ulong "
                        "ga_i_turned, ga_ulong ga_i_vectors");
  ga__elem_add_parameters(&text, spec, nd, "ga_ssize",
                          " GA_DECL_SHARED_PARAM(ga_uint4, ga_i_pool)");
  ga__strbuf_add(&text, "  GA_DECL_SHARED_BODY(ga_uint4, ga_i_pool)\n");
  ga__elem_add_pointers(&text, spec, 0);
  ga__strbuf_addf(&text,
                  "  const int ga_i_lane = (int)LID_0 %% %u * %u;\n"
                  "  const int ga_i_a = (int)LID_0 / %u;\n"
                  "  ga_uint ga_i_used = 0;\n",
                  t.lanes, t.vector, t.lanes);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      add_array(&text, &t, i);
  ga__strbuf_add(&text, "  for (ga_uint ga_i_i = (ga_uint)GID_0; ga_i_i < ga_i_n;\n"
                        "       ga_i_i += (ga_uint)GDIM_0) {\n"
                        "    ga_uint ga_i_r = ga_i_i;\n");
  ga__elem_add_split(&text, nd, "    ", "ga_uint", "ga_ssize", GA_ELEM_QUOTIENT);
  ga__strbuf_addf(&text,
                  "    const int ga_i_high = (int)(ga_i_height - (ga_uint)ga_i_x%u * "
                  "%u);\n"
                  "    const int ga_i_wide = (int)(ga_i_width - (ga_uint)ga_i_x%u * "
                  "%u);\n",
                  nd - 2, t.tile, nd - 1, t.tile);
  add_tile(&text, &t);
  ga__strbuf_add(&text, "  }\n}\n");
  return ga__elem_finish(out, spec, &text);
}
