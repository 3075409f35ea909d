/* Source generator of mask kernels. */
#include "c/index/mask_source.h"

#include "c/base/dtype.h"
#include "c/index/kernels/mask_count.inc"
#include "c/index/kernels/mask_scan.inc"
#include "c/index/kernels/mask_tiles.inc"
#include "c/program/kernel_text.h"

/* ---- parameters ---- */

static void add_strides(ga_strbuf *t, const ga_mask_spec *s, const char *name) {
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", %s %s%u", ga__text_position(s->wide), name, axis);
}

static void add_parameters(ga_strbuf *t, const ga_mask_spec *s) {
  ga_strbuf starts = {0};
  ga__strbuf_add(t, "#define MK_PARAMETERS ");
  ga__text_array(t, &starts, s->kind != GA_MASK_COUNT, "ga_ulong", "count");
  ga__text_array(t, &starts, true, ga__dtype_ctype(s->typecode), "x");
  if (s->kind == GA_MASK_LIST)
    ga__text_array(t, &starts, false, "ga_long", "out");
  if (s->kind == GA_MASK_PICK) {
    ga__text_array(t, &starts, false, ga__dtype_word(s->word), "out");
    ga__text_array(t, &starts, true, ga__dtype_word(s->word), "from");
  }
  ga__strbuf_addf(t, "ga_ulong n, ga_ulong block%s",
                  s->kind == GA_MASK_LIST ? ", ga_ulong apart" : "");
  for (unsigned int axis = 1; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", ga_uint d%u", axis);
  add_strides(t, s, "s");
  if (s->kind == GA_MASK_PICK)
    add_strides(t, s, "f");
  for (unsigned int axis = 1; axis < s->out; axis++)
    ga__strbuf_addf(t, ", ga_ulong l%u", axis);
  ga__strbuf_add(t, "\n#define MK_STARTS ");
  ga__strbuf_move(t, &starts);
  ga__strbuf_add(t, "\n");
}

/* ---- elements ---- */

/* `p`: offset of element `i` by these strides. */
static void add_position(ga_strbuf *t, const ga_mask_spec *s, const char *strides) {
  const char *type = ga__text_position(s->wide);
  if (s->nd == 1) {
    ga__strbuf_addf(t, "const %s p = (%s)i * %s0; ", type, type, strides);
    return;
  }
  const char *counter = s->wide ? "ga_ulong" : "ga_uint";
  ga__strbuf_addf(t, "%s rest = (%s)i; %s p = 0; ", counter, counter, type);
  for (unsigned int axis = s->nd - 1; axis > 0; axis--)
    ga__strbuf_addf(t, "p += (%s)(rest %% d%u) * %s%u; rest /= d%u; ", type, axis,
                    strides, axis, axis);
  ga__strbuf_addf(t, "p += (%s)rest * %s0; ", type, strides);
}

/* `is_set`: whether element `i` is not zero. */
static void add_test(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_add(t, "#define MK_TEST ");
  add_position(t, s, "s");
  ga__strbuf_addf(t, "const %s v = ", ga__dtype_work_ctype(s->typecode));
  ga__strbuf_fill(t, ga__dtype_load(s->typecode), "x[p]");
  ga__strbuf_add(t, "; const ga_uint is_set = (");
  ga__dtype_convert(t, "v", s->typecode, GA_BOOL);
  ga__strbuf_add(t, ") ? 1 : 0;\n");
}

/* Writes the indices of element `i` at `place`. */
static void add_coordinates(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_add(t, "ga_ulong at = i; ");
  for (unsigned int axis = s->out - 1u; axis > 0; axis--)
    ga__strbuf_addf(t, "out[%u * apart + place] = (ga_long)(at %% l%u); at /= l%u; ",
                    axis, axis, axis);
  ga__strbuf_add(t, "out[place] = (ga_long)at;");
}

static void add_elements(ga_strbuf *t, const ga_mask_spec *s) {
  add_parameters(t, s);
  add_test(t, s);
  ga__strbuf_add(t, "#define MK_WRITE ");
  if (s->kind == GA_MASK_LIST) {
    add_coordinates(t, s);
  } else if (s->kind == GA_MASK_PICK) {
    add_position(t, s, "f");
    ga__strbuf_add(t, "out[place] = from[p];");
  }
  ga__strbuf_add(t, "\n");
}

int ga__mask_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_mask_spec *s = spec;
  const unsigned int threads = s->threads, tile = GA_MASK_PER * threads;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text,
                  "#define MK_THREADS %u\n#define MK_LAST %u\n#define MK_HALF %u\n"
                  "#define MK_PER %u\n#define MK_TILE %u\n#define MK_TILE_WORDS %u\n"
                  "#define MK_PACKED %d\n",
                  threads, threads - 1, threads / 2, GA_MASK_PER, tile, tile / 4,
                  s->packed);
  if (s->kind != GA_MASK_SCAN)
    add_elements(&text, s);
  ga__strbuf_add(&text, s->kind == GA_MASK_SCAN    ? mask_scan_text
                        : s->kind == GA_MASK_COUNT ? mask_count_text
                                                   : mask_tiles_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "mask", NULL, "#define MK_NAME %\n", &text);
}
