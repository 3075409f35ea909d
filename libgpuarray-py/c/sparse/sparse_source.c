/* Source generator of the kernels of sparse matrices: the macros of kernels/. */
#include "c/sparse/sparse_source.h"

#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/sparse/kernels/compress.inc"
#include "c/sparse/kernels/cpu/buckets_cpu.inc"
#include "c/sparse/kernels/cpu/columns_cpu.inc"
#include "c/sparse/kernels/cpu/inspect_cpu.inc"
#include "c/sparse/kernels/cpu/keep_cpu.inc"
#include "c/sparse/kernels/cpu/merge_cpu.inc"
#include "c/sparse/kernels/cpu/merge_pairs_cpu.inc"
#include "c/sparse/kernels/cpu/pack_cpu.inc"
#include "c/sparse/kernels/cpu/rows_cpu.inc"
#include "c/sparse/kernels/cpu/solve_cpu.inc"
#include "c/sparse/kernels/cpu/sort_cpu.inc"
#include "c/sparse/kernels/cpu/spgemm_cpu.inc"
#include "c/sparse/kernels/cpu/take_cpu.inc"
#include "c/sparse/kernels/expand.inc"
#include "c/sparse/kernels/inspect.inc"
#include "c/sparse/kernels/keep.inc"
#include "c/sparse/kernels/long_rows.inc"
#include "c/sparse/kernels/merge.inc"
#include "c/sparse/kernels/merge_parts.inc"
#include "c/sparse/kernels/operands.inc"
#include "c/sparse/kernels/piece_sums.inc"
#include "c/sparse/kernels/rows.inc"
#include "c/sparse/kernels/sampled.inc"
#include "c/sparse/kernels/solve.inc"
#include "c/sparse/kernels/spgemm_groups.inc"
#include "c/sparse/kernels/spgemm_long.inc"
#include "c/sparse/kernels/spgemm_rows.inc"
#include "c/sparse/kernels/split.inc"
#include "c/sparse/kernels/take.inc"
#include "c/sparse/kernels/take_lengths.inc"
#include "c/sparse/kernels/to_dense.inc"
#include "c/sparse/kernels/unique.inc"
#include "c/sparse/sparse.h"

static const struct {
  const char *stem, *text, *cpu_text;
} kernels[] = {
    [GA_SPARSE_ROWS] = {"sparse_rows", rows_text, rows_cpu_text},
    [GA_SPARSE_PIECES] = {"sparse_pieces", rows_text, rows_text},
    [GA_SPARSE_PIECES_SUM] = {"sparse_piece_sums", piece_sums_text, piece_sums_text},
    [GA_SPARSE_LONG] = {"sparse_long_rows", long_rows_text, long_rows_text},
    [GA_SPARSE_LONG_SUM] = {"sparse_long_sums", long_rows_text, long_rows_text},
    [GA_SPARSE_COLUMNS] = {"sparse_columns", columns_cpu_text, columns_cpu_text},
    [GA_SPARSE_COLUMNS_SUM] = {"sparse_columns_sum", columns_cpu_text,
                               columns_cpu_text},
    [GA_SPARSE_BUCKETS] = {"sparse_buckets", buckets_cpu_text, buckets_cpu_text},
    [GA_SPARSE_EXPAND] = {"sparse_expand", expand_text, expand_text},
    [GA_SPARSE_PACK] = {"sparse_pack", expand_text, expand_text},
    [GA_SPARSE_KEYS] = {"sparse_keys", expand_text, expand_text},
    [GA_SPARSE_SPLIT] = {"sparse_split", split_text, split_text},
    [GA_SPARSE_COMPRESS] = {"sparse_compress", compress_text, compress_text},
    [GA_SPARSE_INSPECT] = {"sparse_inspect", inspect_text, inspect_cpu_text},
    [GA_SPARSE_DENSE] = {"sparse_to_dense", to_dense_text, to_dense_text},
    [GA_SPARSE_UNIQUE_OF] = {"sparse_unique", unique_text, unique_text},
    [GA_SPARSE_MERGE_PARTS] = {"sparse_merge_parts", merge_parts_text,
                               merge_parts_text},
    [GA_SPARSE_MATCH] = {"sparse_match", merge_text, merge_pairs_cpu_text},
    [GA_SPARSE_MERGE] = {"sparse_merge", merge_text, merge_pairs_cpu_text},
    [GA_SPARSE_SAMPLED] = {"sparse_sampled", sampled_text, sampled_text},
    [GA_SPARSE_TAKE_LENGTHS] = {"sparse_take_lengths", take_lengths_text,
                                take_lengths_text},
    [GA_SPARSE_TAKE] = {"sparse_take", take_text, take_cpu_text},
    [GA_SPARSE_SPGEMM_ROWS] = {"sparse_spgemm_rows", spgemm_rows_text,
                               spgemm_rows_text},
    [GA_SPARSE_SPGEMM_GROUPS] = {"sparse_spgemm_groups", spgemm_groups_text,
                                 spgemm_groups_text},
    [GA_SPARSE_SPGEMM_LONG] = {"sparse_spgemm_long", spgemm_long_text,
                               spgemm_long_text},
    [GA_SPARSE_SOLVE] = {"sparse_solve", solve_text, solve_cpu_text},
    [GA_SPARSE_KEEP] = {"sparse_keep", keep_text, keep_text},
    [GA_SPARSE_KEEP_ROWS] = {"sparse_keep_rows", keep_cpu_text, keep_cpu_text},
    [GA_SPARSE_MERGE_ROWS] = {"sparse_merge_rows", merge_cpu_text, merge_cpu_text},
    [GA_SPARSE_PACK_SHARES] = {"sparse_pack_shares", pack_cpu_text, pack_cpu_text},
    [GA_SPARSE_MULTIPLY_ROWS] = {"sparse_multiply_rows", spgemm_cpu_text,
                                 spgemm_cpu_text},
    [GA_SPARSE_SORT_ROWS] = {"sparse_sort_rows", sort_cpu_text, sort_cpu_text},
};

