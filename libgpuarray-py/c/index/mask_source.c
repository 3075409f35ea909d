/* The kernel texts that count, list and pick the elements that are not zero. */
#include "c/index/mask_source.h"

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"

/* The value `sum` of each item becomes the sum of those before it, and `total` that of
 * all. */
static void add_block_scan(ga_strbuf *t, const ga_mask_spec *s, const char *type) {
  ga__strbuf_addf(t,
                  "    lane[lid] = sum;\n"
                  "    local_barrier();\n"
                  "    for (ga_uint d = 1; d < %u; d *= 2) {\n"
                  "      const %s left = lid >= d ? lane[lid - d] : 0;\n"
                  "      local_barrier();\n"
                  "      lane[lid] += left;\n"
                  "      local_barrier();\n"
                  "    }\n"
                  "    const %s total = lane[%u];\n"
                  "    sum = lane[lid] - sum;\n",
                  s->threads, type, type, s->threads - 1);
}

/* ---- scan ---- */

static void add_scan(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_addf(t,
                  "(GLOBAL_MEM ga_ulong *count, ga_size count_off, ga_ulong n) {\n"
                  "  LOCAL_MEM ga_ulong lane[%u];\n"
                  "  const ga_uint lid = (ga_uint)LID_0;\n"
                  "  count = (GLOBAL_MEM ga_ulong *)((GLOBAL_MEM char *)count + "
                  "count_off);\n"
                  "  ga_ulong before = 0;\n"
                  "  for (ga_ulong start = 0; start < n; start += %u) {\n"
                  "    const ga_ulong first = start + lid * %u;\n"
                  "    ga_ulong own[%u], sum = 0;\n"
                  "    for (ga_uint k = 0; k < %u; k++) {\n"
                  "      own[k] = first + k < n ? count[first + k] : 0;\n"
                  "      sum += own[k];\n"
                  "    }\n",
                  s->threads, s->threads * GA_MASK_PER, GA_MASK_PER, GA_MASK_PER,
                  GA_MASK_PER);
  add_block_scan(t, s, "ga_ulong");
  ga__strbuf_addf(t,
                  "    sum += before;\n"
                  "    for (ga_uint k = 0; k < %u; k++) {\n"
                  "      if (first + k < n) count[first + k] = sum;\n"
                  "      sum += own[k];\n"
                  "    }\n"
                  "    before += total;\n"
                  "    local_barrier();\n"
                  "  }\n"
                  "  if (lid == 0) count[n] = before;\n"
                  "}\n",
                  GA_MASK_PER);
}

/* ---- arguments ---- */

static const char *position_type(const ga_mask_spec *s) {
  return s->wide ? "ga_long" : "ga_int";
}

static const char *word_type(unsigned int bytes) {
  return bytes == 1   ? "ga_ubyte"
         : bytes == 2 ? "ga_ushort"
         : bytes == 4 ? "ga_uint"
         : bytes == 8 ? "ga_ulong"
                      : "ga_ulong2";
}

static void add_strides(ga_strbuf *t, const ga_mask_spec *s, const char *name) {
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", %s %s%u", position_type(s), name, axis);
}

