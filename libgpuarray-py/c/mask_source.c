/* The kernel texts that count and list the elements that are not zero. */
#include "c/mask_source.h"

#include "c/dtype.h"

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

/* ---- count and list ---- */

static void add_arguments(ga_strbuf *t, const ga_mask_spec *s) {
  const char *type = gpuarray_get_type(s->typecode)->cluda_name;
  const bool lists = s->kind == GA_MASK_LIST;
  ga__strbuf_addf(t,
                  "(GLOBAL_MEM %sga_ulong *count, ga_size count_off, GLOBAL_MEM const "
                  "%s *x, ga_size x_off, %sga_ulong n",
                  lists ? "const " : "", type,
                  lists ? "GLOBAL_MEM ga_long *out, ga_size out_off, " : "");
  if (lists)
    ga__strbuf_add(t, ", ga_ulong apart");
  for (unsigned int axis = 1; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", ga_uint d%u", axis);
  for (unsigned int axis = 0; axis < s->nd; axis++)
    ga__strbuf_addf(t, ", %s s%u", s->wide ? "ga_long" : "ga_int", axis);
  for (unsigned int axis = 1; axis < s->out; axis++)
    ga__strbuf_addf(t, ", ga_ulong l%u", axis);
  ga__strbuf_addf(
      t,
      ") {\n"
      "  LOCAL_MEM ga_uint lane[%u];\n"
      "  count = (GLOBAL_MEM %sga_ulong *)((GLOBAL_MEM %schar *)count + "
      "count_off);\n"
      "  x = (GLOBAL_MEM const %s *)((GLOBAL_MEM const char *)x + x_off);\n",
      s->threads, lists ? "const " : "", lists ? "const " : "", type);
  if (lists)
    ga__strbuf_add(t, "  out = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)out + "
                      "out_off);\n");
}

/* `p`: the position in `x` of element `i`. */
static void add_position(ga_strbuf *t, const ga_mask_spec *s) {
  const char *type = s->wide ? "ga_long" : "ga_int";
  if (s->nd == 1) {
    ga__strbuf_addf(t, "      const %s p = (%s)i * s0;\n", type, type);
    return;
  }
  const char *counter = s->wide ? "ga_ulong" : "ga_uint";
  ga__strbuf_addf(t, "      %s rest = (%s)i;\n      %s p = 0;\n", counter, counter,
                  type);
  for (unsigned int axis = s->nd - 1; axis > 0; axis--)
    ga__strbuf_addf(t, "      p += (%s)(rest %% d%u) * s%u;\n      rest /= d%u;\n",
                    type, axis, axis, axis);
  ga__strbuf_addf(t, "      p += (%s)rest * s0;\n", type);
}

/* Writes the coordinates of element `i` at place `sum` of the lists. */
static void add_coordinates(ga_strbuf *t, const ga_mask_spec *s) {
  ga__strbuf_add(t, "      ga_ulong at = i;\n");
  for (unsigned int axis = s->out - 1u; axis > 0; axis--)
    ga__strbuf_addf(t,
                    "      out[%u * apart + place] = (ga_long)(at %% l%u);\n"
                    "      at /= l%u;\n",
                    axis, axis, axis);
  ga__strbuf_add(t, "      out[place] = (ga_long)at;\n      place++;\n");
}

static int add_elements(ga_strbuf *t, const ga_mask_spec *s) {
  ga_strbuf load = {0}, test = {0};
  const char *pattern = ga__dtype_load(s->typecode);
  for (const char *c = pattern; *c != 0; c++)
    if (*c == '%')
      ga__strbuf_add(&load, "x[p]");
    else
      ga__strbuf_addn(&load, c, 1);
  ga__strbuf_add(&test, "");
  ga__dtype_convert(&test, "v", s->typecode, GA_BOOL);
  int status = ga__strbuf_status(&load);
  if (status == GA_NO_ERROR)
    status = ga__strbuf_status(&test);
  if (status == GA_NO_ERROR) {
    ga__strbuf_addf(t,
                    "  const ga_uint lid = (ga_uint)LID_0;\n"
                    "  const ga_ulong first = (GID_0 * %u + lid) * %u;\n"
                    "  ga_uint sum = 0, found = 0;\n"
                    "  {\n"
                    "    for (ga_uint k = 0; k < %u; k++) {\n"
                    "      const ga_ulong i = first + k;\n"
                    "      if (i >= n) break;\n",
                    s->threads, GA_MASK_PER, GA_MASK_PER);
    add_position(t, s);
    ga__strbuf_addf(t,
                    "      const %s v = %s;\n"
                    "      if (%s) { found |= 1u << k; sum++; }\n"
                    "    }\n",
                    gpuarray_get_type(ga__dtype_work(s->typecode))->cluda_name,
                    load.text, test.text);
  }
  ga__strbuf_clear(&load);
  ga__strbuf_clear(&test);
  return status;
}

static int add_count_or_list(ga_strbuf *t, const ga_mask_spec *s) {
  add_arguments(t, s);
  GA_TRY(add_elements(t, s));
  add_block_scan(t, s, "ga_uint");
  if (s->kind == GA_MASK_COUNT) {
    ga__strbuf_add(t, "    (void)found;\n"
                      "    if (lid == 0) count[GID_0] = total;\n  }\n}\n");
    return GA_NO_ERROR;
  }
  ga__strbuf_addf(t,
                  "    (void)total;\n"
                  "    ga_ulong place = count[GID_0] + sum;\n"
                  "    for (ga_uint k = 0; k < %u; k++) if (found >> k & 1) {\n"
                  "      const ga_ulong i = first + k;\n",
                  GA_MASK_PER);
  add_coordinates(t, s);
  ga__strbuf_add(t, "    }\n  }\n}\n");
  return GA_NO_ERROR;
}

int ga__mask_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_mask_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  int status = GA_NO_ERROR;
  if (s->kind == GA_MASK_SCAN)
    add_scan(&text, s);
  else
    status = add_count_or_list(&text, s);
  if (status == GA_NO_ERROR)
    status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, "mask", text.text);
    ga__strbuf_addf(&out->body, "KERNEL void %s", out->name);
    ga__strbuf_addn(&out->body, text.text, text.length);
    status = ga__strbuf_status(&out->body);
  }
  ga__strbuf_clear(&text);
  return status;
}
