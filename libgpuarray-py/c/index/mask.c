/* Masks: count_nonzero, nonzero, compress, put_mask. */
#include <string.h>

#include "c/index/index_walk.h"
#include "c/index/mask.h"
#include "c/index/mask_source.h"
#include "c/program/kernel_table.h"

/* ---- counting and listing nonzero elements ---- */

/* A search for nonzero elements. */
typedef struct search {
  const GpuArray *a;
  gpucontext *context;
  size_t n, blocks, total; /* elements, blocks, nonzero elements */
  size_t per_block;
  unsigned int nd; /* collapsed axes, in C order */
  size_t dims[GA_MAX_NDIM];
  ssize_t strides[GA_MAX_NDIM];
  const GpuArray *from; /* source of compress, iterated together; or NULL */
  ssize_t from_strides[GA_MAX_NDIM];
  bool wide, packed; /* packed: contiguous bools, for vector loads */
  gpudata *places;   /* uint64: exclusive scan of block counts, and the total */
} search;

#define NARROW ((size_t)INT32_MAX - (1 << 20))

static int check_searched(const GpuArray *a, const char *operation) {
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, operation));
  GA_TRY(ga__context_check(a->data->context));
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR,
                   "%s: %s is not aligned to its type; copy it first (GpuArray_copy)",
                   operation, ga__array_text(text, a));
  return ga__context_supports(a->data->context, a->typecode, operation);
}

/* Refuses placeholders: the count must be waited for. */
static int refuse_placeholder(const GpuArray *a, const char *operation) {
  char text[GA_ARRAY_TEXT];
  if (a->data->tape == NULL)
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_UNSUPPORTED_ERROR,
      "%s: the count of nonzero elements of %s is unknown while a plan is bound",
      operation, ga__array_text(text, a));
}

static bool is_far(const GpuArray *a) {
  size_t low, high;
  ga__array_extent(&low, &high, a);
  return (high - low) / gpuarray_get_elsize(a->typecode) >= NARROW;
}

/* Collapses the axes of `a` and, if not NULL, of `from`, which has the same shape. */
static void plan_walk(search *s, const GpuArray *from) {
  const GpuArray *a = s->a;
  s->from = from;
  s->nd = a->nd;
  memcpy(s->dims, a->dimensions, a->nd * sizeof *s->dims);
  memcpy(s->strides, a->strides, a->nd * sizeof *s->strides);
  if (from != NULL)
    memcpy(s->from_strides, from->strides, a->nd * sizeof *s->strides);
  if (s->nd == 0) {
    s->nd = 1;
    s->dims[0] = 1;
  }
  ssize_t *list[] = {s->strides, s->from_strides};
  ga__shape_collapse(from != NULL ? 2 : 1, &s->nd, s->dims, list);
  s->wide = s->n >= NARROW || is_far(a) || (from != NULL && is_far(from));
}

static void plan_search(search *s, const GpuArray *a) {
  memset(s, 0, sizeof *s);
  s->a = a;
  s->context = a->data->context;
  s->n = ga__array_count(a);
  s->packed = a->typecode == GA_BOOL && GpuArray_IS_C_CONTIGUOUS(a) &&
              a->offset % GA_MASK_PER == 0;
  plan_walk(s, NULL);
}

static size_t choose_threads(const gpucontext *ctx) {
  size_t threads = GA_MASK_THREADS;
  while (threads > ctx->info.max_threads || threads > ctx->info.max_block[0])
    threads /= 2;
  return threads;
}

static ga_mask_spec make_spec(const search *s, enum ga_mask_kind kind,
                              unsigned int out) {
  ga_mask_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.kind = (unsigned char)kind;
  spec.threads = (unsigned short)choose_threads(s->context);
  if (kind != GA_MASK_SCAN) {
    spec.typecode = (unsigned char)s->a->typecode;
    spec.nd = (unsigned char)s->nd;
    spec.wide = s->wide;
    spec.packed = s->packed;
    spec.out = (unsigned char)out;
    if (kind == GA_MASK_PICK)
      spec.word = (unsigned char)gpuarray_get_elsize(s->from->typecode);
  }
  return spec;
}

