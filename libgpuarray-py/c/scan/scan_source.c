/* Source generator of scan kernels: the macros for the files in kernels/.
 *
 * Deterministic: the order of combination depends on shape and geometry only. */
#include "c/scan/scan_source.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/scan/kernels/cpu_columns.inc"
#include "c/scan/kernels/cpu_rows.inc"
#include "c/scan/kernels/packs.inc"
#include "c/scan/kernels/short.inc"
#include "c/scan/kernels/tiles.inc"

/* ---- macros ---- */

unsigned int ga__scan_block(enum ga_scan_kind kind) {
  return kind == GA_SCAN_COLUMNS || kind == GA_SCAN_PACKS ? 512 : 256;
}

/* Vector length: 16 bytes of accumulators per item. */
static unsigned int pack_length(const ga_scan_spec *spec) {
  const size_t size = gpuarray_get_elsize(spec->acc);
  return size <= 4 ? 4 : size == 8 ? 2 : 1;
}

/* Vectors per item of a tile: as many as registers hold, with a total of each. */
static unsigned int pack_rounds(const ga_scan_spec *spec) {
  return gpuarray_get_elsize(spec->acc) == 4 ? 20 : 16;
}

size_t ga__scan_alignment(const ga_scan_spec *spec, int typecode) {
  const size_t size = pack_length(spec) * gpuarray_get_elsize(typecode);
  return size < 16 ? size : 16;
}

/* Odd for rows, against bank conflicts where an item reads its adjacent elements. */
unsigned int ga__scan_items(const ga_scan_spec *spec, enum ga_scan_kind kind) {
  const size_t size = gpuarray_get_elsize(spec->acc);
  if (kind == GA_SCAN_PACKS)
    return pack_rounds(spec) * pack_length(spec);
  if (kind != GA_SCAN_COLUMNS)
    return size <= 4 ? 19 : size == 8 ? 11 : 5;
  return size <= 4 ? 48 : size == 8 ? 24 : 12;
}

unsigned int ga__scan_room(const ga_scan_spec *spec) {
  return 32768 / (unsigned int)gpuarray_get_elsize(spec->acc);
}

static void add_types(ga_strbuf *sb, const ga_scan_spec *spec, enum ga_scan_kind kind) {
  ga__strbuf_addf(sb,
                  "#define SC_INT %s\n#define SC_ACC %s\n#define SC_IN %s\n"
                  "#define SC_OUT %s\n#define SC_LOOKS %d\n#define SC_ROWS %d\n"
                  "#define SC_BLOCK %u\n#define SC_ITEMS %u\n#define SC_STRIP %d\n"
                  "#define SC_LANES %u\n",
                  spec->is_wide ? "ga_ssize" : "ga_int", ga__dtype_ctype(spec->acc),
                  ga__dtype_ctype(spec->input.typecode), ga__dtype_ctype(spec->out),
                  spec->looks_back, kind != GA_SCAN_COLUMNS, ga__scan_block(kind),
                  ga__scan_items(spec, kind), GA_SCAN_STRIP, spec->lanes);
  const size_t size = gpuarray_get_elsize(spec->acc);
  const bool is_whole =
      kind == GA_SCAN_WHOLE || (kind == GA_SCAN_ROWS && spec->looks_back);
  ga__strbuf_addf(sb, "#define SC_WHOLE %d\n", is_whole);
  ga__strbuf_addf(sb,
                  "#define SC_WARPS %d\n#define SC_PART %s\n#define SC_WORDS %zu\n"
                  "#define SC_EACH %d\n#define SC_KERNEL %s\n"
                  "#define SC_IDENTITY (%s(%s))\n",
                  spec->has_warps, spec->looks_back ? "ga_ulong" : "SC_ACC",
                  size < 4 ? 1 : size / 4, GA_SCAN_RADIX / 32,
                  spec->is_cpu              ? "KERNEL"
                  : kind == GA_SCAN_PACKS   ? "KERNEL_SIZED(SC_BLOCK, 1)"
                  : kind == GA_SCAN_COLUMNS ? "KERNEL_OF(SC_BLOCK, 1)"
                  : is_whole                ? "KERNEL_SIZED(SC_BLOCK, 4)"
                                            : "KERNEL_OF(SC_BLOCK, 4)",
                  ga__dtype_kind(spec->acc) == 'c' ? "" : "(SC_ACC)", spec->identity);
  ga__strbuf_addf(sb,
                  "#define SC_ROOM %u\n#define SC_PACK %u\n#define SC_ROUNDS %u\n"
                  "#define SC_ALIGN_IN %zu\n#define SC_ALIGN_OUT %zu\n",
                  ga__scan_room(spec), pack_length(spec), pack_rounds(spec),
                  ga__scan_alignment(spec, spec->input.typecode),
                  ga__scan_alignment(spec, spec->out));
}

