/* The kernel text of an elementwise expression over arrays that differ in order. */
#include <stdio.h>

#include "c/elemwise/elemwise_text.h"

/* ---- measures ---- */

static size_t smallest(const ga_elem_spec *spec) {
  size_t found = 16;
  for (unsigned int i = 0; i < spec->n; i++) {
    size_t size = gpuarray_get_elsize(spec->args[i].typecode);
    if (ga__elem_is_array(&spec->args[i]) && size < found)
      found = size;
  }
  return found;
}

/* As many as fill 4 bytes of the smallest type, or 8 of one that has 4, and fit 16 of
 * the largest. */
unsigned int ga__elem_tile_vector(const ga_elem_spec *spec) {
  size_t least = smallest(spec), largest = ga__elem_largest(spec);
  size_t fill = least < 4 ? 4 / least : 8 / largest, most = 16 / largest;
  size_t n = fill < most ? fill : most;
  return n > 0 ? (unsigned int)n : 1;
}

/* Vectors of a row: 128 bytes or more, where that leaves room for other blocks. */
static unsigned int tile_lanes(const ga_elem_spec *spec) {
  unsigned int vector = ga__elem_tile_vector(spec);
  return vector > 1 && vector * ga__elem_largest(spec) > 8 ? 16 : 32;
}

unsigned int ga__elem_tile(const ga_elem_spec *spec) {
  return tile_lanes(spec) * ga__elem_tile_vector(spec);
}

/* Eight vectors of an array each, or more: with fewer, too little is on its way while
 * others wait. */
unsigned int ga__elem_tile_threads(const ga_elem_spec *spec) {
  return ga__elem_tile_vector(spec) > 1 && tile_lanes(spec) == 32 ? 256 : 128;
}

/* Blocks for which a processor shall have registers, or 0. Few arrays of small
 * elements have enough on their way only if more blocks run than compilers make room
 * for; many would lack the registers. */
static unsigned int least_blocks(const ga_elem_spec *spec) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < spec->n; i++)
    n += ga__elem_is_array(&spec->args[i]);
  size_t size = ga__elem_largest(spec);
  if (n > 3 || size > 2 || smallest(spec) != size)
    return 0;
  return size == 2 ? 5 : 4;
}

/* Vectors from a row to the next in local memory: one more than they have, so that
 * neither walking a row nor a column meets a bank of the memory twice. */
static unsigned int tile_pitch(const ga_elem_spec *spec) {
  return tile_lanes(spec) + 1;
}

size_t ga__elem_tile_bytes(const ga_elem_spec *spec, unsigned int i) {
  unsigned int vector = ga__elem_tile_vector(spec);
  size_t bytes = gpuarray_get_elsize(spec->args[i].typecode) * vector * vector *
                 tile_lanes(spec) * tile_pitch(spec);
  return (bytes + 15) / 16 * 16;
}

/* What a text is made from, with the numbers that follow. The tile is made of squares
 * of `vector` vectors, of which a thread takes `squares`, `step` rows of them apart. */
typedef struct tiling {
  const ga_elem_spec *spec;
  unsigned int nd, tile, vector, lanes, threads, step, squares;
} tiling;

/* The type of a vector of array i. */
static const char *vector_type(const tiling *t, unsigned int i) {
  return ga__elem_bytes_type(gpuarray_get_elsize(t->spec->args[i].typecode) *
                             t->vector);
}

/* ---- places ---- */

/* Where the tile of array i is in local memory, and the strides along the axis of its
 * neighbours (ga_i_f) and along the other (ga_i_g). */
static void add_array(ga_strbuf *sb, const tiling *t, unsigned int i) {
  unsigned int y = t->nd - 2, x = t->nd - 1;
  ga__strbuf_addf(
      sb,
      "  const bool ga_i_z%u = ga_i_turned >> %u & 1;\n"
      "  LOCAL_MEM_ARG %s *ga_i_l%u = (LOCAL_MEM_ARG %s *)(ga_i_pool + ga_i_used);\n"
      "  ga_i_used += ga_i_z%u ? %u : 0;\n"
      "  const ga_ssize ga_i_f%u = ga_i_z%u ? ga_i_t%u_%u : ga_i_t%u_%u;\n"
      "  const ga_ssize ga_i_g%u = ga_i_z%u ? ga_i_t%u_%u : ga_i_t%u_%u;\n",
      i, i, vector_type(t, i), i, vector_type(t, i), i,
      (unsigned int)(ga__elem_tile_bytes(t->spec, i) / 16), i, i, i, y, i, x, i, i, i,
      x, i, y);
}

