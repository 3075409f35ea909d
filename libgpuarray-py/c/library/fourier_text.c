/* The kernel text of a pass of a Fourier transform. */
#include "c/library/fourier.h"
#include "c/program/kernel_text.h"

/* A work item makes one element of a pass of Stockham's algorithm, a sum of `radix`
 * terms: element p of the pass is of the transforms of radix * done elements. Arrays
 * are (outer, elements, inner); `given` and `made` of the elements are there. The first
 * pass (done == 1) reads a signal of n <= length elements, the others one of length. */
static const char pass_text[] =
    "ga_ulong total_, ga_ulong length_, ga_ulong inner_, ga_ulong given_,\n"
    "    ga_ulong made_, ga_ulong n_, ga_ulong radix_, ga_ulong done_, ga_uint flags,\n"
    "    %s scale) {\n"
    "%s"
    "  const X total = (X)total_, length = (X)length_, inner = (X)inner_;\n"
    "  const X given = (X)given_, made = (X)made_, n = (X)n_, radix = (X)radix_;\n"
    "  const X done = (X)done_, m = length / radix, step = m / done;\n"
    "  for (X at = (X)(GID_0 * LDIM_0 + LID_0); at < total;\n"
    "       at += (X)(GDIM_0 * LDIM_0)) {\n"
    "    const X t = at / inner, i = at - t * inner, o = t / made, p = t - o * made;\n"
    "    const X pair = p / done, k = p - pair * done, j = pair / radix * done + k;\n"
    "    const X turn = k * step + pair %% radix * m;\n"
    "    X e = 0;\n"
    "    T x = 0, y = 0;\n"
    "    for (X r = 0; r < radix; r++) {\n"
    "      const X s = j + r * m;\n"
    "      const ga_int is_far = (flags & 8) && s > n - s;\n"
    "      const X from = is_far ? n - s : s;\n"
    "      if (s < n && from < given) {\n"
    "        const X place = (o * given + from) * inner + i;\n"
    "        T a = flags & 4 ? in[place] : in[2 * place];\n"
    "        T b = flags & 4 ? (T)0 : in[2 * place + 1];\n"
    "        if (flags & 8) b = from == 0 || from == n - from ? (T)0 : is_far ? -b : "
    "b;\n"
    "        if (flags & 256) { const T c = a; a = b; b = c; }\n"
    "        if (flags & 64) {\n"
    "          const T c = a;\n"
    "          a = c * pre[2 * s] - b * pre[2 * s + 1];\n"
    "          b = c * pre[2 * s + 1] + b * pre[2 * s];\n"
    "        }\n"
    "        x += a * w[2 * e] - b * w[2 * e + 1];\n"
    "        y += a * w[2 * e + 1] + b * w[2 * e];\n"
    "      }\n"
    "      e += turn;\n"
    "      if (e >= length) e -= length;\n"
    "    }\n"
    "    if (flags & 512) { const T c = x; x = y; y = c; }\n"
    "    if (flags & 128) {\n"
    "      const T c = x;\n"
    "      x = c * post[2 * p] - y * post[2 * p + 1];\n"
    "      y = c * post[2 * p + 1] + y * post[2 * p];\n"
    "    }\n"
    "    if (flags & 1024) { const T c = x; x = y; y = c; }\n"
    "    if (flags & 16) {\n"
    "      out[at] = x * scale;\n"
    "    } else {\n"
    "      out[2 * at] = x * scale;\n"
    "      out[2 * at + 1] = y * scale;\n"
    "    }\n"
    "  }\n"
    "}\n";

int ga__fourier_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  static const char *const tables[] = {"w", "pre", "post"};
  const ga_fourier_spec *s = spec;
  const char *type = gpuarray_get_type(s->typecode)->cluda_name;
  ga_strbuf text = {0}, starts = {0}, words = {0};
  (void)ctx;
  ga__strbuf_add(&text, "(");
  ga__text_array(&text, &starts, false, type, "out");
  ga__text_array(&text, &starts, true, type, "in");
  for (unsigned int i = 0; i < sizeof tables / sizeof *tables; i++)
    ga__text_array(&text, &starts, true, type, tables[i]);
  ga__strbuf_addf(&words, "  typedef %s X;\n  typedef %s T;\n%s",
                  s->wide ? "ga_ulong" : "ga_uint", type,
                  starts.text ? starts.text : "");
  ga__strbuf_addf(&text, pass_text, type, words.text ? words.text : "");
  ga__strbuf_clear(&starts);
  ga__strbuf_clear(&words);
  return ga__text_finish(out, "fourier", NULL, &text);
}
