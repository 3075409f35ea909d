/* Source generator of indexing kernels. */
#include "c/index/index_source.h"

#include <stdio.h>

#include "c/base/dtype.h"
#include "c/index/kernels/index_flat.inc"
#include "c/index/kernels/index_pieces.inc"
#include "c/index/kernels/index_rows.inc"
#include "c/index/kernels/index_tall.inc"
#include "c/program/kernel_text.h"

static bool has_source(const ga_index_spec *s) {
  return s->op != GA_INDEX_OWN && s->op != GA_INDEX_SLOT;
}

static const char *word_type(unsigned int bytes) {
  return bytes == 16 ? "ga_uint4" : ga__dtype_word(bytes);
}

static void element_types(const ga_index_spec *s, const char **dst, const char **src) {
  *src = s->op == GA_INDEX_ADD ? ga__dtype_ctype(s->typecode)
         : s->op == GA_INDEX_OWN || s->op == GA_INDEX_CLAIM ? "ga_uint"
                                                            : word_type(s->word);
  *dst = s->op == GA_INDEX_CLAIM ? "ga_ubyte" : *src;
}

/* ---- parameters ---- */

static void add_stride_list(ga_strbuf *t, const ga_index_spec *s, const char *name) {
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", %s %s_s%u", ga__text_position(s->wide), name, axis);
}

static void add_parameters(ga_strbuf *t, ga_strbuf *starts, const ga_index_spec *s) {
  const char *dst, *src;
  char name[16];
  element_types(s, &dst, &src);
  ga__text_array(t, starts, false, dst, "dst");
  if (has_source(s))
    ga__text_array(t, starts, true, src, "src");
  if (s->keep)
    ga__text_array(t, starts, true, "ga_ubyte", "keep");
  for (unsigned int i = 0; i < s->n; i++) {
    snprintf(name, sizeof name, "i%u", i);
    ga__text_array(t, starts, true, ga__dtype_ctype(s->types[i]), name);
  }
  for (unsigned int i = 0; i < s->n; i++)
    ga__strbuf_addf(t, "ga_long i%u_length, %s i%u_step, ", i,
                    ga__text_position(s->wide), i);
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

/* ---- offsets ---- */

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
  ga__strbuf_addf(t, " %s %s_y = 0;", ga__text_position(s->wide), name);
}

static void add_term(ga_strbuf *t, const ga_index_spec *s, const char *name,
                     unsigned int axis) {
  ga__strbuf_addf(t, " %s_y += c * %s_s%u;", name, name, axis);
  (void)s;
}

/* <name>_y: offset of row `y` in each array. */
static void add_row(ga_strbuf *t, const ga_index_spec *s) {
  for_arrays(t, s, add_zero, 0);
  if (s->nd < 2)
    return;
  ga__strbuf_addf(t, " ga_uint rest = y; %s c;", ga__text_position(s->wide));
  for (unsigned int axis = s->nd - 2; axis > 0; axis--) {
    ga__strbuf_addf(t, " c = (%s)(rest %% d%u); rest /= d%u;",
                    ga__text_position(s->wide), axis, axis);
    for_arrays(t, s, add_term, axis);
  }
  ga__strbuf_addf(t, " c = (%s)rest;", ga__text_position(s->wide));
  for_arrays(t, s, add_term, 0);
}

static void add_place(ga_strbuf *t, const ga_index_spec *s) {
  for (unsigned int i = 0; i < s->n; i++) {
    ga__strbuf_addf(t, " IX_INDEX(i%u[i%u_y", i, i);
    if (!s->uniform)
      ga__strbuf_addf(t, " + (IX_INT)xk * i%u_s%u", i, s->nd - 1);
    ga__strbuf_addf(t, "], i%u_length, i%u_step, %s, ", i, i,
                    s->types[i] == GA_ULONG ? "g < 0" : "0");
    if (ga__dtype_kind(s->types[i]) != 'u')
      ga__strbuf_addf(t, "IX_FROM_END(i%u_length)", i);
    ga__strbuf_add(t, ")");
  }
}

/* ---- macros ---- */

static const char *atomic_letter(int typecode) {
  return typecode == GA_INT     ? "ig"
         : typecode == GA_UINT  ? "Ig"
         : typecode == GA_LONG  ? "lg"
         : typecode == GA_ULONG ? "Lg"
         : typecode == GA_FLOAT ? "fg"
                                : "dg";
}

static void add_flags(ga_strbuf *t, const ga_index_spec *s) {
  ga__strbuf_addf(
      t,
      "#define IX_HAS_SOURCE %d\n#define IX_HAS_KEEP %d\n#define IX_UNIFORM %d\n"
      "#define IX_WRAPS %d\n#define IX_CLIPS %d\n#define IX_RAISES %d\n"
      "#define IX_CHECKS %d\n#define IX_TAKES %d\n#define IX_ADDS %d\n"
      "#define IX_OWNS %d\n#define IX_CLAIMS %d\n#define IX_SLOTS %d\n",
      has_source(s), s->keep, s->uniform, s->mode == GA_INDEX_WRAP,
      s->mode == GA_INDEX_CLIP, s->mode == GA_INDEX_RAISE,
      s->mode == GA_INDEX_RAISE || s->mode == GA_INDEX_QUIET, s->op == GA_INDEX_TAKE,
      s->op == GA_INDEX_ADD, s->op == GA_INDEX_OWN, s->op == GA_INDEX_CLAIM,
      s->op == GA_INDEX_SLOT);
}

static void add_words(ga_strbuf *t, const ga_index_spec *s) {
  const unsigned int x = s->nd - 1;
  const char *dst, *src;
  ga_strbuf starts = {0};
  element_types(s, &dst, &src);
  add_flags(t, s);
  ga__strbuf_addf(t,
                  "#define IX_INT %s\n#define IX_DST %s\n#define IX_SRC %s\n"
                  "#define IX_PER %u\n#define IX_ADD atom_add_%s\n"
                  "#define IX_DST_STEP dst_s%u\n#define IX_SRC_STEP src_s%u\n"
                  "#define IX_KEEP_STEP keep_s%u\n#define IX_PARAMETERS ",
                  ga__text_position(s->wide), dst, src, s->per > 0 ? s->per : 1u,
                  atomic_letter(s->typecode), x, x, x);
  add_parameters(t, &starts, s);
  ga__strbuf_add(t, "\n#define IX_STARTS ");
  ga__strbuf_move(t, &starts);
  ga__strbuf_add(t, "\n#define IX_ROW");
  add_row(t, s);
  ga__strbuf_add(t, "\n#define IX_PLACE");
  add_place(t, s);
  ga__strbuf_add(t, "\n");
}

int ga__index_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_index_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_words(&text, s);
  ga__strbuf_add(&text, s->per > 0 ? (s->tall ? index_tall_text : index_flat_text)
                        : s->tall  ? index_rows_text
                                   : index_pieces_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "index", NULL, "#define IX_NAME %\n", &text);
}
