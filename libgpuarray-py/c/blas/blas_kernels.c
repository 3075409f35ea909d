/* The kernels of our own products: their words, made for a type and a device. */
#include "c/blas/blas_kernels.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/blas/blas_text.h"
#include "c/elemwise/elemwise_text.h"

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

/* Words of real types; the stored value may be narrower than the work. */
static void add_real_words(ga_strbuf *out, int typecode) {
  static const char fields[] = "xyzw";
  const char *load = ga__dtype_load(typecode), *store = ga__dtype_store(typecode);
  const bool is_narrow = ga__dtype_work(typecode) != typecode;
  const int pack = typecode == GA_DOUBLE ? 2 : 4;
  const char *real = typecode == GA_DOUBLE ? "ga_double" : "ga_float";
  const char *name = gpuarray_get_type(typecode)->cluda_name;
  ga__strbuf_addf(out,
                  "#define BL_S %s\n#define BL_T %s\n#define BL_R %s\n"
                  "#define BL_PACK %s%d\n#define BL_GW %d\n",
                  name, real, real, real, pack, pack);
  ga__strbuf_add(out, "#define BL_ZERO(v) v = 0\n"
                      "#define BL_MAKE(v, re, im) v = (re)\n"
                      "#define BL_ADD(s, v) s += v\n"
                      "#define BL_MAD(s, p, q) s += (p) * (q)\n");
  ga__strbuf_addf(out, "#define BL_LOAD(r, v, sign) r = %.*s(v);\n",
                  is_narrow ? (int)strcspn(load, "(") : 0, load);
  ga__strbuf_addf(out, "#define BL_SAVE(to, v) to = %.*s(v)\n",
                  is_narrow ? (int)strcspn(store, "(") : 0, store);
  ga__strbuf_addf(out, "#define BL_TAKE(r, q) { const BL_PACK w_ = "
                       "*(LOCAL_MEM_ARG const BL_PACK *)(q); ");
  for (int i = 0; i < pack; i++)
    ga__strbuf_addf(out, "(r)[%d] = w_.%c; ", i, fields[i]);
  ga__strbuf_add(out, "}\n#define BL_GIVE_AS(type, q, r) { BL_PACK w_; ");
  for (int i = 0; i < pack; i++)
    ga__strbuf_addf(out, "w_.%c = (r)[%d]; ", fields[i], i);
  ga__strbuf_add(out, "*(type *)(q) = w_; }\n");
  if (is_narrow)
    ga__strbuf_add(out,
                   "#define BL_SAVE_PACK(q, r) "
                   "for (int w_ = 0; w_ < BL_GW; w_++) BL_SAVE((q)[w_], (r)[w_]);\n");
  ga__strbuf_addf(out,
                  "#define BL_LOAD_PACK(r, q, sign) { const %s w_ = "
                  "*(GLOBAL_MEM const %s *)(q); ",
                  is_narrow ? "ga_ushort4" : "BL_PACK",
                  is_narrow ? "ga_ushort4" : "BL_PACK");
  if (is_narrow)
    ga__strbuf_add(out, "BL_S h_; ");
  for (int i = 0; i < pack; i++)
    if (is_narrow)
      ga__strbuf_addf(out, "h_.data = w_.%c; BL_LOAD((r)[%d], h_, 1) ", fields[i], i);
    else
      ga__strbuf_addf(out, "(r)[%d] = w_.%c; ", i, fields[i]);
  ga__strbuf_add(out, "}\n");
}

