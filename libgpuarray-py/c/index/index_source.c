/* The kernel texts of indexing. */
#include "c/index/index_source.h"

#include <stdio.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"

static const char *c_type(int typecode) {
  return gpuarray_get_type(typecode)->cluda_name;
}

static bool has_source(const ga_index_spec *s) {
  return s->op != GA_INDEX_OWN && s->op != GA_INDEX_SLOT;
}

/* Whether indices lead to a place in the source. */
static bool reads_place(const ga_index_spec *s) {
  return s->op == GA_INDEX_TAKE || s->op == GA_INDEX_CLAIM;
}

/* What positions are counted in. */
static const char *position_type(const ga_index_spec *s) {
  return s->wide ? "ga_long" : "ga_int";
}

static const char *word_type(unsigned int bytes) {
  return bytes == 1   ? "ga_ubyte"
         : bytes == 2 ? "ga_ushort"
         : bytes == 4 ? "ga_uint"
         : bytes == 8 ? "ga_ulong"
                      : "ga_uint4";
}

static void element_types(const ga_index_spec *s, const char **dst, const char **src) {
  *src = s->op == GA_INDEX_ADD                              ? c_type(s->typecode)
         : s->op == GA_INDEX_OWN || s->op == GA_INDEX_CLAIM ? "ga_uint"
                                                            : word_type(s->word);
  *dst = s->op == GA_INDEX_CLAIM ? "ga_ubyte" : *src;
}

/* ---- arguments ---- */

static void add_array(ga_strbuf *t, bool is_read, const char *type, const char *name) {
  ga__strbuf_addf(t, "GLOBAL_MEM %s%s *%s, ga_size %s_off, ", is_read ? "const " : "",
                  type, name, name);
}

static void add_stride_list(ga_strbuf *t, const ga_index_spec *s, const char *name) {
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", %s %s_s%u", position_type(s), name, axis);
}

static void add_arguments(ga_strbuf *t, const ga_index_spec *s) {
  const char *dst, *src;
  char name[16];
  element_types(s, &dst, &src);
  add_array(t, false, dst, "dst");
  if (has_source(s))
    add_array(t, true, src, "src");
  if (s->keep)
    add_array(t, true, "ga_ubyte", "keep");
  for (unsigned int i = 0; i < s->n; i++) {
    snprintf(name, sizeof name, "i%u", i);
    add_array(t, true, c_type(s->types[i]), name);
  }
  for (unsigned int i = 0; i < s->n; i++)
    ga__strbuf_addf(t, "ga_long i%u_length, %s i%u_step, ", i, position_type(s), i);
  if (s->mode == GA_INDEX_RAISE)
    ga__strbuf_add(t, "GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint site, ");
  ga__strbuf_add(t, "ga_uint nx, ga_uint ny, ga_uint width, ga_uint height");
  for (unsigned int axis = 1; axis + 1 < s->nd; axis++)
    ga__strbuf_addf(t, ", ga_uint d%u", axis);
  add_stride_list(t, s, "dst");
  if (has_source(s))
    add_stride_list(t, s, "src");
  if (s->keep)
    add_stride_list(t, s, "keep");
  for (unsigned int i = 0; i < s->n; i++) {
    snprintf(name, sizeof name, "i%u", i);
    add_stride_list(t, s, name);
  }
}

static void add_start(ga_strbuf *t, bool is_read, const char *type, const char *name) {
  ga__strbuf_addf(t, "  %s = (GLOBAL_MEM %s%s *)((GLOBAL_MEM %schar *)%s + %s_off);\n",
                  name, is_read ? "const " : "", type, is_read ? "const " : "", name,
                  name);
}

static void add_starts(ga_strbuf *t, const ga_index_spec *s) {
  const char *dst, *src;
  char name[16];
  element_types(s, &dst, &src);
  add_start(t, false, dst, "dst");
  if (has_source(s))
    add_start(t, true, src, "src");
  if (s->keep)
    add_start(t, true, "ga_ubyte", "keep");
  for (unsigned int i = 0; i < s->n; i++) {
    snprintf(name, sizeof name, "i%u", i);
    add_start(t, true, c_type(s->types[i]), name);
  }
}