/* ---- words ---- */

/* Loops over elements: adjacent items take adjacent ones, on a processor each a range.
 */
static void add_loops(ga_strbuf *t, const ga_sparse_spec *s) {
  ga__strbuf_add(t, "#define SP_ITEM (GID_0 * LDIM_0 + LID_0)\n"
                    "#define SP_ITEMS (GDIM_0 * LDIM_0)\n");
  ga__strbuf_add(
      t, s->is_cpu
             ? "#define SP_EACH(i, n) for (ga_ulong i = SP_ITEM * (n) / SP_ITEMS, "
               "i##_end = (SP_ITEM + 1) * (n) / SP_ITEMS; i < i##_end; i++)\n"
             : "#define SP_EACH(i, n) for (ga_ulong i = SP_ITEM; i < (n); "
               "i += SP_ITEMS)\n");
  ga__strbuf_addf(t,
                  "#define SP_INDEX %s\n#define SP_INDEX_BITS %d\n#define SP_COUNT %s\n"
                  "#define SP_IS_CPU %d\n",
                  ga__dtype_ctype(s->index), s->index == GA_INT ? 32 : 64,
                  s->index == GA_INT ? "ga_uint" : "ga_ulong", s->is_cpu);
  const char *word = s->index == GA_INT ? "int" : "long";
  if (s->is_cpu) /* vectors of them */
    ga__strbuf_addf(t,
                    "#define SP_INDEXES %s8\n#define SP_COUNTS u%s8\n"
                    "#define SP_AS_COUNTS as_u%s8\n",
                    word, word, word);
}