static int add_arguments(ga_strbuf *t, const ga_mask_spec *s) {
  ga_strbuf starts = {0};
  ga__strbuf_add(t, "(");
  ga__text_array(t, &starts, s->kind != GA_MASK_COUNT, "ga_ulong", "count");
  ga__text_array(t, &starts, true, gpuarray_get_type(s->typecode)->cluda_name, "x");
  if (s->kind == GA_MASK_LIST)
    ga__text_array(t, &starts, false, "ga_long", "out");
  if (s->kind == GA_MASK_PICK) {
    ga__text_array(t, &starts, false, word_type(s->word), "out");
    ga__text_array(t, &starts, true, word_type(s->word), "from");
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
  int status = ga__strbuf_status(&starts);
  if (status == GA_NO_ERROR)
    ga__strbuf_addf(t, ") {\n%s", starts.text);
  ga__strbuf_clear(&starts);
  return status;
}

/* ---- elements ---- */

/* `p`: where element `i` lies, by the strides of this name. */
static void add_position(ga_strbuf *t, const ga_mask_spec *s, const char *strides) {
  const char *type = position_type(s);
  if (s->nd == 1) {
    ga__strbuf_addf(t, "      const %s p = (%s)i * %s0;\n", type, type, strides);
    return;
  }
  const char *counter = s->wide ? "ga_ulong" : "ga_uint";
  ga__strbuf_addf(t, "      %s rest = (%s)i;\n      %s p = 0;\n", counter, counter,
                  type);
  for (unsigned int axis = s->nd - 1; axis > 0; axis--)
    ga__strbuf_addf(t, "      p += (%s)(rest %% d%u) * %s%u;\n      rest /= d%u;\n",
                    type, axis, strides, axis, axis);
  ga__strbuf_addf(t, "      p += (%s)rest * %s0;\n", type, strides);
}

/* `is_set`: whether element `i` is not zero. */
static int add_test(ga_strbuf *t, const ga_mask_spec *s) {
  ga_strbuf test = {0};
  add_position(t, s, "s");
  ga__strbuf_addf(t, "      const %s v = ",
                  gpuarray_get_type(ga__dtype_work(s->typecode))->cluda_name);
  for (const char *c = ga__dtype_load(s->typecode); *c != 0; c++)
    if (*c == '%')
      ga__strbuf_add(t, "x[p]");
    else
      ga__strbuf_addn(t, c, 1);
  ga__dtype_convert(&test, "v", s->typecode, GA_BOOL);
  int status = ga__strbuf_status(&test);
  if (status == GA_NO_ERROR)
    ga__strbuf_addf(t, ";\n      const ga_uint is_set = (%s) ? 1 : 0;\n", test.text);
  ga__strbuf_clear(&test);
  return status;
}

/* The words `w` of 16 bools, of which the first is element `own`. */
static void add_packed(ga_strbuf *t) {
  ga__strbuf_add(t, "    if (own + 16 <= n) {\n"
                    "      const ga_uint4 all = *(GLOBAL_MEM const ga_uint4 *)(x + "
                    "own);\n"
                    "      w[0] = all.x; w[1] = all.y; w[2] = all.z; w[3] = all.w;\n"
                    "    } else {\n"
                    "      for (ga_uint k = 0; k < 16; k++)\n"
                    "        if (own + k < n)\n"
                    "          w[k / 4] |= (ga_uint)x[own + k] << k % 4 * 8;\n"
                    "    }\n");
}

/* What other elements are, beside each other: first into local memory, so that items
 * next to each other read what lies so. */
static int add_flags(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_addf(t,
                  "    for (ga_uint k = 0; k < %u; k++) {\n"
                  "      const ga_ulong i = first + k * %u + lid;\n"
                  "      ga_ubyte flag = 0;\n"
                  "      if (i < n) {\n",
                  GA_MASK_PER, s->threads);
  GA_TRY(add_test(t, s));
  ga__strbuf_addf(t,
                  "      flag = (ga_ubyte)is_set;\n"
                  "      }\n"
                  "      ((LOCAL_MEM_ARG ga_ubyte *)flags)[k * %u + lid] = flag;\n"
                  "    }\n"
                  "    local_barrier();\n"
                  "    for (ga_uint k = 0; k < 4; k++) w[k] = flags[lid * 4 + k];\n",
                  s->threads);
  return GA_NO_ERROR;
}

/* ---- count ---- */

/* Bytes of a word that are not 0, as ones. */
static const char ones[] = "(((w[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu | w[k]) >> 7 & "
                           "0x01010101u)";

static int add_count(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_addf(t,
                  "  LOCAL_MEM ga_uint lane[%u];\n"
                  "  const ga_uint lid = (ga_uint)LID_0;\n"
                  "  ga_ulong end = (GID_0 + 1) * block;\n"
                  "  if (end > n) end = n;\n"
                  "  ga_uint sum = 0;\n",
                  s->threads);
  if (s->packed) {
    ga__strbuf_addf(t,
                    "  for (ga_ulong own = GID_0 * block + lid * 16; own < end; "
                    "own += %u) {\n"
                    "    ga_uint w[4] = {0, 0, 0, 0}, bytes = 0;\n",
                    16u * s->threads);
    add_packed(t);
    ga__strbuf_addf(t,
                    "    for (ga_uint k = 0; k < 4; k++) bytes += %s;\n"
                    "    sum += bytes * 0x01010101u >> 24;\n"
                    "  }\n",
                    ones);
  } else {
    ga__strbuf_addf(t, "  for (ga_ulong i = GID_0 * block + lid; i < end; i += %u) {\n",
                    s->threads);
    GA_TRY(add_test(t, s));
    ga__strbuf_add(t, "      sum += is_set;\n  }\n");
  }
  ga__strbuf_addf(t,
                  "  lane[lid] = sum;\n"
                  "  for (ga_uint d = %u; d > 0; d /= 2) {\n"
                  "    local_barrier();\n"
                  "    if (lid < d) lane[lid] += lane[lid + d];\n"
                  "  }\n"
                  "  if (lid == 0) count[GID_0] = lane[0];\n"
                  "}\n",
                  s->threads / 2u);
  return GA_NO_ERROR;
}

/* ---- list and pick ---- */

/* Writes the coordinates of element `i` at `place` of the lists. */
static void add_coordinates(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_add(t, "      ga_ulong at = i;\n");
  for (unsigned int axis = s->out - 1u; axis > 0; axis--)
    ga__strbuf_addf(t,
                    "      out[%u * apart + place] = (ga_long)(at %% l%u);\n"
                    "      at /= l%u;\n",
                    axis, axis, axis);
  ga__strbuf_add(t, "      out[place] = (ga_long)at;\n");
}

/* The elements of a tile that are not 0 are first numbered in local memory; then items
 * next to each other write what lies so. */
static int add_tiles(ga_strbuf *t, const ga_mask_spec *s) {
  const unsigned int tile = GA_MASK_PER * s->threads;
  ga__strbuf_addf(t,
                  "  LOCAL_MEM ga_uint lane[%u];\n"
                  "  LOCAL_MEM ga_ushort list[%u];\n",
                  s->threads, tile);
  if (!s->packed)
    ga__strbuf_addf(t, "  LOCAL_MEM ga_uint flags[%u];\n", tile / 4);
  ga__strbuf_addf(t,
                  "  const ga_uint lid = (ga_uint)LID_0;\n"
                  "  ga_ulong end = (GID_0 + 1) * block, base = count[GID_0];\n"
                  "  if (end > n) end = n;\n"
                  "  for (ga_ulong first = GID_0 * block; first < end; first += %u) {\n"
                  "    ga_uint w[4] = {0, 0, 0, 0}, bytes = 0;\n",
                  tile);
  if (s->packed) {
    ga__strbuf_add(t, "    const ga_ulong own = first + lid * 16;\n");
    add_packed(t);
  } else {
    GA_TRY(add_flags(t, s));
  }
  ga__strbuf_addf(t,
                  "    for (ga_uint k = 0; k < 4; k++) { w[k] = %s; bytes += w[k]; }\n"
                  "    ga_uint sum = bytes * 0x01010101u >> 24;\n",
                  ones);
  add_block_scan(t, s, "ga_uint");
  ga__strbuf_addf(t,
                  "    for (ga_uint k = 0; k < %u; k++)\n"
                  "      if (w[k / 4] >> k %% 4 * 8 & 1) list[sum++] = "
                  "(ga_ushort)(lid * %u + k);\n"
                  "    local_barrier();\n"
                  "    for (ga_uint r = lid; r < total; r += %u) {\n"
                  "      const ga_ulong i = first + list[r], place = base + r;\n",
                  GA_MASK_PER, GA_MASK_PER, s->threads);
  if (s->kind == GA_MASK_LIST) {
    add_coordinates(t, s);
  } else {
    add_position(t, s, "f");
    ga__strbuf_add(t, "      out[place] = from[p];\n");
  }
  ga__strbuf_add(t, "    }\n"
                    "    base += total;\n"
                    "    local_barrier();\n"
                    "  }\n"
                    "}\n");
  return GA_NO_ERROR;
}

static int add_elements(ga_strbuf *t, const ga_mask_spec *s) {
  GA_TRY(add_arguments(t, s));
  return s->kind == GA_MASK_COUNT ? add_count(t, s) : add_tiles(t, s);
}

int ga__mask_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_mask_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  int status = GA_NO_ERROR;
  if (s->kind == GA_MASK_SCAN)
    add_scan(&text, s);
  else
    status = add_elements(&text, s);
  if (status == GA_NO_ERROR)
    return ga__text_finish(out, "mask", NULL, &text);
  ga__strbuf_clear(&text);
  return status;
}