/* ---- positions ---- */

/* Calls `add` with the name of each array. */
static void for_arrays(ga_strbuf *t, const ga_index_spec *s,
                       void (*add)(ga_strbuf *, const ga_index_spec *, const char *,
                                   unsigned int),
                       unsigned int axis) {
  char name[16];
  add(t, s, "dst", axis);
  if (has_source(s))
    add(t, s, "src", axis);
  if (s->keep)
    add(t, s, "keep", axis);
  for (unsigned int i = 0; i < s->n; i++) {
    snprintf(name, sizeof name, "i%u", i);
    add(t, s, name, axis);
  }
}

static void add_zero(ga_strbuf *t, const ga_index_spec *s, const char *name,
                     unsigned int axis) {
  (void)axis;
  ga__strbuf_addf(t, "    %s %s_y = 0;\n", position_type(s), name);
}

static void add_term(ga_strbuf *t, const ga_index_spec *s, const char *name,
                     unsigned int axis) {
  ga__strbuf_addf(t, "    %s_y += c * %s_s%u;\n", name, name, axis);
  (void)s;
}

/* <name>_y: where row `y` begins in each array. */
static void add_row(ga_strbuf *t, const ga_index_spec *s) {
  for_arrays(t, s, add_zero, 0);
  if (s->nd < 2)
    return;
  ga__strbuf_addf(t, "    ga_uint rest = y;\n    %s c;\n", position_type(s));
  for (unsigned int axis = s->nd - 2; axis > 0; axis--) {
    ga__strbuf_addf(t, "    c = (%s)(rest %% d%u);\n    rest /= d%u;\n",
                    position_type(s), axis, axis);
    for_arrays(t, s, add_term, axis);
  }
  ga__strbuf_addf(t, "    c = (%s)rest;\n", position_type(s));
  for_arrays(t, s, add_term, 0);
}

/* The statements that make `g`, an index of any size, one that is in bounds. `ok` goes
 * false for one that is not. */
static void add_bounds(ga_strbuf *t, const ga_index_spec *s, unsigned int i) {
  const bool is_unsigned = ga__dtype_kind(s->types[i]) == 'u';
  switch (s->mode) {
  case GA_INDEX_WRAP:
    ga__strbuf_addf(t,
                    "      if (g < 0 || g >= i%u_length) {\n"
                    "        g %%= i%u_length;\n"
                    "        if (g < 0) g += i%u_length;\n"
                    "      }\n",
                    i, i, i);
    return;
  case GA_INDEX_CLIP:
    ga__strbuf_addf(t,
                    "      g = %s ? i%u_length - 1 : g < 0 ? 0 : g >= i%u_length ? "
                    "i%u_length - 1 : g;\n",
                    s->types[i] == GA_ULONG ? "g < 0" : "0", i, i, i);
    return;
  case GA_INDEX_RAISE:
  case GA_INDEX_QUIET:
    if (!is_unsigned)
      ga__strbuf_addf(t, "      if (g < 0) g += i%u_length;\n", i);
    ga__strbuf_addf(t,
                    "      if (g < 0 || g >= i%u_length) {\n"
                    "        g = 0;\n"
                    "        ok = 0;\n",
                    i);
    if (s->mode == GA_INDEX_RAISE)
      ga__strbuf_addf(
          t, "        %sga_report_index(word, word_off, site, raw, i%u_length);\n",
          s->uniform ? "if (tells) " : "", i);
    ga__strbuf_add(t, "      }\n");
    return;
  default:
    return;
  }
}

/* `place`: how far the indices lead, from what stands at <array>_y, and `ok`. `x` says
 * how far along the row the index stands, or is NULL. */
static void add_place(ga_strbuf *t, const ga_index_spec *s, const char *x) {
  for (unsigned int i = 0; i < s->n; i++) {
    ga__strbuf_addf(t, "    {\n      const ga_long raw = (ga_long)i%u[i%u_y", i, i);
    if (x != NULL)
      ga__strbuf_addf(t, " + (%s)%s * i%u_s%u", position_type(s), x, i, s->nd - 1);
    ga__strbuf_add(t, "];\n      ga_long g = raw;\n");
    add_bounds(t, s, i);
    ga__strbuf_addf(t, "      place += (%s)g * i%u_step;\n    }\n", position_type(s),
                    i);
  }
}