/* Arithmetic in the type of the values. */
static void add_arithmetic(ga_strbuf *t, int typecode) {
  const char *work = ga__dtype_work_ctype(typecode);
  const char kind = ga__dtype_kind(typecode);
  const char *real = typecode == GA_DOUBLE || typecode == GA_CDOUBLE ? "ga_double"
                     : kind == 'f' || kind == 'c'                    ? "ga_float"
                                                                     : "ga_long";
  ga__strbuf_addf(t,
                  "#define SP_VALUE %s\n#define SP_WORK %s\n#define SP_REAL %s\n"
                  "#define SP_LOAD(x) ",
                  ga__dtype_ctype(typecode), work, real);
  ga__strbuf_fill(t, ga__dtype_load(typecode), "x");
  ga__strbuf_add(t, "\n#define SP_STORE(x) ");
  ga__strbuf_fill(t, ga__dtype_store(typecode), "x");
  if (typecode == GA_FLOAT || typecode == GA_DOUBLE) /* processors' vectors */
    ga__strbuf_addf(t, "\n#define SP_VECTOR %s8",
                    typecode == GA_FLOAT ? "float" : "double");
  if (kind == 'c')
    ga__strbuf_addf(t,
                    "\n#define SP_ZERO ga_complex((%s)0, (%s)0)\n"
                    "#define SP_NUMBER(re, im) ga_complex(re, im)\n"
                    "#define SP_ADD(a, b) ga_cadd(a, b)\n"
                    "#define SP_SUB(a, b) ga_csub(a, b)\n"
                    "#define SP_MUL(a, b) ga_cmul(a, b)\n"
                    "#define SP_DIV(a, b) ga_cdiv(a, b)\n"
                    "#define SP_IS_SET(v) ((v).x != 0 || (v).y != 0)\n",
                    real, real);
  else
    ga__strbuf_add(t, "\n#define SP_IS_SET(v) ((v) != 0)");

  if (kind == 'b')
    ga__strbuf_add(t, "\n#define SP_ZERO ((ga_bool)0)\n"
                      "#define SP_NUMBER(re, im) ((ga_bool)((re) != 0))\n"
                      "#define SP_ADD(a, b) ((ga_bool)((a) | (b)))\n"
                      "#define SP_MUL(a, b) ((ga_bool)((a) & (b)))\n");
  else if (kind != 'c')
    ga__strbuf_addf(t,
                    "\n#define SP_ZERO ((%s)0)\n#define SP_NUMBER(re, im) ((%s)(re))\n"
                    "#define SP_ADD(a, b) ((%s)((a) + (b)))\n"
                    "#define SP_SUB(a, b) ((a) - (b))\n"
                    "#define SP_MUL(a, b) ((%s)((a) * (b)))\n"
                    "#define SP_DIV(a, b) ((a) / (b))\n",
                    work, work, work, work);
}

/* In place of sums: the greatest or least, of which "zero" is the other extreme. */
static void add_extremes(ga_strbuf *t, int typecode, bool is_max) {
  const int work = ga__dtype_work(typecode);
  const char *sign = is_max ? ">=" : "<=";
  ga__strbuf_addf(t,
                  "#undef SP_ZERO\n#undef SP_ADD\n#define SP_ZERO ((SP_WORK)(%s))\n"
                  "#define SP_ADD(a, b) ((SP_WORK)((a) %s (b)%s ? (a) : (b)))\n",
                  ga__dtype_extreme(work, !is_max), sign,
                  ga__dtype_kind(work) == 'f' ? " || (a) != (a)" : "");
}

/* What an elementwise operation of two matrices makes of elements: of the values of one
 * matrix where the other has none, and of both. */
static void add_pair(ga_strbuf *t, const ga_sparse_spec *s) {
  static const char *const combinations[] = {"(x) >= (y)%s ? (x) : (y)",
                                             "(x) <= (y)%s ? (x) : (y)", "(x) != (y)",
                                             "(x) < (y)", "(x) > (y)"};
  const bool is_combined = s->form == GA_SPARSE_BOTH_COMBINED;
  const bool is_test = is_combined && s->per >= GA_SPARSE_NOT_EQUAL;
  ga__strbuf_addf(t,
                  "#define SP_IS_COUNT %d\n#define SP_IS_UNION %d\n"
                  "#define SP_OUT %s\n#define SP_STORE_OUT(x) %s\n"
                  "#define SP_RESULT %s\n",
                  s->kind == GA_SPARSE_MATCH,
                  s->form == GA_SPARSE_BOTH_SUM || is_combined,
                  is_test ? "ga_bool" : "SP_VALUE", is_test ? "(x)" : "SP_STORE(x)",
                  is_test ? "ga_bool" : "SP_WORK");
  if (!is_combined) {
    ga__strbuf_addf(t,
                    "#define SP_OF_A(x) SP_TIMES(alpha, alpha_im, x)\n"
                    "#define SP_OF_B(y) SP_TIMES(beta, beta_im, y)\n"
                    "#define SP_TIMES(re, im, v) %s\n#define SP_OF_BOTH(x, y) %s\n",
                    ga__dtype_kind(s->typecode) == 'c'
                        ? "((im) == 0 ? ga_complex((re) * (v).x, (re) * (v).y) "
                          ": SP_MUL(SP_NUMBER(re, im), v))" /* infinity stays one */
                        : "SP_MUL(SP_NUMBER(re, im), v)",
                    s->form == GA_SPARSE_BOTH_SUM ? "SP_ADD(SP_OF_A(x), SP_OF_B(y))"
                                                  : "SP_MUL(x, y)");
    return;
  }
  ga__strbuf_add(t, "#define SP_OF_A(x) SP_OF_BOTH(x, SP_ZERO)\n"
                    "#define SP_OF_B(y) SP_OF_BOTH(SP_ZERO, y)\n"
                    "#define SP_OF_BOTH(x, y) ((SP_RESULT)(");
  ga__strbuf_addf(t, combinations[s->per],
                  ga__dtype_kind(s->typecode) == 'f' ? " || (x) != (x)" : "");
  ga__strbuf_add(t, "))\n");
}

