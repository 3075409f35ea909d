/* Products of two matrices in compressed rows: the lengths of the rows, then what is in
 * them. Short rows are taken by teams of a few items, longer ones by work groups, which
 * get them from a list, and those of more terms than local memory holds by several
 * groups with memory of their own, a bit for each column. */
#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

enum {
  TEAM = 32,
  TEAM_ROOM = 7,
  LONG_PARTS = 32,
  LONG_THREADS = 1024,
  SCRATCH = 64 << 20
};
enum { FILLS = 1, IS_ALL = 2 };

/* Memory beside the result: lists of rows, bits of the groups that take long rows, and
 * the sums of types that are summed in a wider one. */
typedef struct memory {
  GpuArray lists[2], bits, sums;
  size_t words, groups; /* of the bits */
} memory;

static void clear_memory(memory *m) {
  GpuArray *all[] = {&m->lists[0], &m->lists[1], &m->bits, &m->sums};
  for (int i = 0; i < 4; i++)
    GpuArray_clear(all[i]);
}

static int open_memory(memory *m, const GpuSparse *out, const GpuSparse *a,
                       const GpuSparse *b) {
  gpucontext *ctx = ga__sparse_context(a);
  const int index = a->indices.typecode, typecode = a->values.typecode;
  const size_t length = a->rows + 1;
  for (int i = 0; i < 2; i++) {
    GA_TRY(GpuArray_empty(&m->lists[i], ctx, index, 1, &length, GA_C_ORDER));
    GA_TRY(ga__buffer_fill(m->lists[i].data, m->lists[i].offset, 0,
                           gpuarray_get_elsize(index)));
  }
  m->words = b->columns / 32 + 1;
  m->groups = ga__smaller(LONG_PARTS * a->rows, 4 * (size_t)ctx->info.processors);
  m->groups = ga__larger(1, ga__smaller(m->groups, SCRATCH / 8 / m->words));
  const size_t n = 2 * m->words * m->groups;
  GA_TRY(GpuArray_zeros(&m->bits, ctx, GA_UINT, 1, &n, GA_C_ORDER));
  if (out == NULL || ga__dtype_work(typecode) == typecode)
    return GA_NO_ERROR;
  return GpuArray_empty(&m->sums, ctx, ga__dtype_work(typecode), 1,
                        out->values.dimensions, GA_C_ORDER);
}

static unsigned int bits_of(size_t length) {
  unsigned int bits = 1;
  while (bits < 64 && length > (size_t)1 << bits)
    bits++;
  return bits;
}

/* Room for terms, a power of 2, and bytes of a key of column and term, or of a column
 * where they are counted by a table. */
static void plan_room(ga_sparse_spec *s, size_t columns, unsigned int team_room) {
  const size_t size = gpuarray_get_elsize(ga__dtype_work(s->typecode));
  const bool has_table = !(s->form & FILLS) && s->index == GA_INT;
  const unsigned int bits = has_table ? 0 : bits_of(columns);
  s->per = 4;
  s->width = (unsigned char)(team_room ? team_room : size <= 8 ? 11 : 10);
  if (bits + s->width < 32)
    return;
  s->per = 8;
  s->width = (unsigned char)(team_room ? team_room : size <= 4 ? 11 : 10);
}