/* ---- what is done ---- */

static const char *atomic_letter(int typecode) {
  return typecode == GA_INT     ? "ig"
         : typecode == GA_UINT  ? "Ig"
         : typecode == GA_LONG  ? "lg"
         : typecode == GA_ULONG ? "Lg"
         : typecode == GA_FLOAT ? "fg"
                                : "dg";
}

/* Loads item k, whose positions are pd[k] and ps[k]. */
static void add_load(ga_strbuf *t, const ga_index_spec *s) {
  if (has_source(s))
    ga__strbuf_add(t, "      v[k] = src[ps[k]];\n");
}

/* Stores item k, at position `at` of the walk. */
static void add_store(ga_strbuf *t, const ga_index_spec *s) {
  switch ((enum ga_index_op)s->op) {
  case GA_INDEX_TAKE:
  case GA_INDEX_PUT:
    ga__strbuf_add(t, "      dst[pd[k]] = v[k];\n");
    return;
  case GA_INDEX_ADD:
    ga__strbuf_addf(t, "      atom_add_%s(dst + pd[k], v[k]);\n",
                    atomic_letter(s->typecode));
    return;
  case GA_INDEX_OWN:
    ga__strbuf_add(t, "      atom_max_Ig(dst + pd[k], at[k] + 1);\n");
    return;
  case GA_INDEX_CLAIM:
    ga__strbuf_add(t, "      dst[pd[k]] = (ga_ubyte)(v[k] == at[k] + 1);\n");
    return;
  case GA_INDEX_SLOT:
    ga__strbuf_add(t, "      dst[pd[k]] = slot[k];\n");
    return;
  }
}

/* Whether an item whose index is out of bounds is left out. */
static bool skips(const ga_index_spec *s) {
  return (s->mode == GA_INDEX_RAISE || s->mode == GA_INDEX_QUIET) &&
         s->op != GA_INDEX_SLOT;
}

/* Gives item k its positions from those of its row and `xk`. */
static void add_positions(ga_strbuf *t, const ga_index_spec *s) {
  const unsigned int x = s->nd - 1;
  const char *type = position_type(s);
  if (s->keep)
    ga__strbuf_addf(t, "      live[k] = live[k] && keep[keep_y + (%s)xk * keep_s%u];\n",
                    type, x);
  if (skips(s))
    ga__strbuf_add(t, "      live[k] = live[k] && ok;\n");
  const char *to_dst = s->op == GA_INDEX_SLOT || reads_place(s) ? "" : "place + ";
  ga__strbuf_addf(t, "      pd[k] = %sdst_y + (%s)xk * dst_s%u;\n", to_dst, type, x);
  if (has_source(s))
    ga__strbuf_addf(t, "      ps[k] = %ssrc_y + (%s)xk * src_s%u;\n",
                    reads_place(s) ? "place + " : "", type, x);
  if (s->op == GA_INDEX_OWN || s->op == GA_INDEX_CLAIM)
    ga__strbuf_add(t, "      at[k] = y * nx + xk;\n");
  if (s->op == GA_INDEX_SLOT)
    ga__strbuf_addf(t, "      slot[k] = ok ? (%s)place : ~(%s)0;\n", word_type(s->word),
                    word_type(s->word));
}

/* add_place for a row of one index all along. Of the work items that look at it
 * the one for which `tells` holds says that it is out of bounds, so that it is said
 * once. */
static void add_row_place(ga_strbuf *t, const ga_index_spec *s, const char *tells) {
  ga__strbuf_addf(t, "    const ga_int tells = %s; (void)tells;\n", tells);
  add_place(t, s, NULL);
}

