/* Built-in BLAS kernels: tile shapes and source generator. */
#include "c/blas/blas_kernels.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/blas/kernels/dot_parts.inc"
#include "c/blas/kernels/dot_sum.inc"
#include "c/blas/kernels/gemm_cpu.inc"
#include "c/blas/kernels/gemm_deep.inc"
#include "c/blas/kernels/gemm_gpu.inc"
#include "c/blas/kernels/gemm_narrow.inc"
#include "c/blas/kernels/gemm_outer.inc"
#include "c/blas/kernels/gemm_parts_sum.inc"
#include "c/blas/kernels/gemv_columns_cpu.inc"
#include "c/blas/kernels/gemv_columns_gpu.inc"
#include "c/blas/kernels/gemv_columns_packs.inc"
#include "c/blas/kernels/gemv_rows_gpu.inc"
#include "c/blas/kernels/gemv_rows_lanes.inc"
#include "c/blas/kernels/gemv_rows_loop.inc"
#include "c/elemwise/elemwise_text.h"
#include "c/program/kernel_text.h"

/* ---- types ---- */

static const int types[GA_BLAS_TYPES] = {GA_HALF,   GA_BFLOAT16, GA_FLOAT,
                                         GA_DOUBLE, GA_CFLOAT,   GA_CDOUBLE};

int ga__blas_type_index(int typecode) {
  for (int i = 0; i < GA_BLAS_TYPES; i++)
    if (types[i] == typecode)
      return i;
  return -1;
}

static bool is_complex(int typecode) {
  return typecode == GA_CFLOAT || typecode == GA_CDOUBLE;
}

/* Vector width: elements of the work type in 16 bytes. */
static unsigned int pack_of(int typecode) {
  return 16 / (unsigned int)gpuarray_get_elsize(ga__dtype_work(typecode));
}

/* ---- tile shapes ---- */

/* GPU tiles. The PACKED ones reach 50 TFLOP/s in float on an H100, 96 % of cuBLAS: 16
 * by 8 results per item read a quarter less local memory than 8 by 8. */
static ga_blas_shape tile_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                                int typecode) {
  const bool is_small = kind == GA_GEMM_SMALL;
  const bool has_room = ctx->info.local_memory >= 48 << 10;
  const unsigned int pack = pack_of(typecode);
  ga_blas_shape s = {.rows = 64,
                     .columns = 64,
                     .depth = pack == 4 && is_small    ? 16
                              : pack == 1 && !has_room ? 4
                                                       : 8,
                     .tall = 4,
                     .broad = 4,
                     .pack = pack};
  if (!is_small && pack == 4)
    s = (ga_blas_shape){.rows = 128,
                        .columns = 128,
                        .depth = has_room ? 16 : 8,
                        .tall = 8,
                        .broad = 8,
                        .pack = pack};
  else if (!is_small && typecode == GA_DOUBLE)
    s.columns = 128, s.tall = s.broad = 8;
  if (kind >= GA_GEMM_PACKED_KK && kind <= GA_GEMM_PACKED_XX && pack == 4)
    s.depth = 8, s.tall = 16;
  if (kind >= GA_GEMM_MEDIUM_KK && kind <= GA_GEMM_MEDIUM_XX)
    s.columns = 64, s.depth = 16;
  if (kind >= GA_GEMM_FINE_KK && kind <= GA_GEMM_FINE_XX)
    s.rows = s.columns = 32, s.depth = 16, s.tall = s.broad = 4;
  if (kind >= GA_GEMM_DEEP_KK && kind <= GA_GEMM_LAST) {
    const bool is_wide = kind >= GA_GEMM_WIDE_KK, is_broad = kind >= GA_GEMM_BROAD_KK;
    s.rows = is_broad ? 32 : 16, s.columns = is_wide ? 32 : 16;
    s.depth = is_wide ? 16 : 32;
    s.tall = is_broad ? 8 : 4, s.broad = is_wide ? 4 : 2;
    s.teams = is_broad ? 16 : 8;
    s.local = 2 * s.teams * s.depth * (s.rows + s.columns + 2 * pack);
  }
  s.items = s.rows / s.tall * (s.columns / s.broad) * (s.teams > 0 ? s.teams : 1);
  return s;
}

/* Local memory of NARROW in bytes, which every GPU has; double may take more. */
#define NARROW_LOCAL 32768u