static void add_complex_words(ga_strbuf *out, int typecode) {
  const bool is_wide = typecode == GA_CDOUBLE;
  ga__strbuf_addf(out, "#define BL_S %s\n#define BL_T %s\n#define BL_R %s\n",
                  is_wide ? "ga_cdouble" : "ga_cfloat",
                  is_wide ? "ga_cdouble" : "ga_cfloat",
                  is_wide ? "ga_double" : "ga_float");
  ga__strbuf_add(
      out, "#define BL_ZERO(v) ((v).x = 0, (v).y = 0)\n"
           "#define BL_MAKE(v, re, im) ((v).x = (re), (v).y = (im))\n"
           "#define BL_ADD(s, v) ((s).x += (v).x, (s).y += (v).y)\n"
           "#define BL_MAD(s, p, q) ((s).x += (p).x * (q).x, (s).x -= (p).y * (q).y, "
           "(s).y += (p).x * (q).y, (s).y += (p).y * (q).x)\n"
           "#define BL_LOAD(r, v, sign) { r = (v); (r).y *= sign; }\n"
           "#define BL_SAVE(to, v) to = (v)\n");
  if (is_wide)
    ga__strbuf_add(out,
                   "#define BL_PACK ga_cdouble\n#define BL_GW 1\n"
                   "#define BL_TAKE(r, q) (r)[0] = *(q);\n"
                   "#define BL_GIVE_AS(type, q, r) *(q) = (r)[0];\n"
                   "#define BL_LOAD_PACK(r, q, sign) BL_LOAD((r)[0], *(q), sign)\n");
  else
    ga__strbuf_add(
        out, "#define BL_PACK ga_float4\n#define BL_GW 2\n"
             "#define BL_TAKE(r, q) { const ga_float4 w_ = "
             "*(LOCAL_MEM_ARG const ga_float4 *)(q); (r)[0].x = w_.x; "
             "(r)[0].y = w_.y; (r)[1].x = w_.z; (r)[1].y = w_.w; }\n"
             "#define BL_GIVE_AS(type, q, r) { ga_float4 w_; w_.x = (r)[0].x; "
             "w_.y = (r)[0].y; w_.z = (r)[1].x; w_.w = (r)[1].y; "
             "*(type *)(q) = w_; }\n"
             "#define BL_LOAD_PACK(r, q, sign) { const ga_float4 w_ = "
             "*(GLOBAL_MEM const ga_float4 *)(q); (r)[0].x = w_.x; "
             "(r)[0].y = w_.y * sign; (r)[1].x = w_.z; (r)[1].y = w_.w * sign; }\n");
}

/* ---- shapes ---- */

/* A GPU's tiles. An H100 reaches 50 TFLOP/s in float with the packed ones, 96 % of what
 * cuBLAS does: 16 by 8 results an item read a quarter less of local memory than 8 by 8.
 */
static ga_blas_shape tile_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                                int typecode) {
  const bool is_small = kind == GA_GEMM_SMALL;
  const bool has_room = ctx->info.local_memory >= 48 << 10;
  const unsigned int pack = typecode == GA_CDOUBLE                           ? 1
                            : typecode == GA_DOUBLE || typecode == GA_CFLOAT ? 2
                                                                             : 4;
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
  if (kind >= GA_GEMM_FINE_KK && kind <= GA_GEMM_LAST)
    s.rows = s.columns = 32, s.depth = 16, s.tall = s.broad = 4;
  s.items = s.rows / s.tall * (s.columns / s.broad);
  return s;
}

/* Bytes of local memory that NARROW takes, which every GPU has; double may take more.
 */
#define NARROW_LOCAL 32768u

/* Of a GPU's kernels for a narrow side. */
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

#define CPU_TILE 48 /* rows of c; all of a CPU's local memory is 32 KiB at most */