static void add_terms(ga_strbuf *t, const ga_sparse_spec *s) {
  static const char *const terms[] = {
      "SP_MUL(v, SP_LOAD(x[(ga_ssize)(j) * x_row + (ga_ssize)(c)]))", "v",
      "(ga_long)(j) - (ga_long)row == shift ? v : SP_ZERO", "v", "v"};
  if (s->form == GA_SPARSE_MAX || s->form == GA_SPARSE_MIN)
    add_extremes(t, s->typecode, s->form == GA_SPARSE_MAX);
  ga__strbuf_addf(t,
                  "#define SP_TAKES_PIECES %d\n#define SP_IS_SUM %d\n"
                  "#define SP_TERM(v, j, c) (%s)\n",
                  s->kind == GA_SPARSE_PIECES,
                  s->kind == GA_SPARSE_LONG_SUM || s->kind == GA_SPARSE_COLUMNS_SUM,
                  terms[s->form]);
}

/* Pairs of a value's bytes and an index, and keys. */
static void add_pairs(ga_strbuf *t, const ga_sparse_spec *s) {
  const bool is_keys =
      s->kind == GA_SPARSE_KEYS || (s->kind == GA_SPARSE_SPLIT && s->form > 0);
  ga__strbuf_addf(t, "#define SP_MAKES %d\n#define SP_GIVEN %s\n#define SP_%s %s\n",
                  s->kind - GA_SPARSE_EXPAND,
                  is_keys ? "SP_INDEX" : ga__dtype_word(s->typecode),
                  is_keys ? "KEY" : "PAIR", ga__dtype_word(s->per));
  if (is_keys)
    return;
  ga__strbuf_add(
      t, s->per == 8 ? "#define SP_JOIN(p, v, i) p = (ga_ulong)(i) << 32 | (v)\n"
                       "#define SP_PAIR_VALUE(p) ((SP_GIVEN)(p))\n"
                       "#define SP_PAIR_INDEX(p) ((p) >> 32)\n"
                     : "#define SP_JOIN(p, v, i) ((p).x = (v), (p).y = (ga_ulong)(i))\n"
                       "#define SP_PAIR_VALUE(p) ((SP_GIVEN)(p).x)\n"
                       "#define SP_PAIR_INDEX(p) ((p).y)\n");
}

/* True if a kernel moves values without arithmetic. */
static bool moves_only(const ga_sparse_spec *s) {
  const unsigned char kind = s->kind;
  return (kind == GA_SPARSE_KEEP_ROWS && s->form < 2) || kind == GA_SPARSE_TAKE ||
         kind == GA_SPARSE_BUCKETS || kind == GA_SPARSE_PACK_SHARES ||
         kind == GA_SPARSE_KEEP || kind == GA_SPARSE_SORT_ROWS;
}

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_sparse_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_loops(&text, s);
  ga__strbuf_addf(&text,
                  "#define SP_FORM %d\n#define SP_LANES %d\n#define SP_WIDTH %d\n"
                  "#define SP_PER %d\n#define SP_THREADS %d\n#define SP_TILE %d\n"
                  "#define SP_PACKS %d\n#define SP_MERGED %d\n",
                  s->form, s->lanes, s->width, s->per, s->threads, GA_SPARSE_TILE,
                  s->packs, (int)ga__sparse_merged(s->index));
  if (s->kind >= GA_SPARSE_EXPAND && s->kind <= GA_SPARSE_SPLIT)
    add_pairs(&text, s);
  else if (moves_only(s))
    ga__strbuf_addf(&text, "#define SP_VALUE %s\n#define SP_IS_WIDE_VALUE %d\n",
                    ga__dtype_word(s->typecode), s->typecode > 8);
  else
    add_arithmetic(&text, s->typecode);
  if (s->kind >= GA_SPARSE_SPGEMM_ROWS && s->kind <= GA_SPARSE_SPGEMM_LONG)
    ga__strbuf_addf(&text,
                    "#define SP_ROOM %uu\n#define SP_TERM_BITS %d\n"
                    "#define SP_KEY %s\n#define SP_IS_NARROW %d\n",
                    1u << s->width, s->width, ga__dtype_word(s->per),
                    ga__dtype_work(s->typecode) != s->typecode);
  if (s->kind <= GA_SPARSE_COLUMNS_SUM)
    add_terms(&text, s);
  if (s->kind == GA_SPARSE_MATCH || s->kind == GA_SPARSE_MERGE ||
      s->kind == GA_SPARSE_MERGE_ROWS)
    add_pair(&text, s);
  ga__strbuf_add(&text, operands_text);
  ga__strbuf_add(&text, s->is_cpu ? kernels[s->kind].cpu_text : kernels[s->kind].text);
  out->is_closed = true;
  return ga__text_finish_named(out, kernels[s->kind].stem, NULL, "#define SP_NAME %\n",
                               &text);
}