/* GPU kernels for skinny products. */
static ga_blas_shape side_shape(enum ga_blas_kind kind, int typecode) {
  const unsigned int place = (unsigned int)((int)kind - GA_NARROW);
  const unsigned int side = place % GA_BLAS_SIDES + 1;
  const unsigned int size = (unsigned int)gpuarray_get_elsize(ga__dtype_work(typecode));
  ga_blas_shape s = {.columns = side, .items = GA_SIDE_ITEMS, .pack = size > 4 ? 2 : 4};
  if ((int)kind >= GA_OUTER) {
    s.rows = 64, s.broad = 2;
    return s;
  }
  const unsigned int line = side * (s.items + 1 + s.items / 16);
  s.broad = ((side + s.pack - 1) / s.pack | 1) * s.pack;
  s.tall = s.fold = 1u << place / GA_BLAS_SIDES;
  s.depth = 512;
  while (s.depth > s.items && s.depth * s.broad * size > NARROW_LOCAL)
    s.depth /= 2;
  while (s.fold > 1 && s.fold * line * size > NARROW_LOCAL)
    s.fold /= 2;
  s.local = s.depth * s.broad;
  if (s.local < s.fold * line)
    s.local = s.fold * line;
  return s;
}

static ga_blas_shape gpu_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                               int typecode) {
  return (int)kind >= GA_NARROW ? side_shape(kind, typecode)
                                : tile_shape(ctx, kind, typecode);
}

#define CPU_TILE 48 /* rows of c; CPU kernels use at most 32 KiB of local memory */

static ga_blas_shape cpu_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                               int typecode) {
  const unsigned int lanes = ctx->info.warp > 0 ? ctx->info.warp : 1;
  const unsigned int size = (unsigned int)gpuarray_get_elsize(ga__dtype_work(typecode));
  const unsigned int loops = 64 / size; /* elements of a 64-byte vector */
  if (kind <= GA_GEMM_LAST)
    return (ga_blas_shape){.lanes = lanes,
                           .width = lanes == 1 ? loops / 2
                                    : size > 8 ? 1
                                               : 2,
                           .rows = CPU_TILE,
                           .columns = lanes * (lanes == 1 ? loops / 2
                                               : size > 8 ? 1
                                                          : 2),
                           .depth = 256 / size,
                           .items = lanes};
  if (kind == GA_GEMV_COLUMNS || kind == GA_GEMV_COLUMNS_PACKS)
    return (ga_blas_shape){.lanes = lanes, .width = lanes > 1 ? 4 : 2 * loops};
  if (kind == GA_DOT_PARTS || kind == GA_DOT_SUM)
    return (ga_blas_shape){.lanes = lanes, .width = lanes > 1 ? 4 : loops};
  return (ga_blas_shape){
      .lanes = lanes, .width = lanes > 1 ? 1 : loops, .rows = lanes > 1 ? lanes : 4};
}

ga_blas_shape ga__blas_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                             int typecode) {
  return ctx->info.is_cpu ? cpu_shape(ctx, kind, typecode)
                          : gpu_shape(ctx, kind, typecode);
}

/* ---- sources ---- */

/* Access modes of a and b in the PACKED kinds, see gemm_tiles.cl.h; 0 for the
 * others. */
static void modes_of(int modes[2], enum ga_blas_kind kind) {
  const bool is_packed = kind >= GA_GEMM_PACKED_KK && kind <= GA_GEMM_LAST;
  const int way = ((int)kind - GA_GEMM_PACKED_KK) % 4;
  modes[0] = !is_packed ? 0 : way < 2 ? 1 : 2;
  modes[1] = !is_packed ? 0 : way % 2 == 0 ? 1 : 2;
}

static void add_types(ga_strbuf *out, int typecode) {
  const char *load = ga__dtype_load(typecode), *store = ga__dtype_store(typecode);
  const bool is_narrow = ga__dtype_work(typecode) != typecode;
  const bool is_double = typecode == GA_DOUBLE || typecode == GA_CDOUBLE;
  const unsigned int pack = pack_of(typecode);
  ga__strbuf_addf(out,
                  "#define BL_S %s\n#define BL_T %s\n#define BL_R %s\n"
                  "#define BL_PACK %s\n#define BL_GW %u\n#define BL_IS_COMPLEX %d\n"
                  "#define BL_IS_NARROW %d\n#define BL_WIDEN %.*s\n"
                  "#define BL_NARROW %.*s\n",
                  ga__dtype_ctype(typecode), ga__dtype_work_ctype(typecode),
                  is_double ? "ga_double" : "ga_float",
                  pack == 1   ? "ga_cdouble"
                  : is_double ? "ga_double2"
                              : "ga_float4",
                  pack, is_complex(typecode), is_narrow,
                  is_narrow ? (int)strcspn(load, "(") : 0, load,
                  is_narrow ? (int)strcspn(store, "(") : 0, store);
}