/* Where the tile of array i begins. */
static void add_place(ga_strbuf *sb, const tiling *t, unsigned int i) {
  unsigned int y = t->nd - 2, x = t->nd - 1;
  ga__strbuf_addf(sb,
                  "    GLOBAL_MEM %s *ga_i_p%u = ga_i_%u\n"
                  "        + %u * (ga_i_x%u * ga_i_t%u_%u + ga_i_x%u * ga_i_t%u_%u) + ",
                  ga__elem_stored(&t->spec->args[i]), i, i, t->tile, y, i, y, x, i, x);
  ga__elem_add_sum(sb, t->nd - 2, i);
  ga__strbuf_add(sb, ";\n");
}

/* ---- whole tiles, by vectors ---- */

/* A loop over the thread's vectors: `text` ("@": i) for each, number ga_i_s, which is
 * vector ga_i_j of a square that lies ga_i_b squares below the thread's first. */
static void add_vectors(ga_strbuf *sb, const tiling *t, const char *text,
                        unsigned int i) {
  ga__strbuf_addf(
      sb,
      "#pragma unroll\n"
      "      for (int ga_i_s = 0; ga_i_s < %u; ga_i_s++) {\n"
      "        const int ga_i_j = ga_i_s %% %u, ga_i_b = ga_i_s / %u * %u;\n"
      "        (void)ga_i_j, (void)ga_i_b;\n",
      t->squares * t->vector, t->vector, t->vector, t->step);
  ga__elem_add_place(sb, text, i);
  ga__strbuf_add(sb, "      }\n");
}

#define ROW "ga_i_q@ + (ga_i_b * %u + ga_i_j) * ga_i_g@"

/* The vectors of array i, which are the thread's in the array's own order. */
static void add_vector_place(ga_strbuf *sb, const tiling *t, unsigned int i) {
  const char *type = ga__elem_stored(&t->spec->args[i]);
  ga__strbuf_addf(sb,
                  "      union { %s v; %s e[%u]; } ga_i_v%u[%u];\n"
                  "      GLOBAL_MEM %s *ga_i_q%u = ga_i_p%u + ga_i_lane * %u * "
                  "ga_i_f%u + ga_i_a * %u * ga_i_g%u;\n",
                  vector_type(t, i), type, t->vector, i, t->squares * t->vector, type,
                  i, i, t->vector, i, t->vector, i);
}

/* Vectors that are not aligned: two aligned words hold each. */
static void add_shifted_load(ga_strbuf *sb, const tiling *t, unsigned int i) {
  char text[512];
  ga__strbuf_addf(sb, "      } else if (ga_i_f%u == 1) {\n", i);
  snprintf(text, sizeof text,
           "        const ga_size ga_i_at = (ga_size)(" ROW ");\n"
           "        GLOBAL_MEM ga_uint *ga_i_word = (GLOBAL_MEM ga_uint *)(ga_i_at - "
           "ga_i_at %% 4);\n"
           "        ga_i_v@[ga_i_s].v = (ga_uint)(((ga_ulong)ga_i_word[1] << 32 | "
           "ga_i_word[0]) >> ga_i_at %% 4 * 8);\n",
           t->vector);
  add_vectors(sb, t, text, i);
}

/* Between array i and the thread's registers: whole vectors where they are aligned. */
static void add_transfer(ga_strbuf *sb, const tiling *t, unsigned int i, bool load) {
  size_t itemsize = gpuarray_get_elsize(t->spec->args[i].typecode);
  char text[512], there[128];
  const char *here = "ga_i_v@[ga_i_s].v";
  snprintf(there, sizeof there, "*(GLOBAL_MEM %s *)(" ROW ")", vector_type(t, i),
           t->vector);
  snprintf(text, sizeof text, "        %s = %s;\n", load ? here : there,
           load ? there : here);
  if (t->vector == 1) {
    add_vectors(sb, t, text, i);
    return;
  }
  ga__strbuf_addf(sb, "      if (ga_i_vectors >> %u & 1) {\n", i);
  add_vectors(sb, t, text, i);
  if (load && itemsize * t->vector == 4)
    add_shifted_load(sb, t, i);
  ga__strbuf_add(sb, "      } else {\n");
  here = "ga_i_v@[ga_i_s].e[ga_i_w]";
  snprintf(there, sizeof there, "(" ROW ")[ga_i_w * ga_i_f@]", t->vector);
  snprintf(text, sizeof text,
           "#pragma unroll\n"
           "        for (int ga_i_w = 0; ga_i_w < %u; ga_i_w++)\n"
           "          %s = %s;\n",
           t->vector, load ? here : there, load ? there : here);
  add_vectors(sb, t, text, i);
  ga__strbuf_add(sb, "      }\n");
}