static void add_locals(ga_strbuf *t, const ga_index_spec *s) {
  const char *dst, *src, *type = position_type(s);
  element_types(s, &dst, &src);
  ga__strbuf_addf(t, "    ga_int live[%u];\n    %s pd[%u];\n", s->per, type, s->per);
  if (has_source(s))
    ga__strbuf_addf(t, "    %s ps[%u];\n    %s v[%u];\n", type, s->per, src, s->per);
  if (s->op == GA_INDEX_OWN || s->op == GA_INDEX_CLAIM)
    ga__strbuf_addf(t, "    ga_uint at[%u];\n", s->per);
  if (s->op == GA_INDEX_SLOT)
    ga__strbuf_addf(t, "    %s slot[%u];\n", dst, s->per);
}

static void add_finish(ga_strbuf *t, const ga_index_spec *s) {
  if (has_source(s)) {
    ga__strbuf_addf(t, "    for (ga_int k = 0; k < %u; k++) if (live[k]) {\n", s->per);
    add_load(t, s);
    ga__strbuf_add(t, "    }\n");
  }
  ga__strbuf_addf(t, "    for (ga_int k = 0; k < %u; k++) if (live[k]) {\n", s->per);
  add_store(t, s);
  ga__strbuf_add(t, "    }\n");
}

/* Items side by side: the row is looked at once, and so are its indices if they are the
 * same all along. */
static void add_flat_items(ga_strbuf *t, const ga_index_spec *s) {
  ga__strbuf_add(t, "  for (ga_uint y = (ga_uint)GID_1 * height + (ga_uint)LID_1; "
                    "y < ny; y += (ga_uint)GDIM_1 * height) {\n");
  add_locals(t, s);
  add_row(t, s);
  const char *declare = "ga_int ok = 1; (void)ok;\n";
  if (s->uniform) {
    ga__strbuf_addf(t, "    %s place = 0;\n    %s", position_type(s), declare);
    add_row_place(t, s, "x == 0");
  }
  ga__strbuf_addf(t,
                  "    for (ga_int k = 0; k < %u; k++) {\n"
                  "      const ga_uint xk = x + (ga_uint)k * (ga_uint)LDIM_0;\n"
                  "      live[k] = xk < nx;\n"
                  "      if (!live[k]) continue;\n",
                  s->per);
  if (!s->uniform) {
    ga__strbuf_addf(t, "      %s place = 0;\n      %s", position_type(s), declare);
    add_place(t, s, "xk");
  }
  add_positions(t, s);
  ga__strbuf_add(t, "    }\n");
  add_finish(t, s);
  ga__strbuf_add(t, "  }\n");
}

/* Items below each other, for short rows. */
static void add_tall_items(ga_strbuf *t, const ga_index_spec *s) {
  ga__strbuf_add(t, "  const ga_uint xk = x;\n"
                    "  if (x >= nx) return;\n"
                    "  for (ga_uint y0 = (ga_uint)GID_1 * height + (ga_uint)LID_1; "
                    "y0 < ny; y0 += (ga_uint)GDIM_1 * height) {\n");
  add_locals(t, s);
  ga__strbuf_addf(t,
                  "    for (ga_int k = 0; k < %u; k++) {\n"
                  "    const ga_uint y = y0 + (ga_uint)k * (ga_uint)LDIM_1;\n"
                  "    live[k] = y < ny;\n"
                  "    if (!live[k]) continue;\n",
                  s->per);
  add_row(t, s);
  ga__strbuf_addf(t, "    %s place = 0;\n    ga_int ok = 1; (void)ok;\n",
                  position_type(s));
  if (s->uniform)
    add_row_place(t, s, "x == 0");
  else
    add_place(t, s, "xk");
  add_positions(t, s);
  ga__strbuf_add(t, "    }\n");
  add_finish(t, s);
  ga__strbuf_add(t, "  }\n");
}

/* ---- processors ---- */

/* The item at xk of the row; its index is looked up unless the row has one for all. */
static void add_item(ga_strbuf *t, const ga_index_spec *s) {
  ga_index_spec one = *s;
  one.per = 1;
  ga__strbuf_add(t, "    const ga_int k = 0;\n");
  add_locals(t, &one);
  ga__strbuf_add(t, "      live[k] = 1;\n");
  if (!s->uniform) {
    ga__strbuf_addf(t, "    %s place = 0;\n    ga_int ok = 1; (void)ok;\n",
                    position_type(s));
    add_place(t, s, "xk");
  }
  add_positions(t, s);
  add_finish(t, &one);
}

