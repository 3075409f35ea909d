/* The kernel texts of a scan: along rows or down columns, for GPUs or CPUs.
 *
 * They are written once, over words (SC_...) that the generator defines. The order in
 * which elements are combined depends on shape and geometry only, never on time.
 *
 * On a GPU a group takes tiles: an item combines the neighbouring elements it owns,
 * then the items' totals are scanned in local memory. Where groups may wait for each
 * other, the axis is read once: a tile publishes its total, and the prefix of a tile is
 * the prefix of its group of tiles, combined with the totals of the tiles before it in
 * that group. The last tile of a group publishes the prefix of the next one. So neither
 * what is combined nor its order depends on who came first (a plain decoupled look-back
 * would stop at whatever prefix it finds). Elsewhere chunks are summed first. */
#include "c/scan/scan_source.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/scan/scan_text.h"

/* ---- the words ---- */

static const char *type_name(int typecode) {
  return gpuarray_get_type(typecode)->cluda_name;
}

unsigned int ga__scan_block(enum ga_scan_kind kind) {
  return kind == GA_SCAN_COLUMNS || kind == GA_SCAN_PACKS ? 512 : 256;
}

/* Neighbours of which an item's accumulators take 16 bytes. */
static unsigned int pack_length(const ga_scan_spec *spec) {
  const size_t size = gpuarray_get_elsize(spec->acc);
  return size <= 4 ? 4 : size == 8 ? 2 : 1;
}

/* Packs of an item in a tile: as many as its registers hold, with a total of each. */
static unsigned int pack_rounds(const ga_scan_spec *spec) {
  return gpuarray_get_elsize(spec->acc) == 4 ? 20 : 16;
}

size_t ga__scan_alignment(const ga_scan_spec *spec, int typecode) {
  const size_t size = pack_length(spec) * gpuarray_get_elsize(typecode);
  return size < 16 ? size : 16;
}

/* Odd for rows, so that items reading their neighbouring elements meet in no bank of
 * local memory. */
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

/* `form` with '%' replaced by `operand`. */
static void add_form(ga_strbuf *sb, const char *form, const char *operand) {
  const char *at = strchr(form, '%');
  ga__strbuf_addn(sb, form, (size_t)(at - form));
  ga__strbuf_add(sb, operand);
  ga__strbuf_add(sb, at + 1);
}