/* ---- launches ---- */

int ga__sparse_kernel(gpukernel **out, gpucontext *ctx, const ga_sparse_spec *spec) {
  ga_sparse_spec s = *spec;
  s.is_cpu = ctx->info.is_cpu;
  return ga__kernel_kept(out, ctx, write_source, &s, sizeof s);
}

int ga__sparse_launch(gpucontext *ctx, const ga_sparse_spec *spec, const ga_args *args,
                      size_t items) {
  gpukernel *kernel;
  const size_t processors = ctx->info.processors;
  GA_TRY(ga__sparse_kernel(&kernel, ctx, spec));
  return ctx->info.is_cpu
             ? ga__kernel_launch_items(
                   kernel, args, items, 1,
                   ga__smaller(GA_CPU_GROUPS * processors, ga__ceil_div(items, 256)))
             : ga__kernel_launch_items(kernel, args, items, 256, 64 * processors);
}

int ga__sparse_launch_shares(gpucontext *ctx, const ga_sparse_spec *spec,
                             const ga_args *args, size_t shares) {
  gpukernel *kernel;
  GA_TRY(ga__sparse_kernel(&kernel, ctx, spec));
  return ga__kernel_launch_items(kernel, args, shares, 1, shares);
}

unsigned short ga__sparse_threads(const gpucontext *ctx) {
  unsigned short threads = ctx->info.is_cpu ? 1 : 256;
  while (threads > ctx->info.max_threads && threads > 32)
    threads /= 2;
  return threads;
}

int ga__sparse_launch_sized(gpucontext *ctx, const ga_sparse_spec *spec,
                            const ga_args *args, size_t groups) {
  gpukernel *kernel;
  const size_t most =
      (size_t)ctx->info.processors * (ctx->info.is_cpu ? GA_CPU_GROUPS : 64);
  GA_TRY(ga__sparse_kernel(&kernel, ctx, spec));
  const ga_launch l = {.nd = 1,
                       .grid = {ga__smaller(groups, most), 1, 1},
                       .block = {spec->threads, 1, 1},
                       .n_args = args->n,
                       .args = args->list};
  return ga__kernel_launch(kernel, &l);
}

void ga__sparse_add(ga_args *args, const GpuArray *a, bool is_read) {
  ga__args_pointer(args, a->data, a->offset, is_read);
}

const GpuArray *ga__sparse_or(const GpuArray *a, const GpuArray *otherwise) {
  return a->data != NULL && a->dimensions[0] > 0 ? a : otherwise;
}

void ga__sparse_add_matrix(ga_args *args, const GpuSparse *a) {
  ga__sparse_add(args, ga__sparse_or(&a->values, &a->indptr), true);
  ga__sparse_add(args, ga__sparse_or(&a->indices, &a->indptr), true);
  ga__sparse_add(args, &a->indptr, true);
}

void ga__sparse_add_factor(ga_args *args, int typecode, const double *factor,
                           double otherwise) {
  const char kind = ga__dtype_kind(typecode);
  const double parts[2] = {factor ? factor[0] : otherwise, factor ? factor[1] : 0};
  for (int i = 0; i < 2; i++)
    if (kind == 'f' || kind == 'c')
      ga__args_real(args, typecode, parts[i]);
    else
      ga__args_i64(args, (int64_t)parts[i]);
}