static void add_strides(ga_args *args, const search *s, const ssize_t *strides,
                        int typecode) {
  ga__args_strides(args, s->wide, s->nd, strides, gpuarray_get_elsize(typecode));
}

static void add_axes(ga_args *args, const search *s) {
  for (unsigned int axis = 1; axis < s->nd; axis++)
    ga__args_u32(args, (uint32_t)s->dims[axis]);
  add_strides(args, s, s->strides, s->a->typecode);
}

static int launch(const search *s, const ga_mask_spec *spec, const ga_args *args,
                  size_t blocks) {
  gpukernel *kernel;
  GA_TRY(ga__kernel_kept(&kernel, s->context, ga__mask_source, spec, sizeof *spec));
  const ga_launch l = {.nd = 1,
                       .grid = {blocks, 1, 1},
                       .block = {spec->threads, 1, 1},
                       .n_args = args->n,
                       .args = args->list};
  return ga__kernel_launch(kernel, &l);
}

static int queue_count(const search *s) {
  ga_mask_spec spec = make_spec(s, GA_MASK_COUNT, 0);
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, s->places, 0, false);
  ga__args_pointer(&args, s->a->data, s->a->offset, true);
  ga__args_u64(&args, s->n);
  ga__args_u64(&args, s->per_block);
  add_axes(&args, s);
  GA_TRY(launch(s, &spec, &args, s->blocks));
  spec = make_spec(s, GA_MASK_SCAN, 0);
  args.n = 0;
  ga__args_pointer(&args, s->places, 0, false);
  ga__args_u64(&args, s->blocks);
  return launch(s, &spec, &args, 1);
}

/* Blocks of whole tiles, about 16 per processor. */
static void plan_blocks(search *s) {
  const size_t tile = choose_threads(s->context) * GA_MASK_PER;
  const size_t tiles = (s->n - 1) / tile + 1;
  const size_t wanted = (size_t)16 * s->context->info.processors;
  s->per_block = ((tiles - 1) / wanted + 1) * tile;
  s->blocks = (s->n - 1) / s->per_block + 1;
}

/* Counts, scans and waits for the total. The caller releases s->places. */
static int begin_search(search *s, const GpuArray *a, const char *operation) {
  GA_TRY(check_searched(a, operation));
  GA_TRY(refuse_placeholder(a, operation));
  plan_search(s, a);
  if (s->n == 0)
    return GA_NO_ERROR;
  GA_TRY(ga__shape_narrow(s->nd, s->dims, operation, "copy the array first"));
  plan_blocks(s);
  GA_TRY(ga__buffer_new(&s->places, s->context, (s->blocks + 1) * sizeof(uint64_t)));
  uint64_t total = 0;
  int status = queue_count(s);
  if (status == GA_NO_ERROR)
    status =
        gpudata_read(&total, s->places, s->blocks * sizeof(uint64_t), sizeof total);
  if (status != GA_NO_ERROR)
    gpudata_release(s->places);
  s->total = (size_t)total;
  return status;
}

static void end_search(search *s) {
  if (s->places != NULL)
    gpudata_release(s->places);
}

/* Lists the indices of nonzero elements: a new int64 array (axes of a, total). */
static int list_positions(GpuArray *out, const search *s) {
  const unsigned int nd = s->a->nd;
  GpuArray result;
  GA_TRY(GpuArray_empty(&result, s->context, GA_LONG, 2, (size_t[]){nd, s->total},
                        GA_C_ORDER));
  int status = GA_NO_ERROR;
  if (nd > 0 && s->n > 0) {
    const ga_mask_spec spec = make_spec(s, GA_MASK_LIST, nd);
    ga_args args;
    args.n = 0;
    ga__args_pointer(&args, s->places, 0, true);
    ga__args_pointer(&args, s->a->data, s->a->offset, true);
    ga__args_pointer(&args, result.data, 0, false);
    ga__args_u64(&args, s->n);
    ga__args_u64(&args, s->per_block);
    ga__args_u64(&args, s->total);
    add_axes(&args, s);
    for (unsigned int axis = 1; axis < nd; axis++)
      ga__args_u64(&args, s->a->dimensions[axis]);
    status = launch(s, &spec, &args, s->blocks);
  }
  return ga__array_return(out, &result, status);
}

