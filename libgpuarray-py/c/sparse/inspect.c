/* The check of what is in the arrays of a sparse matrix. */
#include "c/base/counts.h"
#include "c/sparse/sparse.h"
#include "c/sparse/sparse_source.h"

/* What the kernel tells, in the order of its words: places, then counts of two words,
 * from -1 on. */
enum { ENDS, DESCENDS, LINE, INDEX, UNSORTED, REPEATED = 6, N_WORDS = 8 };

static int queue_inspection(gpudata *found, const GpuSparse *a, unsigned int shift) {
  const size_t n = ga__sparse_count(a);
  const bool is_coo = a->format == GA_SPARSE_COO;
  gpucontext *ctx = ga__sparse_context(a);
  const ga_sparse_spec spec = {.kind = GA_SPARSE_INSPECT,
                               .index = (unsigned char)a->indices.typecode,
                               .form = is_coo,
                               .packs = a->indices.offset % 16 == 0,
                               .threads = ga__sparse_threads(ctx)};
  ga_args args = {0};
  ga__args_pointer(&args, found, 0, false);
  ga__sparse_add(&args, &a->indices, true);
  ga__sparse_add(&args, &a->indptr, true);
  ga__args_u64(&args, a->rows);
  ga__args_u64(&args, a->columns);
  ga__args_u64(&args, n);
  ga__args_u32(&args, shift);
  const size_t items = is_coo || n > a->rows ? n : a->rows + 1;
  return ga__sparse_launch_sized(ctx, &spec, &args, ga__ceil_div(items, 4096));
}

/* Reads the element of an index array at `place`. */
static int read_index(long long *out, const GpuArray *a, size_t place) {
  const size_t size = gpuarray_get_elsize(a->typecode);
  int32_t narrow = 0;
  int64_t wide = 0;
  GA_TRY(gpudata_read(size == 4 ? (void *)&narrow : (void *)&wide, a->data,
                      a->offset + place * size, size));
  *out = size == 4 ? narrow : wide;
  return GA_NO_ERROR;
}

static int fail_pointers(const GpuSparse *a, int word, size_t place, bool is_turned) {
  const char *line = is_turned ? "column" : "row";
  long long own = 0, before = 0;
  GA_TRY(read_index(&own, &a->indptr, place));
  if (word == DESCENDS) {
    GA_TRY(read_index(&before, &a->indptr, place - 1));
    return GA_FAIL(GA_VALUE_ERROR,
                   "sparse check: indptr descends from %lld to %lld at place %zu: %s "
                   "%zu has no values to begin with",
                   before, own, place, line, place - 1);
  }
  return GA_FAIL(
      GA_VALUE_ERROR,
      "sparse check: indptr is %lld at place %zu, expected %zu: it begins at "
      "0 and ends at the number of values",
      own, place, place == 0 ? (size_t)0 : ga__sparse_count(a));
}

static int fail_index(const GpuArray *indices, size_t place, size_t length,
                      const char *axis) {
  long long own = 0;
  GA_TRY(read_index(&own, indices, place));
  return GA_FAIL(GA_INDEX_ERROR,
                 "sparse check: index %lld at place %zu is out of %zu %s", own, place,
                 length, axis);
}

/* Turned, so that compressed lines are rows; `is_turned` for the texts. */
static int judge(int *flags, const GpuSparse *a, const uint32_t found[N_WORDS],
                 unsigned int shift, bool is_turned) {
  for (int word = ENDS; word <= INDEX; word++) {
    const size_t place = (size_t)found[word] << shift;
    if (found[word] == UINT32_MAX)
      continue;
    if (word <= DESCENDS)
      return fail_pointers(a, word, place, is_turned);
    return word == LINE ? fail_index(&a->indptr, place, a->rows, "rows")
                        : fail_index(&a->indices, place, a->columns,
                                     is_turned ? "rows" : "columns");
  }
  const bool is_sorted = (found[UNSORTED] & found[UNSORTED + 1]) == UINT32_MAX;
  const bool is_unique = (found[REPEATED] & found[REPEATED + 1]) == UINT32_MAX;
  if (flags != NULL)
    *flags = is_sorted ? GA_SPARSE_SORTED | (is_unique ? GA_SPARSE_UNIQUE : 0) : 0;
  return GA_NO_ERROR;
}

static int inspect(int *flags, const GpuSparse *a, bool is_turned) {
  const size_t longest = ga__sparse_count(a) > a->rows ? ga__sparse_count(a) : a->rows;
  uint32_t found[N_WORDS];
  unsigned int shift = 0;
  while (longest >> shift >= UINT32_MAX)
    shift++;
  gpudata *words;
  GA_TRY(ga__buffer_new(&words, ga__sparse_context(a), sizeof found));
  int status = ga__buffer_fill(words, 0, 0xff, sizeof found);
  if (a->format != GA_SPARSE_COO || longest > 0)
    GA_THEN(status, queue_inspection(words, a, shift));
  GA_THEN(status, gpudata_read(found, words, 0, sizeof found));
  gpudata_release(words);
  GA_THEN(status, judge(flags, a, found, shift, is_turned));
  return status;
}

int GpuSparse_check(int *flags, const GpuSparse *a) {
  GA_TRY(ga__sparse_check(a, "sparse check"));
  GA_TRY(ga__sparse_must_wait(a, "sparse check"));
  if (a->format != GA_SPARSE_CSC)
    return inspect(flags, a, false);
  const GpuSparse turned = ga__sparse_turned(a);
  return inspect(flags, &turned, true);
}