/* The launches; `out` is NULL to count. Both matrices have values. */
static int run(const GpuSparse *out, const GpuArray *counts, const GpuSparse *a,
               const GpuSparse *b, const memory *m) {
  gpucontext *ctx = ga__sparse_context(a);
  const GpuArray *values = out ? &out->values : counts;
  const bool has_table = a->indices.typecode == GA_INT;
  const double mean = (double)ga__sparse_count(a) / (double)a->rows *
                      ((double)ga__sparse_count(b) / (double)b->rows);
  const bool has_teams =
      !ctx->info.is_cpu && (has_table || mean < 0.75 * (1 << TEAM_ROOM));
  for (int step = has_teams ? 0 : 1; step < 3; step++) {
    const bool is_first = step == 1 && !has_teams;
    ga_sparse_spec spec = {
        .kind = (unsigned char)(GA_SPARSE_SPGEMM_ROWS + step),
        .typecode = (unsigned char)(out ? a->values.typecode : GA_BOOL),
        .index = (unsigned char)a->indices.typecode,
        .form = (unsigned char)((out ? FILLS : 0) | (is_first ? IS_ALL : 0)),
        .lanes = TEAM,
        .threads = ga__sparse_threads(ctx)};
    ga_args args = {0};
    if (step == 0 && has_table) /* teams that are no warps are groups */
      spec.threads = ctx->info.has_progress ? 4 * TEAM : TEAM;
    if (step == 2 && ctx->info.max_threads >= LONG_THREADS &&
        ctx->info.local_memory >= 48 << 10)
      spec.threads = LONG_THREADS;
    plan_room(&spec, b->columns, step == 0 ? TEAM_ROOM : 0);
    ga__sparse_add(&args, values, false);
    ga__sparse_add(&args, out ? &out->indices : counts, false);
    ga__sparse_add(&args, counts, false);
    ga__sparse_add_matrix(&args, a);
    ga__sparse_add_matrix(&args, b);
    ga__sparse_add(&args, &m->lists[step == 2], false);
    ga__sparse_add(&args, &m->lists[step > 0], false);
    ga__sparse_add(&args, &m->bits, false);
    ga__sparse_add(&args, m->sums.data ? &m->sums : values, false);
    ga__args_u64(&args, a->rows);
    ga__args_u64(&args, b->rows);
    ga__args_u64(&args, b->columns);
    ga__args_u64(&args, ga__sparse_count(a));
    ga__args_u64(&args, ga__sparse_count(b));
    ga__args_u64(&args, out ? ga__sparse_count(out) : 0);
    ga__args_u64(&args, m->words);
    const size_t teams = step == 0 ? spec.threads / TEAM : 1;
    GA_TRY(ga__sparse_launch_sized(
        ctx, &spec, &args, step == 2 ? m->groups : ga__ceil_div(a->rows, teams)));
  }
  return GA_NO_ERROR;
}

static int multiply(const GpuSparse *out, const GpuArray *counts, const GpuSparse *a,
                    const GpuSparse *b) {
  memory m = {0};
  if (ga__sparse_count(a) == 0 || ga__sparse_count(b) == 0 || a->rows == 0 ||
      b->rows == 0)
    return GA_NO_ERROR;
  int status = open_memory(&m, out, a, b);
  GA_THEN(status, run(out, counts, a, b, &m));
  clear_memory(&m);
  return status;
}

int ga__sparse_product_count(GpuArray *counts, const GpuSparse *a, const GpuSparse *b) {
  const size_t places = a->rows + 1;
  GpuArray result = {0};
  GA_TRY(
      GpuArray_zeros(&result, ga__sparse_context(a), GA_LONG, 1, &places, GA_C_ORDER));
  int status = multiply(NULL, &result, a, b);
  GA_THEN(status, ga__sparse_scan(&result));
  return ga__array_return(counts, &result, status);
}

int ga__sparse_product_fill(GpuSparse *out, const GpuSparse *a, const GpuSparse *b,
                            const GpuArray *counts, size_t n) {
  GpuSparse result = {0};
  int status = GpuSparse_empty(&result, ga__sparse_context(a), GA_SPARSE_CSR, a->rows,
                               b->columns, n, a->values.typecode, a->indices.typecode);
  if (status == GA_NO_ERROR) {
    GpuArray_clear(&result.indptr);
    status = GpuArray_astype(&result.indptr, counts, a->indices.typecode, GA_C_ORDER);
  }
  if (n > 0)
    GA_THEN(status, multiply(&result, counts, a, b));
  return ga__sparse_return(out, &result, status);
}