/* Between the thread's registers and the tile of array i in local memory, in the order
 * in which the expression is computed. */
static void add_straight(ga_strbuf *sb, const tiling *t, unsigned int i,
                         bool to_local) {
  unsigned int pitch = tile_pitch(t->spec);
  char text[400], place[128];
  const char *here = "ga_i_v@[ga_i_s].v";
  snprintf(place, sizeof place,
           "ga_i_l@[ga_i_j * %u + (ga_i_a + ga_i_b) * %u + ga_i_lane]",
           t->lanes * pitch, pitch);
  snprintf(text, sizeof text, "        %s = %s;\n", to_local ? place : here,
           to_local ? here : place);
  ga__strbuf_addf(sb, "      if (ga_i_z%u) {\n", i);
  add_vectors(sb, t, text, i);
  ga__strbuf_add(sb, "      }\n");
}

/* The same in the array's own order: squares change place, and turn in registers. */
static void add_across(ga_strbuf *sb, const tiling *t, unsigned int i, bool to_local) {
  unsigned int pitch = tile_pitch(t->spec);
  char text[640], place[128];
  const char *here = "ga_i_v@[ga_i_s - ga_i_j + ga_i_w].e[ga_i_j]";
  snprintf(place, sizeof place,
           "ga_i_l@[ga_i_j * %u + ga_i_lane * %u + ga_i_a + ga_i_b]", t->lanes * pitch,
           pitch);
  snprintf(text, sizeof text,
           "        union { %s v; %s e[%u]; } ga_i_u;\n"
           "%s%s%s"
           "#pragma unroll\n"
           "        for (int ga_i_w = 0; ga_i_w < %u; ga_i_w++)\n"
           "          %s = %s;\n"
           "%s%s%s",
           vector_type(t, i), ga__elem_stored(&t->spec->args[i]), t->vector,
           to_local ? "" : "        ga_i_u.v = ", to_local ? "" : place,
           to_local ? "" : ";\n", t->vector, to_local ? "ga_i_u.e[ga_i_w]" : here,
           to_local ? here : "ga_i_u.e[ga_i_w]", to_local ? "        " : "",
           to_local ? place : "", to_local ? " = ga_i_u.v;\n" : "");
  ga__strbuf_addf(sb, "      if (ga_i_z%u) {\n", i);
  add_vectors(sb, t, text, i);
  ga__strbuf_add(sb, "      }\n");
}

static void add_vector_expression(ga_strbuf *sb, const tiling *t) {
  const char *place = "ga_i_v@[ga_i_s].e[ga_i_w]";
  ga_strbuf body = {0};
  ga__strbuf_addf(&body,
                  "#pragma unroll\n"
                  "        for (int ga_i_w = 0; ga_i_w < %u; ga_i_w++) {\n",
                  t->vector);
  ga__elem_add_body(&body, t->spec, 0, "          ", place, place);
  ga__strbuf_add(&body, "        }\n");
  if (ga__strbuf_status(&body) == GA_NO_ERROR)
    add_vectors(sb, t, body.text, 0);
  else
    sb->failed = true;
  ga__strbuf_clear(&body);
}

/* A whole tile. Turned arrays are loaded in their own order, and exchanged over local
 * memory; all loads come before the first wait. */