/* SC_MAP, SC_COMBINE, SC_KEEP: map, combination, conversion to the output. */
static void add_functions(ga_strbuf *sb, const ga_scan_spec *spec) {
  const gpuelemwise_arg *in = &spec->input;
  ga__strbuf_addf(sb, "GA_INLINE SC_ACC SC_MAP(%s %s) {\n  return ",
                  ga__dtype_ctype(ga__dtype_work(in->typecode)), in->name);
  const bool is_complex = ga__dtype_kind(spec->acc) == 'c';
  ga__strbuf_addf(sb,
                  is_complex             ? "%s"
                  : spec->acc == GA_BOOL ? "(%s) != 0"
                                         : "(SC_ACC)(%s)",
                  spec->map);
  ga__strbuf_add(sb, ";\n}\nGA_INLINE SC_ACC SC_COMBINE(SC_ACC a, SC_ACC b) {\n"
                     "  return ");
  ga__strbuf_addf(sb,
                  is_complex             ? "%s"
                  : spec->acc == GA_BOOL ? "(%s) != 0"
                                         : "(SC_ACC)(%s)",
                  spec->combine);
  ga__strbuf_add(sb, ";\n}\nGA_INLINE SC_OUT SC_KEEP(SC_ACC a) {\n  return ");
  ga_strbuf converted = {0};
  ga__dtype_convert(&converted, "a", spec->acc, spec->out);
  if (ga__strbuf_status(&converted) == GA_NO_ERROR)
    ga__strbuf_fill(sb, ga__dtype_store(spec->out), converted.text);
  else
    sb->failed = true;
  ga__strbuf_clear(&converted);
  ga__strbuf_add(sb, ";\n}\n#define SC_READ(e) SC_MAP(");
  ga__strbuf_fill(sb, ga__dtype_load(in->typecode), "e");
  ga__strbuf_add(sb, ")\n#define SC_LOAD(p) SC_READ(*(GLOBAL_MEM const SC_IN *)(p))\n"
                     "#define SC_STORE(p, v) *(GLOBAL_MEM SC_OUT *)(p) = "
                     "SC_KEEP(v)\n");
}

static void add_axes(ga_strbuf *sb, unsigned int nk) {
  ga__strbuf_add(sb, "#define SC_AXES ");
  for (unsigned int k = 0; k < nk; k++)
    ga__strbuf_addf(sb, ", SC_INT d%u, ga_ssize xk%u, ga_ssize ok%u", k, k, k);
  ga__strbuf_add(sb, "\n#define SC_OUTER_OFFSETS ");
  for (unsigned int k = nk; k-- > 0;)
    ga__strbuf_addf(sb,
                    "{ const SC_INT q = rest / d%u, r = rest - q * d%u; "
                    "rest = q; xp += (ga_ssize)r * xk%u; op += (ga_ssize)r * ok%u; } ",
                    k, k, k, k);
  ga__strbuf_add(sb, "\n");
}

int ga__scan_source(ga_source *out, const ga_scan_spec *spec, enum ga_scan_kind kind,
                    unsigned int nk) {
  static const char *const stems[] = {"scan_rows", "scan_columns", "scan_short",
                                      "scan_packs", "scan_rows"};
  ga_strbuf text = {0};
  add_types(&text, spec, kind);
  add_functions(&text, spec);
  add_axes(&text, nk);
  ga__strbuf_add(&text, kind == GA_SCAN_SHORT   ? short_text
                        : kind == GA_SCAN_PACKS ? packs_text
                        : !spec->is_cpu         ? tiles_text
                        : kind == GA_SCAN_ROWS  ? cpu_rows_text
                                                : cpu_columns_text);
  return ga__text_finish_named(
      out, stems[kind], spec->preamble,
      "#define SC_NAME %\n#define SC_MAP %_map\n#define SC_COMBINE %_combine\n"
      "#define SC_KEEP %_keep\n#define SC_PUT %_put\n#define SC_GET %_get\n"
      "#define SC_UP %_up\n#define SC_FROM %_from\n#define SC_PACK_IN %_in\n"
      "#define SC_PACK_OUT %_out\n",
      &text);
}