static void add_types(ga_strbuf *sb, const ga_scan_spec *spec, enum ga_scan_kind kind) {
  ga__strbuf_addf(sb,
                  "#define SC_INT %s\n#define SC_ACC %s\n#define SC_IN %s\n"
                  "#define SC_OUT %s\n#define SC_LOOKS %d\n#define SC_ROWS %d\n"
                  "#define SC_BLOCK %u\n#define SC_ITEMS %u\n#define SC_STRIP %d\n"
                  "#define SC_LANES %u\n",
                  spec->is_wide ? "ga_ssize" : "ga_int", type_name(spec->acc),
                  type_name(spec->input.typecode), type_name(spec->out),
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
}

/* The map of an element, the combination of two accumulators, and what is stored. */
static void add_functions(ga_strbuf *sb, const ga_scan_spec *spec) {
  const gpuelemwise_arg *in = &spec->input;
  ga__strbuf_addf(sb, "GA_INLINE SC_ACC SC_MAP(%s %s) {\n  return ",
                  type_name(ga__dtype_work(in->typecode)), in->name);
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
    add_form(sb, ga__dtype_store(spec->out), converted.text);
  else
    sb->failed = true;
  ga__strbuf_clear(&converted);
  ga__strbuf_add(sb, ";\n}\n#define SC_READ(e) SC_MAP(");
  add_form(sb, ga__dtype_load(in->typecode), "e");
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

static void add_packs(ga_strbuf *sb, const ga_scan_spec *spec) {
  ga__strbuf_addf(sb,
                  "#define SC_PACK %u\n#define SC_ROUNDS %u\n"
                  "#define SC_ALIGN_IN %zu\n#define SC_ALIGN_OUT %zu\n",
                  pack_length(spec), pack_rounds(spec),
                  ga__scan_alignment(spec, spec->input.typecode),
                  ga__scan_alignment(spec, spec->out));
  ga__strbuf_add(sb, ga__scan_packs_begin);
  ga__strbuf_add(sb, ga__scan_shuffles);
  ga__strbuf_add(sb, ga__scan_publishing);
  ga__strbuf_add(sb, ga__scan_head);
  ga__strbuf_add(sb, ga__scan_packs_place);
  ga__strbuf_add(sb, ga__scan_line);
  ga__strbuf_add(sb, ga__scan_packs_load);
  ga__strbuf_add(sb, ga__scan_scan_words);
  ga__strbuf_add(sb, ga__scan_packs_scan);
  ga__strbuf_add(sb, ga__scan_look_begin);
  ga__strbuf_add(sb, ga__scan_look_rows);
  ga__strbuf_add(sb, ga__scan_look_end);
  ga__strbuf_add(sb, ga__scan_packs_store);
  ga__strbuf_add(sb, "#undef SC_SCAN\n#undef SC_SCAN_WARP\n");
}

static void add_tiles(ga_strbuf *sb, const ga_scan_spec *spec, bool rows) {
  if (spec->has_warps)
    ga__strbuf_add(sb, ga__scan_shuffles);
  if (spec->looks_back)
    ga__strbuf_add(sb, ga__scan_publishing);
  ga__strbuf_add(sb, rows ? ga__scan_tile_words_rows : ga__scan_tile_words_columns);
  ga__strbuf_add(sb, ga__scan_head);
  ga__strbuf_add(sb, ga__scan_tile_begin);
  ga__strbuf_add(sb, ga__scan_line);
  ga__strbuf_add(sb, ga__scan_tile_loop);
  ga__strbuf_add(sb, rows ? ga__scan_load_rows : ga__scan_load_columns);
  ga__strbuf_add(sb, ga__scan_scan_words);
  ga__strbuf_add(sb, rows && spec->has_warps ? ga__scan_scan_items_warps
                                             : ga__scan_scan_items);
  if (spec->looks_back) {
    ga__strbuf_add(sb, ga__scan_look_begin);
    ga__strbuf_add(sb, rows ? ga__scan_look_rows : ga__scan_look_columns);
    ga__strbuf_add(sb, ga__scan_look_end);
  }
  ga__strbuf_add(sb, ga__scan_tile_results);
  ga__strbuf_add(sb, rows ? ga__scan_store_rows : ga__scan_store_columns);
  ga__strbuf_add(sb, ga__scan_tile_end);
}

static void add_short(ga_strbuf *sb, const ga_scan_spec *spec) {
  ga__strbuf_addf(sb, "#define SC_ROOM %u\n", ga__scan_room(spec));
  ga__strbuf_add(sb, ga__scan_short_begin);
  ga__strbuf_add(sb, ga__scan_head);
  ga__strbuf_add(sb, ga__scan_short_body);
}

/* The loop twice: over elements side by side, which vector units like, and any. */
static void add_cpu_loops(ga_strbuf *sb, bool rows) {
  const char *loop = rows ? ga__scan_cpu_rows_loop : ga__scan_cpu_columns_loop;
  const char *x = rows ? "xp" : "xt", *o = rows ? "op" : "ot";
  ga__strbuf_addf(sb,
                  "#define SC_WIDTH SC_OWN\n"
                  "#define SC_AT_X(i) SC_LOAD((GLOBAL_MEM const SC_IN *)%s + (i))\n"
                  "#define SC_AT_O(i, v) SC_STORE((GLOBAL_MEM SC_OUT *)%s + (i), v)\n"
                  "  if ((mode & 8)%s) {\n",
                  x, o, rows ? "" : " && count == SC_OWN");
  ga__strbuf_add(sb, loop);
  ga__strbuf_addf(sb,
                  "#undef SC_WIDTH\n#undef SC_AT_X\n#undef SC_AT_O\n"
                  "#define SC_WIDTH count\n"
                  "#define SC_AT_X(i) SC_LOAD(%s + (ga_ssize)(i) * %s)\n"
                  "#define SC_AT_O(i, v) SC_STORE(%s + (ga_ssize)(i) * %s, v)\n"
                  "  } else {\n",
                  x, rows ? "xs" : "xc", o, rows ? "os" : "oc");
  ga__strbuf_add(sb, loop);
  ga__strbuf_add(sb, "  }\n#undef SC_WIDTH\n#undef SC_AT_X\n#undef SC_AT_O\n");
}

static void add_cpu(ga_strbuf *sb, bool rows) {
  ga__strbuf_add(sb, ga__scan_head);
  ga__strbuf_add(sb, rows ? ga__scan_cpu_rows_begin : ga__scan_cpu_columns_begin);
  ga__strbuf_add(sb, ga__scan_line);
  ga__strbuf_add(sb, rows ? ga__scan_cpu_rows_first : ga__scan_cpu_columns_first);
  add_cpu_loops(sb, rows);
  ga__strbuf_add(sb, rows ? ga__scan_cpu_rows_end : ga__scan_cpu_columns_end);
}

/* out->body becomes the preamble and `text`, whose words for names are then defined.
 * Equal names must mean equal kernels: the hash covers the preamble too. */
static int finish(ga_source *out, const char *stem, const char *preamble,
                  const ga_strbuf *text) {
  ga_strbuf body = {0};
  GA_TRY(ga__strbuf_status(text));
  if (preamble != NULL && preamble[0] != '\0')
    ga__strbuf_addf(&body, "%s\n", preamble);
  const size_t own = body.length;
  ga__strbuf_add(&body, text->text);
  if (ga__strbuf_status(&body) == GA_NO_ERROR) {
    ga__kernel_name(out->name, stem, body.text);
    body.length = own;
    ga__strbuf_addf(&body,
                    "#define SC_NAME %s\n#define SC_MAP %s_map\n"
                    "#define SC_COMBINE %s_combine\n#define SC_KEEP %s_keep\n"
                    "#define SC_PUT %s_put\n#define SC_GET %s_get\n"
                    "#define SC_UP %s_up\n#define SC_FROM %s_from\n"
                    "#define SC_PACK_IN %s_in\n#define SC_PACK_OUT %s_out\n",
                    out->name, out->name, out->name, out->name, out->name, out->name,
                    out->name, out->name, out->name, out->name);
    ga__strbuf_add(&body, text->text);
  }
  if (ga__strbuf_status(&body) != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return GA_MEMORY_ERROR;
  }
  out->body = body;
  return GA_NO_ERROR;
}

int ga__scan_source(ga_source *out, const ga_scan_spec *spec, enum ga_scan_kind kind,
                    unsigned int nk) {
  const bool rows = kind != GA_SCAN_COLUMNS;
  ga_strbuf text = {0};
  add_types(&text, spec, kind);
  add_functions(&text, spec);
  add_axes(&text, nk);
  if (kind == GA_SCAN_SHORT)
    add_short(&text, spec);
  else if (kind == GA_SCAN_PACKS)
    add_packs(&text, spec);
  else if (spec->is_cpu)
    add_cpu(&text, rows);
  else
    add_tiles(&text, spec, rows);
  ga__strbuf_add(&text, ga__scan_tail);
  static const char *const stems[] = {"scan_rows", "scan_columns", "scan_short",
                                      "scan_packs", "scan_rows"};
  int status = finish(out, stems[kind], spec->preamble, &text);
  ga__strbuf_clear(&text);
  return status;
}