static int find(GpuArray *out, const GpuArray *a, const char *operation) {
  search s;
  GA_TRY(begin_search(&s, a, operation));
  int status = list_positions(out, &s);
  end_search(&s);
  return status;
}

int GpuArray_count_nonzero(size_t *count, const GpuArray *a) {
  search s;
  if (count == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "count_nonzero: got no pointer for the count");
  GA_TRY(begin_search(&s, a, "count_nonzero"));
  *count = s.total;
  end_search(&s);
  return GA_NO_ERROR;
}

int GpuArray_nonzero(GpuArray *out, const GpuArray *a) {
  if (out == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "nonzero: got no output array");
  return find(out, a, "nonzero");
}

int ga__nonzero_bounded(GpuArray *out, const GpuArray *a) {
  search s;
  GA_TRY(check_searched(a, "nonzero"));
  plan_search(&s, a);
  s.total = s.n;
  int status = s.n > 0
                   ? ga__shape_narrow(s.nd, s.dims, "nonzero", "copy the array first")
                   : GA_NO_ERROR;
  if (status == GA_NO_ERROR && s.n > 0) {
    plan_blocks(&s);
    status = ga__buffer_new(&s.places, s.context, (s.blocks + 1) * sizeof(uint64_t));
    GA_THEN(status, queue_count(&s));
  }
  GA_THEN(status, list_positions(out, &s));
  end_search(&s);
  return status;
}

/* ---- compress and put_mask ---- */

static int check_mask(const GpuArray *a, const GpuArray *mask, const char *operation) {
  char array[GA_ARRAY_TEXT], text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, operation));
  GA_TRY(ga__array_check(mask, operation));
  GA_TRY(ga__array_same_context(a, mask, operation));
  if (mask->typecode != GA_BOOL)
    return GA_FAIL(GA_INVALID_ERROR, "%s: the mask is %s, expected bool", operation,
                   ga__array_text(text, mask));
  bool fits = mask->nd > 0 && mask->nd <= a->nd;
  for (unsigned int k = 0; fits && k < mask->nd; k++)
    fits = mask->dimensions[k] == a->dimensions[k];
  if (fits)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: the mask is %s and the array %s, expected a mask as long as the "
                 "array along each of its axes",
                 operation, ga__array_text(text, mask), ga__array_text(array, a));
}

/* Indices of the mask's nonzero elements, as index arrays. */
typedef struct mask_indices {
  GpuArray positions, rows[GA_MAX_NDIM];
  const GpuArray *list[GA_MAX_NDIM];
  ga_indices ix;
} mask_indices;

static int find_indices(mask_indices *f, const GpuArray *mask, const char *operation) {
  GA_TRY(find(&f->positions, mask, operation));
  for (unsigned int k = 0; k < mask->nd; k++) {
    GpuArray *row = &f->rows[k]; /* borrows the buffer */
    *row = f->positions;
    row->nd = 1;
    row->dimensions[0] = f->positions.dimensions[1];
    row->strides[0] = sizeof(int64_t);
    row->offset += k * row->dimensions[0] * sizeof(int64_t);
    GpuArray_fix_flags(row);
    f->list[k] = row;
  }
  f->ix = (ga_indices){mask->nd, 0, f->list, GA_INDEX_TRUSTED, operation};
  return GA_NO_ERROR;
}

/* a[mask] of subarrays: gather by the mask's indices. */
static int pick_parts(GpuArray *out, const GpuArray *a, const GpuArray *mask) {
  mask_indices f;
  GA_TRY(find_indices(&f, mask, "compress"));
  size_t dims[GA_MAX_NDIM];
  const unsigned int rest = a->nd - mask->nd;
  dims[0] = f.positions.dimensions[1];
  memcpy(dims + 1, a->dimensions + mask->nd, rest * sizeof *dims);
  GpuArray result = {0};
  int status = GpuArray_empty(&result, a->data->context, a->typecode, 1 + rest, dims,
                              GA_C_ORDER);
  GA_THEN(status, ga__index_take(&result, a, &f.ix, NULL));
  GpuArray_clear(&f.positions);
  return ga__array_return(out, &result, status);
}