/* GPU dot products keep 4 accumulators per item. */
static void add_sizes(ga_strbuf *out, const gpucontext *ctx, enum ga_blas_kind kind,
                      ga_blas_shape s) {
  const bool cpu = ctx->info.is_cpu, gemm = kind <= GA_GEMM_LAST;
  ga__strbuf_addf(out,
                  "#define BL_IS_CPU %d\n#define BL_LANES %u\n#define BL_WIDTH %u\n"
                  "#define BL_ROWS %d\n#define BL_DEPTH %u\n#define BL_TILE %d\n"
                  "#define BL_WIDE %d\n",
                  cpu, s.lanes, cpu ? s.width : 4, gemm ? 8 : 4, cpu ? s.depth : 8,
                  CPU_TILE, kind == GA_GEMV_ROWS_PACKS);
}

static void add_tiles(ga_strbuf *out, enum ga_blas_kind kind, ga_blas_shape s) {
  int modes[2];
  modes_of(modes, kind);
  ga__strbuf_addf(out,
                  "#define BL_BM %u\n#define BL_BN %u\n#define BL_BK %u\n"
                  "#define BL_TM %u\n#define BL_TN %u\n#define BL_BAND 8\n"
                  "#define BL_A_MODE %d\n#define BL_B_MODE %d\n#define BL_INDEX %s\n",
                  s.rows, s.columns, s.depth, s.tall, s.broad, modes[0], modes[1],
                  modes[0] == 0 ? "ga_ssize" : "ga_int");
  if (s.teams > 0)
    ga__strbuf_addf(out, "#define BL_TEAMS %u\n", s.teams);
}

static void add_side(ga_strbuf *out, ga_blas_shape s) {
  ga__strbuf_addf(out,
                  "#define BL_SIDE %u\n#define BL_ITEMS %u\n#define BL_MANY %u\n"
                  "#define BL_MOST_ROWS %u\n#define BL_COLUMNS %u\n"
                  "#define BL_PIECE %u\n#define BL_FOLD %u\n#define BL_LOCAL %u\n"
                  "#define BL_LDB BL_COLUMNS\n#define BL_LINE (BL_ITEMS + 1)\n"
                  "#define BL_SOME 10\n#define BL_AT_ONCE 4\n",
                  s.columns, s.items, s.tall, s.rows, s.broad, s.depth, s.fold,
                  s.local);
}

/* Expands a kernel template with an epilogue: `spec`'s expression of each sum, or, if
 * NULL, storing to c. */
static void add_with_epilogue(ga_strbuf *out, const char *text,
                              const ga_elem_spec *spec) {
  ga_text_part parts[] = {{.name = "BL_STORE"}};
  ga_strbuf *store = &parts[0].text;
  if (spec == NULL) {
    ga__strbuf_add(out, "#define BL_OUTPUTS , GLOBAL_MEM BL_S *c, ga_size c_off, "
                        "ga_ssize ci, ga_ssize cj, BL_R alpha, BL_R beta, "
                        "ga_int reads_c\n"
                        "#define BL_START c = BL_AT(BL_S, c, c_off);\n");
    ga__strbuf_add(store, "BL_FINISH(c[ga_i_x0 * ci + ga_i_x1 * cj], BL_SUM)");
  } else {
    ga__elem_add_words(out, spec, 2, "ga_ssize", 0);
    ga__elem_add_sum(out, "EL_PLACE", 2);
    ga__strbuf_add(out, "#define BL_OUTPUTS EL_PARAMETERS\n"
                        "#define BL_START EL_STARTS\n"
                        "#define BL_ELEMENT(i) ga_i_##i[EL_PLACE(i)]\n");
    ga__strbuf_addf(store,
                    "const BL_T ga_i_s%u = BL_SUM; { EL_VALUES(BL_ELEMENT)\n%s;\n"
                    "EL_RESULTS(BL_ELEMENT) }",
                    *spec->made, spec->expr);
  }
  ga__text_add_parts(out, text, parts, 1);
}