static ga_blas_shape cpu_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                               int typecode) {
  const unsigned int lanes = ctx->info.warp > 0 ? ctx->info.warp : 1;
  const unsigned int size = (unsigned int)gpuarray_get_elsize(ga__dtype_work(typecode));
  const unsigned int loops = 64 / size; /* a vector of 64 bytes */
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

/* How a packed kernel reads its operands; 0 for the others. */
static void modes_of(int modes[2], enum ga_blas_kind kind) {
  const bool is_packed = kind >= GA_GEMM_PACKED_KK && kind <= GA_GEMM_LAST;
  const int way = ((int)kind - GA_GEMM_PACKED_KK) % 4;
  modes[0] = !is_packed ? 0 : way < 2 ? 1 : 2;
  modes[1] = !is_packed ? 0 : way % 2 == 0 ? 1 : 2;
}

static void add_gemm(ga_strbuf *out, const gpucontext *ctx, enum ga_blas_kind kind,
                     ga_blas_shape s) {
  int modes[2];
  modes_of(modes, kind);
  ga__strbuf_add(out, ga__blas_gemm_head);
  if (ctx->info.is_cpu) {
    ga__strbuf_add(out, ga__blas_gemm_cpu_pack);
    ga__strbuf_add(out, ga__blas_gemm_cpu);
    return;
  }
  ga__strbuf_addf(out,
                  "#define BL_BM %u\n#define BL_BN %u\n#define BL_BK %u\n"
                  "#define BL_TM %u\n#define BL_TN %u\n#define BL_BAND 8\n"
                  "#define BL_A_MODE %d\n#define BL_B_MODE %d\n#define BL_INDEX %s\n",
                  s.rows, s.columns, s.depth, s.tall, s.broad, modes[0], modes[1],
                  modes[0] == 0 ? "ga_ssize" : "ga_int");
  ga__strbuf_add(out, ga__blas_gemm_gpu_words);
  ga__strbuf_add(out, ga__blas_gemm_gpu);
  ga__strbuf_add(out, ga__blas_gemm_gpu_end);
  ga__strbuf_add(out, "#undef BL_BM\n#undef BL_BN\n#undef BL_BK\n#undef BL_TM\n"
                      "#undef BL_TN\n#undef BL_BAND\n#undef BL_A_MODE\n"
                      "#undef BL_B_MODE\n#undef BL_INDEX\n");
}

/* Kernels of which each sum can be for an expression instead of c. */
typedef struct open_text {
  const char *head, *begin, *sum, *end;
} open_text;

static const open_text outer_text = {ga__blas_outer_head, ga__blas_outer_begin,
                                     "acc[v]", ga__blas_outer_end};
static const open_text parts_text = {ga__blas_parts_head, ga__blas_parts_begin,
                                     "sum[0]", ga__blas_parts_end};

/* `spec`: the expression; NULL for c. */
static void add_open(ga_strbuf *out, const open_text *text, const ga_elem_spec *spec) {
  static const char place[] = "ga_i_@[ga_i_x0 * ga_i_t@_0 + ga_i_x1 * ga_i_t@_1]";
  ga__strbuf_add(out, text->head);
  if (spec == NULL) {
    ga__strbuf_add(out, ga__blas_alone);
    ga__strbuf_add(out, text->begin);
    ga__strbuf_addf(out, "        BL_FINISH(c[ga_i_x0 * ci + ga_i_x1 * cj], %s)\n",
                    text->sum);
  } else {
    ga__elem_add_parameters(out, spec, 2, "ga_ssize", "");
    ga__elem_add_pointers(out, spec, 0);
    ga__strbuf_add(out, text->begin);
    ga__strbuf_addf(out, "        const BL_T ga_i_s%u = %s;\n        {\n", *spec->made,
                    text->sum);
    ga__elem_add_body(out, spec, 0, "          ", place, place);
    ga__strbuf_add(out, "        }\n");
  }
  ga__strbuf_add(out, text->end);
}

static void add_side(ga_strbuf *out, enum ga_blas_kind kind, ga_blas_shape s,
                     const ga_elem_spec *spec) {
  ga__strbuf_addf(out,
                  "#define BL_SIDE %u\n#define BL_ITEMS %u\n#define BL_MANY %u\n"
                  "#define BL_MOST_ROWS %u\n#define BL_COLUMNS %u\n"
                  "#define BL_PIECE %u\n#define BL_FOLD %u\n#define BL_LOCAL %u\n"
                  "#define BL_LDB BL_COLUMNS\n#define BL_LINE (BL_ITEMS + 1)\n"
                  "#define BL_SOME 10\n#define BL_AT_ONCE 4\n",
                  s.columns, s.items, s.tall, s.rows, s.broad, s.depth, s.fold,
                  s.local);
  if ((int)kind >= GA_OUTER) {
    add_open(out, &outer_text, spec);
  } else {
    ga__strbuf_add(out, ga__blas_narrow);
    ga__strbuf_add(out, ga__blas_narrow_fold);
  }
  ga__strbuf_add(out, "#undef BL_SIDE\n#undef BL_ITEMS\n#undef BL_MANY\n"
                      "#undef BL_MOST_ROWS\n#undef BL_COLUMNS\n#undef BL_PIECE\n"
                      "#undef BL_FOLD\n#undef BL_LOCAL\n#undef BL_LDB\n"
                      "#undef BL_LINE\n#undef BL_SOME\n#undef BL_AT_ONCE\n");
}

static const char *gemv_text(const gpucontext *ctx, enum ga_blas_kind kind,
                             unsigned int lanes) {
  const bool by_rows = kind == GA_GEMV_ROWS || kind == GA_GEMV_ROWS_PACKS;
  if (ctx->info.is_cpu)
    return !by_rows    ? ga__blas_columns_cpu
           : lanes > 1 ? ga__blas_rows_lanes
                       : ga__blas_rows_loops;
  if (by_rows)
    return ga__blas_rows_gpu;
  return kind == GA_GEMV_COLUMNS ? ga__blas_columns_gpu : ga__blas_columns_wide;
}

/* Words that have a value for this device; a GPU's dot product keeps 4 sums an item. */
static void add_sizes(ga_strbuf *out, const gpucontext *ctx, enum ga_blas_kind kind,
                      int typecode, ga_blas_shape s) {
  const bool cpu = ctx->info.is_cpu, gemm = kind <= GA_GEMM_LAST;
  ga__strbuf_addf(out,
                  "#define BL_LANES %u\n#define BL_WIDTH %u\n#define BL_ROWS %d\n"
                  "#define BL_DEPTH %u\n#define BL_TILE %d\n#define BL_STRIP %d\n"
                  "#define BL_WIDE %d\n",
                  s.lanes, cpu ? s.width : 4, gemm ? 8 : 4, cpu ? s.depth : 8, CPU_TILE,
                  ga__dtype_work(typecode) != typecode, kind == GA_GEMV_ROWS_PACKS);
  /* One item alone need not wait, and some compilers fail on barriers in branches; the
   * same ones make vectors of a loop once that around it is unrolled. */
  ga__strbuf_addf(out,
                  "#define BL_WAIT %s\n#define BL_UNROLL %s\n"
                  "#define BL_ROLL _Pragma(\"unroll 1\")\n",
                  cpu && s.lanes > 1 ? "local_barrier()" : "",
                  cpu && s.lanes > 1 ? "" : "_Pragma(\"unroll\")");
}

static const char tail[] =
    "#undef BL_NAME\n#undef BL_S\n#undef BL_T\n#undef BL_R\n#undef BL_PACK\n"
    "#undef BL_GW\n#undef BL_ZERO\n#undef BL_MAKE\n#undef BL_ADD\n#undef BL_MAD\n"
    "#undef BL_LOAD\n#undef BL_SAVE\n#undef BL_TAKE\n#undef BL_GIVE\n"
    "#undef BL_GIVE_AS\n#undef BL_SAVE_PACK\n"
    "#undef BL_LOAD_PACK\n#undef BL_FINISH\n#undef BL_FACTORS\n#undef BL_AT\n"
    "#undef BL_MEET\n#undef BL_LANES\n#undef BL_WIDTH\n#undef BL_ROWS\n"
    "#undef BL_DEPTH\n#undef BL_TILE\n#undef BL_STRIP\n#undef BL_WIDE\n"
    "#undef BL_WAIT\n#undef BL_UNROLL\n#undef BL_ROLL\n";

/* All but the line with the kernel's name. `spec` is what sums are for, or NULL. */
static void add_text(ga_strbuf *out, const gpucontext *ctx, enum ga_blas_kind kind,
                     int typecode, const ga_elem_spec *spec) {
  const ga_blas_shape s = ga__blas_shape(ctx, kind, typecode);
  if (is_complex(typecode))
    add_complex_words(out, typecode);
  else
    add_real_words(out, typecode);
  add_sizes(out, ctx, kind, typecode, s);
  ga__strbuf_add(out, ga__blas_common);
  if (kind <= GA_GEMM_LAST) {
    add_gemm(out, ctx, kind, s);
  } else if (kind <= GA_GEMV_COLUMNS_PACKS) {
    ga__strbuf_add(out, ga__blas_gemv_head);
    ga__strbuf_add(out, gemv_text(ctx, kind, s.lanes));
  } else if ((int)kind >= GA_NARROW) {
    add_side(out, kind, s, spec);
  } else if (kind == GA_PARTS_SUM) {
    add_open(out, &parts_text, spec);
  } else {
    ga__strbuf_add(out, kind == GA_DOT_PARTS ? ga__blas_dot_parts : ga__blas_dot_sum);
  }
  ga__strbuf_add(out, tail);
}

/* The text under its name; `text` is cleared. */
static int finish(ga_source *out, const char *stem, ga_strbuf *text) {
  ga_strbuf body = {0};
  int status = ga__strbuf_status(text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, stem, text->text);
    ga__strbuf_addf(&body, "#define BL_NAME %s\n", out->name);
    ga__strbuf_add(&body, text->text);
    status = ga__strbuf_status(&body);
  }
  ga__strbuf_clear(text);
  if (status != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return status;
  }
  out->body = body;
  return GA_NO_ERROR;
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
                                      "gemv_rows",      "gemv_rows_packs",
                                      "gemv_columns",   "gemv_columns_packs",
                                      "dot_parts",      "dot_sum",
                                      "gemm_parts_sum", "gemm_narrow",
                                      "gemm_outer"};
  const int stem = (int)kind >= GA_OUTER    ? GA_NARROW + 1
                   : (int)kind >= GA_NARROW ? GA_NARROW
                                            : (int)kind;
  static_assert(GA_BLAS_KIND_COUNT == GA_BLAS_KINDS, "the context keeps each kind");
  ga_strbuf text = {0};
  add_text(&text, ctx, kind, typecode, NULL);
  GA_TRY(finish(out, stems[stem], &text));
  out->is_closed = true;
  return GA_NO_ERROR;
}

int ga__blas_mapped_source(ga_source *out, const gpucontext *ctx,
                           enum ga_blas_kind kind, int typecode,
                           const ga_elem_spec *spec) {
  ga_strbuf text = {0};
  if (spec->preamble != NULL)
    ga__strbuf_addf(&text, "%s\n", spec->preamble);
  add_text(&text, ctx, kind, typecode, spec);
  snprintf(out->title, sizeof out->title, "%s", spec->expr);
  return finish(out, "gemm_mapped", &text);
}

int ga__blas_kernel(gpukernel **out, gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode) {
  _Atomic(gpukernel *) *kept = &ctx->blas.kernels[kind][ga__blas_type_index(typecode)];
  *out = atomic_load(kept);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_source source = {0};
  GA_TRY(ga__blas_source(&source, ctx, kind, typecode));
  int status = ga__kernel_get(out, ctx, &source);
  ga__strbuf_clear(&source.body);
  if (status == GA_NO_ERROR)
    atomic_store(kept, *out);
  return status;
}