static int queue_pick(const GpuArray *out, const search *s) {
  const ga_mask_spec spec = make_spec(s, GA_MASK_PICK, 0);
  ga_args args;
  args.n = 0;
  ga__args_pointer(&args, s->places, 0, true);
  ga__args_pointer(&args, s->a->data, s->a->offset, true);
  ga__args_pointer(&args, out->data, 0, false);
  ga__args_pointer(&args, s->from->data, s->from->offset, true);
  ga__args_u64(&args, s->n);
  ga__args_u64(&args, s->per_block);
  add_axes(&args, s);
  add_strides(&args, s, s->from_strides, s->from->typecode);
  return launch(s, &spec, &args, s->blocks);
}

/* a[mask] of single elements: stream compaction. */
static int pick_elements(GpuArray *out, const GpuArray *a, const GpuArray *mask) {
  search s;
  GA_TRY(begin_search(&s, mask, "compress"));
  plan_walk(&s, a);
  GpuArray result = {0};
  int status = ga__shape_narrow(s.nd, s.dims, "compress", "copy the array first");
  GA_THEN(status,
          GpuArray_empty(&result, s.context, a->typecode, 1, &s.total, GA_C_ORDER));
  if (status == GA_NO_ERROR && s.n > 0)
    status = queue_pick(&result, &s);
  end_search(&s);
  return ga__array_return(out, &result, status);
}

int GpuArray_compress(GpuArray *out, const GpuArray *a, const GpuArray *mask) {
  if (out == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "compress: got no output array");
  GA_TRY(check_mask(a, mask, "compress"));
  return a->nd == mask->nd && ga__index_has_words(a) ? pick_elements(out, a, mask)
                                                     : pick_parts(out, a, mask);
}

/* A value for all masked positions: predicated store. */
static int put_everywhere(const GpuArray *a, const GpuArray *mask, const GpuArray *v) {
  const ga_indices none = {0, 0, NULL, GA_INDEX_TRUSTED, "put_mask"};
  GpuArray apart = {0};
  const GpuArray *keep = mask;
  if (GpuArray_share(a, mask)) {
    GA_TRY(GpuArray_copy(&apart, mask, GA_C_ORDER));
    keep = &apart;
  }
  int status = ga__index_put(a, &none, v, keep);
  GpuArray_clear(&apart);
  return status;
}

/* One value per masked position: scatter. */
static int put_in_order(const GpuArray *a, const GpuArray *mask, const GpuArray *v) {
  mask_indices f;
  GA_TRY(find_indices(&f, mask, "put_mask"));
  int status = ga__index_put(a, &f.ix, v, NULL);
  GpuArray_clear(&f.positions);
  return status;
}

int GpuArray_put_mask(GpuArray *a, const GpuArray *mask, const GpuArray *v) {
  GA_TRY(ga__index_check_target(a, v, "put_mask"));
  GA_TRY(check_mask(a, mask, "put_mask"));
  GpuArray result, squeezed;
  const GpuArray *values;
  /* a single value may have a leading axis of length 1 */
  const unsigned int rest = a->nd - mask->nd;
  squeezed = *v;
  while (squeezed.nd > rest && squeezed.dimensions[0] == 1) {
    squeezed.nd--;
    memmove(squeezed.dimensions, squeezed.dimensions + 1,
            squeezed.nd * sizeof *squeezed.dimensions);
    memmove(squeezed.strides, squeezed.strides + 1,
            squeezed.nd * sizeof *squeezed.strides);
  }
  GpuArray_fix_flags(&squeezed);
  int status = ga__index_values(&values, &result, a, &squeezed);
  GA_THEN(status, values->nd <= rest ? put_everywhere(a, mask, values)
                                     : put_in_order(a, mask, values));
  GpuArray_clear(&result);
  return status;
}