static const char *gemv_text(const gpucontext *ctx, enum ga_blas_kind kind,
                             unsigned int lanes) {
  const bool by_rows = kind == GA_GEMV_ROWS || kind == GA_GEMV_ROWS_PACKS;
  if (ctx->info.is_cpu)
    return !by_rows    ? gemv_columns_cpu_text
           : lanes > 1 ? gemv_rows_lanes_text
                       : gemv_rows_loop_text;
  if (by_rows)
    return gemv_rows_gpu_text;
  return kind == GA_GEMV_COLUMNS ? gemv_columns_gpu_text : gemv_columns_packs_text;
}

/* `spec`: the epilogue's expression, or NULL. */
static int make_source(ga_source *out, const char *stem, const gpucontext *ctx,
                       enum ga_blas_kind kind, int typecode, const ga_elem_spec *spec) {
  const ga_blas_shape s = ga__blas_shape(ctx, kind, typecode);
  ga_strbuf text = {0};
  add_types(&text, typecode);
  add_sizes(&text, ctx, kind, s);
  if (kind <= GA_GEMM_LAST) {
    add_tiles(&text, kind, s);
    if (s.teams > 0)
      add_with_epilogue(&text, gemm_deep_text, spec);
    else
      ga__strbuf_add(&text, ctx->info.is_cpu ? gemm_cpu_text : gemm_gpu_text);
  } else if (kind <= GA_GEMV_COLUMNS_PACKS) {
    ga__strbuf_add(&text, gemv_text(ctx, kind, s.lanes));
  } else if (kind == GA_DOT_PARTS || kind == GA_DOT_SUM) {
    ga__strbuf_add(&text, kind == GA_DOT_PARTS ? dot_parts_text : dot_sum_text);
  } else if (kind == GA_PARTS_SUM) {
    add_with_epilogue(&text, gemm_parts_sum_text, spec);
  } else {
    add_side(&text, s);
    if ((int)kind >= GA_OUTER)
      add_with_epilogue(&text, gemm_outer_text, spec);
    else
      ga__strbuf_add(&text, gemm_narrow_text);
  }
  return ga__text_finish_named(out, stem, spec != NULL ? spec->preamble : NULL,
                               "#define BL_NAME %\n", &text);
}

int ga__blas_source(ga_source *out, const gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode) {
  static const char *const stems[] = {"gemm",           "gemm_large",
                                      "gemm_kk",        "gemm_kx",
                                      "gemm_xk",        "gemm_xx",
                                      "gemm_medium_kk", "gemm_medium_kx",
                                      "gemm_medium_xk", "gemm_medium_xx",
                                      "gemm_fine_kk",   "gemm_fine_kx",
                                      "gemm_fine_xk",   "gemm_fine_xx",
                                      "gemm_deep_kk",   "gemm_deep_kx",
                                      "gemm_deep_xk",   "gemm_deep_xx",
                                      "gemm_wide_kk",   "gemm_wide_kx",
                                      "gemm_wide_xk",   "gemm_wide_xx",
                                      "gemm_broad_kk",  "gemm_broad_kx",
                                      "gemm_broad_xk",  "gemm_broad_xx",
                                      "gemv_rows",      "gemv_rows_packs",
                                      "gemv_columns",   "gemv_columns_packs",
                                      "dot_parts",      "dot_sum",
                                      "gemm_parts_sum", "gemm_narrow",
                                      "gemm_outer"};
  const int stem = (int)kind >= GA_OUTER    ? GA_NARROW + 1
                   : (int)kind >= GA_NARROW ? GA_NARROW
                                            : (int)kind;
  static_assert(GA_BLAS_KIND_COUNT == GA_BLAS_KINDS, "the context keeps each kind");
  out->is_closed = true;
  return make_source(out, stems[stem], ctx, kind, typecode, NULL);
}

int ga__blas_mapped_source(ga_source *out, const gpucontext *ctx,
                           enum ga_blas_kind kind, int typecode,
                           const ga_elem_spec *spec) {
  snprintf(out->title, sizeof out->title, "%s", spec->expr);
  return make_source(out, "gemm_mapped", ctx, kind, typecode, spec);
}

int ga__blas_kernel(gpukernel **out, gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode) {
  _Atomic(gpukernel *) *cached =
      &ctx->blas.kernels[kind][ga__blas_type_index(typecode)];
  *out = atomic_load(cached);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_source source = {0};
  GA_TRY(ga__blas_source(&source, ctx, kind, typecode));
  int status = ga__kernel_get(out, ctx, &source);
  ga__strbuf_clear(&source.body);
  if (status == GA_NO_ERROR)
    atomic_store(cached, *out);
  return status;
}