/* Signed positions and one loop: compilers make vectors of no other. */
static void add_piece(ga_strbuf *t, const ga_index_spec *s) {
  ga__strbuf_add(t, "    for (ga_int u = from; u < to; u += (ga_int)LDIM_0) {\n"
                    "    const ga_int xk = u + (ga_int)LID_0;\n"
                    "    if (xk < to) {\n");
  add_item(t, s);
  ga__strbuf_add(t, "    }\n    }\n");
}

/* A group walks a run of pieces of rows, its items side by side. Where rows lie one
 * after the other the strides are constants, else compilers gather. */
static void add_pieces(ga_strbuf *t, const ga_index_spec *s) {
  const unsigned int x = s->nd - 1;
  ga__strbuf_add(t, "  const ga_size n = (ga_size)ny * height;\n"
                    "  const ga_size run = (n + GDIM_0 - 1) / GDIM_0;\n"
                    "  const ga_size end = (GID_0 + 1) * run < n ? (GID_0 + 1) * run "
                    ": n;\n"
                    "  for (ga_size piece = GID_0 * run; piece < end; piece++) {\n"
                    "    const ga_uint y = (ga_uint)(piece / height);\n"
                    "    const ga_int from = (ga_int)(piece % height * width);\n"
                    "    const ga_int to = nx - (ga_uint)from < width ? (ga_int)nx : "
                    "from + (ga_int)width;\n");
  add_row(t, s);
  if (s->uniform) {
    ga__strbuf_addf(t, "    %s place = 0;\n    ga_int ok = 1; (void)ok;\n",
                    position_type(s));
    add_row_place(t, s, "from == 0 && LID_0 == 0");
  }
  if (s->uniform && has_source(s)) {
    ga__strbuf_addf(t,
                    "    if (dst_s%u == 1 && src_s%u == 1) {\n"
                    "    const %s dst_s%u = 1, src_s%u = 1;\n",
                    x, x, position_type(s), x, x);
    add_piece(t, s);
    ga__strbuf_add(t, "    continue;\n    }\n");
  }
  add_piece(t, s);
  ga__strbuf_add(t, "  }\n");
}

/* Short rows: each item walks rows of its own. */
static void add_whole_rows(ga_strbuf *t, const ga_index_spec *s) {
  ga__strbuf_add(t, "  const ga_size n = ((ga_size)ny + LDIM_0 - 1) / LDIM_0;\n"
                    "  const ga_size run = (n + GDIM_0 - 1) / GDIM_0;\n"
                    "  const ga_size end = (GID_0 + 1) * run < n ? (GID_0 + 1) * run "
                    ": n;\n"
                    "  for (ga_size step = GID_0 * run; step < end; step++) {\n"
                    "    const ga_uint y = (ga_uint)(step * LDIM_0 + LID_0);\n"
                    "    if (y < ny) {\n");
  add_row(t, s);
  if (s->uniform) {
    ga__strbuf_addf(t, "    %s place = 0;\n    ga_int ok = 1; (void)ok;\n",
                    position_type(s));
    add_row_place(t, s, "1");
  }
  ga__strbuf_add(t, "    for (ga_int xk = 0; xk < (ga_int)nx; xk++) {\n");
  add_item(t, s);
  ga__strbuf_add(t, "    }\n    }\n  }\n");
}

int ga__index_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_index_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_add(&text, "(");
  add_arguments(&text, s);
  ga__strbuf_add(&text, ") {\n");
  add_starts(&text, s);
  if (s->per > 0)
    ga__strbuf_add(&text,
                   "  const ga_uint x = (ga_uint)GID_0 * width + (ga_uint)LID_0;\n");
  if (s->per == 0 && s->tall)
    add_whole_rows(&text, s);
  else if (s->per == 0)
    add_pieces(&text, s);
  else if (s->tall)
    add_tall_items(&text, s);
  else
    add_flat_items(&text, s);
  ga__strbuf_add(&text, "}\n");
  return ga__text_finish(out, "index", NULL, &text);
}