static void add_whole(ga_strbuf *sb, const tiling *t, const char *any_turned_output) {
  const ga_elem_spec *spec = t->spec;
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      add_vector_place(sb, t, i);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_transfer(sb, t, i, true);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_across(sb, t, i, true);
  ga__strbuf_add(sb, "      local_barrier();\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_straight(sb, t, i, false);
  add_vector_expression(sb, t);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      add_straight(sb, t, i, true);
  ga__strbuf_addf(sb, "      if (%s)\n        local_barrier();\n", any_turned_output);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i])) {
      add_across(sb, t, i, false);
      add_transfer(sb, t, i, false);
    }
}

/* ---- tiles at the ends, by elements ---- */

/* A loop over the elements of the tile: ga_i_w along a row, ga_i_b down. */
static void add_elements(ga_strbuf *sb, const tiling *t, const char *text,
                         unsigned int i) {
  ga__strbuf_addf(sb,
                  "#pragma unroll 1\n"
                  "      for (int ga_i_s = (int)LID_0; ga_i_s < %u; ga_i_s += %u) {\n"
                  "        const int ga_i_b = ga_i_s / %u, ga_i_w = ga_i_s %% %u;\n",
                  t->tile * t->tile, t->threads, t->tile, t->tile);
  ga__elem_add_place(sb, text, i);
  ga__strbuf_add(sb, "      }\n");
}

#define ELEMENT "ga_i_p@[ga_i_w * ga_i_f@ + ga_i_b * ga_i_g@]"

/* Between array i, which is turned, and local memory. */
static void add_turned_elements(ga_strbuf *sb, const tiling *t, unsigned int i,
                                bool load) {
  char text[400], local[128];
  snprintf(local, sizeof local, "((LOCAL_MEM_ARG %s *)ga_i_l@)[ga_i_b * %u + ga_i_w]",
           ga__elem_stored(&t->spec->args[i]), t->tile + t->vector);
  snprintf(text, sizeof text,
           "        if (ga_i_b < ga_i_wide && ga_i_w < ga_i_high)\n"
           "          %s = %s;\n",
           load ? local : ELEMENT, load ? ELEMENT : local);
  ga__strbuf_addf(sb, "      if (ga_i_z%u) {\n", i);
  add_elements(sb, t, text, i);
  ga__strbuf_add(sb, "      }\n");
}

/* The element of array i at ga_i_w, ga_i_b into ga_i_e, or back. */
static void add_element(ga_strbuf *sb, const tiling *t, unsigned int i, bool load) {
  char text[320];
  const char *type = ga__elem_stored(&t->spec->args[i]);
  const char *form = load ? "          if (ga_i_z@)\n"
                            "            ga_i_e@ = ((LOCAL_MEM_ARG %s "
                            "*)ga_i_l@)[ga_i_w * %u + ga_i_b];\n"
                            "          else\n"
                            "            ga_i_e@ = " ELEMENT ";\n"
                          : "          if (ga_i_z@)\n"
                            "            ((LOCAL_MEM_ARG %s *)ga_i_l@)[ga_i_w * %u + "
                            "ga_i_b] = ga_i_e@;\n"
                            "          else\n"
                            "            " ELEMENT " = ga_i_e@;\n";
  snprintf(text, sizeof text, form, type, t->tile + t->vector);
  ga__elem_add_place(sb, text, i);
}

static void add_element_expression(ga_strbuf *sb, const tiling *t) {
  const ga_elem_spec *spec = t->spec;
  ga_strbuf body = {0};
  ga__strbuf_add(&body, "        if (ga_i_b < ga_i_high && ga_i_w < ga_i_wide) {\n");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      ga__strbuf_addf(&body, "          %s ga_i_e%u;\n",
                      ga__elem_stored(&spec->args[i]), i);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_element(&body, t, i, true);
  ga__elem_add_body(&body, spec, 0, "          ", "ga_i_e@", "ga_i_e@");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      add_element(&body, t, i, false);
  ga__strbuf_add(&body, "        }\n");
  if (ga__strbuf_status(&body) == GA_NO_ERROR)
    add_elements(sb, t, body.text, 0);
  else
    sb->failed = true;
  ga__strbuf_clear(&body);
}

/* A tile of which some elements may be missing: short rather than fast. */
static void add_part(ga_strbuf *sb, const tiling *t, const char *any_turned_output) {
  const ga_elem_spec *spec = t->spec;
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_read(&spec->args[i]))
      add_turned_elements(sb, t, i, true);
  ga__strbuf_add(sb, "      local_barrier();\n");
  add_element_expression(sb, t);
  ga__strbuf_addf(sb, "      if (%s)\n        local_barrier();\n", any_turned_output);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_written(&spec->args[i]))
      add_turned_elements(sb, t, i, false);
}

/* ---- the whole ---- */

static void add_tile(ga_strbuf *sb, const tiling *t) {
  const ga_elem_spec *spec = t->spec;
  unsigned int y = t->nd - 2, x = t->nd - 1, next = t->tile + t->vector;
  uint64_t arrays = 0, written = 0;
  char outputs[64];
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->args[i]))
      continue;
    add_place(sb, t, i);
    arrays |= (uint64_t)1 << i;
    written |= (uint64_t)ga__elem_is_written(&spec->args[i]) << i;
  }
  snprintf(outputs, sizeof outputs, "ga_i_turned & %lluUL",
           (unsigned long long)written);
  ga__strbuf_addf(sb,
                  "    const int ga_i_high = (int)(ga_i_height - (ga_uint)ga_i_x%u * "
                  "%u);\n"
                  "    const int ga_i_wide = (int)(ga_i_width - (ga_uint)ga_i_x%u * "
                  "%u);\n",
                  y, t->tile, x, t->tile);
  ga__strbuf_addf(sb, "    if (ga_i_high >= %u && ga_i_wide >= %u", t->tile, t->tile);
  if (t->vector > 1)
    ga__strbuf_addf(sb,
                    "\n        && (ga_i_vectors == %lluUL || (ga_i_x%u > 0 && ga_i_x%u "
                    "> 0 && ga_i_high >= %u && ga_i_wide >= %u))",
                    (unsigned long long)arrays, y, x, next, next);
  ga__strbuf_add(sb, ") {\n");
  add_whole(sb, t, outputs);
  ga__strbuf_add(sb, "    } else {\n");
  add_part(sb, t, outputs);
  ga__strbuf_add(sb, "    }\n    local_barrier();\n");
}

int ga__elem_tiled_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd) {
  tiling t = {.spec = spec,
              .nd = nd,
              .tile = ga__elem_tile(spec),
              .vector = ga__elem_tile_vector(spec),
              .lanes = tile_lanes(spec),
              .threads = ga__elem_tile_threads(spec)};
  t.step = t.threads / t.lanes;
  t.squares = t.lanes / t.step;
  ga_strbuf text = {0};
  ga__strbuf_add(&text, "(ga_uint ga_i_n");
  for (unsigned int k = 1; k < nd; k++)
    ga__strbuf_addf(&text, ", ga_uint ga_i_d%u, ga_uint ga_i_m%u, ga_uint ga_i_h%u", k,
                    k, k);
  ga__strbuf_add(&text, ", ga_uint ga_i_height, ga_uint ga_i_width, ga_ulong "
                        "ga_i_turned, ga_ulong ga_i_vectors");
  ga__elem_add_parameters(&text, spec, nd, "ga_ssize");
  ga__strbuf_add(&text, " GA_DECL_SHARED_PARAM(ga_uint4, ga_i_pool)) {\n"
                        "  GA_DECL_SHARED_BODY(ga_uint4, ga_i_pool)\n");
  ga__elem_add_pointers(&text, spec, 0);
  ga__strbuf_addf(&text,
                  "  const int ga_i_lane = (int)LID_0 %% %u;\n"
                  "  const int ga_i_a = (int)LID_0 / %u;\n"
                  "  ga_uint ga_i_used = 0;\n",
                  t.lanes, t.lanes);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->args[i]))
      add_array(&text, &t, i);
  ga__strbuf_add(&text, "  for (ga_uint ga_i_i = (ga_uint)GID_0; ga_i_i < ga_i_n;\n"
                        "       ga_i_i += (ga_uint)GDIM_0) {\n"
                        "    ga_uint ga_i_r = ga_i_i;\n");
  ga__elem_add_split(&text, nd, "    ", "ga_uint", "ga_ssize", GA_ELEM_QUOTIENT);
  add_tile(&text, &t);
  ga__strbuf_add(&text, "  }\n}\n");
  char kind[64] = "KERNEL";
  if (least_blocks(spec) > 0)
    snprintf(kind, sizeof kind, "KERNEL_OF(%u, %u)", t.threads, least_blocks(spec));
  return ga__elem_finish(out, spec, kind, &text);
}
