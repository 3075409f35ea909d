/* Sorting of rows: choice of the algorithm, passes and launches. */
#include "c/sort/sort_run.h"

#include <string.h>

#include <gpuarray/scan.h>

/* ---- kernels ---- */

/* Bits per digit of the chunked radix sort: an item keeps a counter per digit value. */
static int chunk_bits(const ga_device_info *info) {
  return info->is_cpu ? 11 : 4;
}

/* True if tiles of a sweep are large: two groups of them are on a processor at once. */
static bool is_wide(const gpucontext *ctx, int typecode, int value_size) {
  return ctx->info.local_memory >= 200 << 10 && gpuarray_get_elsize(typecode) == 4 &&
         value_size == 8;
}

int ga__sort_kernel(gpukernel **out, gpucontext *ctx, int kind, int typecode,
                    int value_size, bool is_large) {
  ga_sort_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.kind = kind;
  spec.typecode = typecode;
  spec.value_size = value_size;
  spec.is_large = is_large;
  spec.is_cpu = ctx->info.is_cpu;
  const bool chunks = kind == GA_SORT_COUNT || kind == GA_SORT_SCATTER;
  spec.bits = chunks ? chunk_bits(&ctx->info) : 8;
  spec.is_wide = kind == GA_SORT_SWEEP && is_wide(ctx, typecode, value_size);
  return ga__kernel_kept(out, ctx, ga__sort_source, &spec, sizeof spec);
}

static ga_sort_spec spec_of(const ga_sort_task *t, int value_size, int bits) {
  return (ga_sort_spec){.typecode = t->typecode,
                        .value_size = value_size,
                        .bits = bits,
                        .is_wide = is_wide(t->context, t->typecode, value_size)};
}

void ga__sort_add_place(ga_args *args, ga_sort_place p, gpudata *otherwise) {
  gpudata *data = p.data ? p.data : otherwise;
  ga__args_pointer(args, data, p.data ? p.offset : 0, false);
}

void ga__sort_add_moves(ga_args *args, const ga_sort_moves *m) {
  args->n = 0;
  ga__args_pointer(args, m->in.data, m->in.offset, true);
  gpudata *any = m->out.data       ? m->out.data
                 : m->indices.data ? m->indices.data
                 : m->vout.data    ? m->vout.data
                                   : m->in.data;
  ga__sort_add_place(args, m->out, any);
  ga__sort_add_place(args, m->vin, any);
  ga__sort_add_place(args, m->vout, any);
  ga__sort_add_place(args, m->indices, any);
}

int ga__sort_launch(gpukernel *kernel, const ga_args *args, size_t groups, size_t items,
                    size_t slots) {
  const ga_launch l = {.nd = 2,
                       .grid = {groups, 1, 1},
                       .block = {items, slots, 1},
                       .n_args = args->n,
                       .args = args->list};
  return ga__kernel_launch(kernel, &l);
}

/* Exclusive prefix sums of `rows` rows of `n` counts, in place. */
static int prefix_sums(gpudata *counts, int typecode, size_t rows, size_t n) {
  const size_t dims[2] = {rows, n};
  GpuArray a;
  GA_TRY(GpuArray_fromdata(&a, counts, 0, typecode, 2, dims, NULL, 1));
  int status = GpuArray_cumsum(&a, &a, 1, GA_SCAN_EXCLUSIVE);
  GpuArray_clear(&a);
  return status;
}

static int new_zeros(gpudata **out, gpucontext *ctx, size_t size) {
  GA_TRY(ga__buffer_new(out, ctx, size));
  int status = ga__buffer_fill(*out, 0, 0, size);
  if (status != GA_NO_ERROR)
    gpudata_release(*out);
  return status;
}

/* ---- short rows ---- */

static int sort_blocks(const ga_sort_task *t) {
  const ga_device_info *info = &t->context->info;
  gpukernel *kernel;
  GA_TRY(ga__sort_kernel(&kernel, t->context, GA_SORT_BLOCK, t->typecode, t->value_size,
                         false));
  const ga_sort_moves m = {t->keys, t->out_keys, t->values, t->out_values,
                           t->out_indices};
  const int mode = (t->out_keys.data ? GA_SORT_KEYS : 0) |
                   (t->out_indices.data ? GA_SORT_LONG : 0) |
                   (t->descending ? GA_SORT_FLIP : 0);
  size_t power = 1, lanes = 1, slots = 1;
  while (power < t->n)
    power *= 2;
  if (!info->is_cpu) {
    const size_t threads = ga__smaller(GA_SORT_THREADS, ga__kernel_threads(kernel));
    while (2 * lanes <= threads && 2 * lanes < power)
      lanes *= 2;
    while (2 * slots * lanes <= threads &&
           2 * slots * power <= ga__sort_room(t->typecode))
      slots *= 2;
  }
  size_t groups = ga__ceil_div(t->rows, slots);
  groups = ga__smaller(groups, info->is_cpu ? 32 * info->processors : (size_t)1 << 20);
  ga_args args;
  ga__sort_add_moves(&args, &m);
  ga__args_u64(&args, t->rows);
  ga__args_u64(&args, t->n);
  ga__args_u64(&args, power);
  ga__args_i32(&args, mode);
  return ga__sort_launch(kernel, &args, groups, lanes, slots);
}

/* ---- radix sort passes ---- */

/* Ping-pong buffers: passes alternate so that the last one writes the results. */
typedef struct passes {
  unsigned int n;
  int value_size; /* bytes of payload: values, or positions of 4 bytes */
  bool makes_indices;
  gpudata *keys[2]; /* [0]: source of the last pass and every second one before; NULL:
                       unused, or the result's memory serves */
  gpudata *values[2];
} passes;

static void clear_passes(passes *p) {
  for (int i = 0; i < 2; i++) {
    gpudata_release(p->keys[i]);
    gpudata_release(p->values[i]);
  }
}

/* True if the results' memory cannot be a ping-pong buffer. */
static bool is_in_place(const ga_sort_task *t) {
  return t->out_keys.data == t->keys.data ||
         (t->value_size > 0 && t->out_values.data == t->values.data);
}

static int open_passes(passes *p, const ga_sort_task *t, unsigned int n) {
  *p = (passes){.n = n, .makes_indices = t->out_indices.data != NULL};
  p->value_size = p->makes_indices ? 4 : t->value_size;
  const size_t count = t->rows * t->n;
  const bool may_use = !is_in_place(t);
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < 2 && i + 2 <= n && status == GA_NO_ERROR; i++) {
    if (i == 0 || !may_use || t->out_keys.data == NULL)
      status = ga__buffer_new(&p->keys[i], t->context, count * ga__sort_key_size(t));
    if (status == GA_NO_ERROR && p->value_size > 0 &&
        (i == 0 || !may_use || t->out_values.data == NULL || t->out_upper.data))
      status = ga__buffer_new(&p->values[i], t->context,
                              count * (unsigned int)p->value_size);
  }
  if (status != GA_NO_ERROR)
    clear_passes(p);
  return status;
}

static ga_sort_place place_of(gpudata *own, ga_sort_place result) {
  return own ? (ga_sort_place){own, 0} : result;
}

/* Sources and destinations of pass `i`; returns its mode. */
static int moves_of(ga_sort_moves *m, const passes *p, const ga_sort_task *t,
                    unsigned int i) {
  const bool is_first = i == 0, is_last = i + 1 == p->n;
  const int to = (p->n - 1 - i) % 2 == 0, from = !to;
  int mode = t->descending ? GA_SORT_FLIP : 0;
  *m = (ga_sort_moves){.in = t->keys, .vin = t->values};
  if (!is_first) {
    m->in = place_of(p->keys[from], t->out_keys);
    m->vin = place_of(p->values[from], t->out_values);
  } else if (p->makes_indices) {
    mode |= GA_SORT_IOTA;
  } else if (t->upper.data) {
    m->indices = t->upper;
    mode |= GA_SORT_JOIN;
  }
  m->out = is_last ? t->out_keys : place_of(p->keys[to], t->out_keys);
  if (m->out.data)
    mode |= GA_SORT_KEYS;
  if (is_last && p->makes_indices) {
    m->indices = t->out_indices;
    mode |= GA_SORT_LONG;
  } else if (p->value_size > 0) {
    m->vout = is_last ? t->out_values : place_of(p->values[to], t->out_values);
    if (is_last && t->out_upper.data) {
      m->indices = t->out_upper;
      mode |= GA_SORT_HALVES;
    }
  }
  return mode;
}

/* Number of digits to sort by. */
static unsigned int count_passes(const ga_sort_task *t, const ga_sort_spec *spec) {
  const unsigned int all = ga__sort_passes(spec), bits = (unsigned int)spec->bits;
  const unsigned int some = (t->key_bits + bits - 1) / bits;
  return some > 0 && some < all ? some : all;
}

/* ---- onesweep ---- */

static int count_digits(gpudata *bins, const ga_sort_task *t, bool is_large,
                        unsigned int n_passes) {
  gpukernel *kernel;
  const ga_sort_moves m = {.in = t->keys};
  const size_t wanted = (size_t)8 * t->context->info.processors;
  size_t blocks = ga__ceil_div(t->n, (size_t)4 * GA_SORT_THREADS * 4);
  blocks = ga__smaller(blocks, ga__ceil_div(wanted, t->rows));
  GA_TRY(ga__sort_kernel(&kernel, t->context, GA_SORT_HISTOGRAM, t->typecode, 0,
                         is_large));
  ga_args args;
  ga__sort_add_moves(&args, &m);
  ga__args_pointer(&args, bins, 0, false);
  ga__args_u64(&args, t->rows);
  ga__args_u64(&args, t->n);
  ga__args_u64(&args, blocks);
  ga__args_i32(&args, t->descending ? GA_SORT_FLIP : 0);
  GA_TRY(ga__sort_launch(kernel, &args, t->rows * blocks, GA_SORT_THREADS, 1));
  return prefix_sums(bins, is_large ? GA_ULONG : GA_UINT, t->rows * n_passes, 256);
}

static int sweep(const ga_sort_task *t, const passes *p, gpudata *bins, gpudata *state,
                 size_t state_size, size_t tiles, bool is_large) {
  const ga_sort_spec spec = spec_of(t, p->value_size, 8);
  gpukernel *kernel;
  GA_TRY(ga__sort_kernel(&kernel, t->context, GA_SORT_SWEEP, t->typecode, p->value_size,
                         is_large));
  for (unsigned int i = 0; i < p->n; i++) {
    ga_sort_moves m;
    const int mode = moves_of(&m, p, t, i);
    ga_args args;
    GA_TRY(ga__buffer_fill(state, 0, 0, state_size));
    ga__sort_add_moves(&args, &m);
    ga__args_pointer(&args, bins, 0, false);
    ga__args_pointer(&args, state, 0, false);
    ga__args_u64(&args, t->rows);
    ga__args_u64(&args, t->n);
    ga__args_u64(&args, tiles);
    ga__args_i32(&args, (int32_t)i);
    ga__args_i32(&args, mode);
    const ga_launch l = {.nd = 1,
                         .grid = {t->rows * tiles, 1, 1},
                         .block = {ga__sort_sweep_threads(&spec), 1, 1},
                         .shared = ga__sort_sweep_memory(&spec),
                         .n_args = args.n,
                         .args = args.list};
    GA_TRY(ga__kernel_launch(kernel, &l));
  }
  return GA_NO_ERROR;
}

static int sort_sweeping(const ga_sort_task *t) {
  const bool is_large = t->n >= (size_t)1 << 30;
  const int moved = t->out_indices.data ? 4 : t->value_size;
  const ga_sort_spec spec = spec_of(t, moved, 8);
  const unsigned int n = ga__sort_passes(&spec); /* the histogram covers all digits */
  const size_t word = is_large ? 8 : 4,
               tiles = ga__ceil_div(t->n, ga__sort_tile(&spec));
  const size_t state_size = 8 + t->rows * tiles * 256 * word;
  gpudata *bins = NULL, *state = NULL;
  passes p;
  GA_TRY(open_passes(&p, t, count_passes(t, &spec)));
  int status = new_zeros(&bins, t->context, t->rows * n * 256 * word);
  if (status == GA_NO_ERROR) {
    status = count_digits(bins, t, is_large, n);
    GA_THEN(status, ga__buffer_new(&state, t->context, state_size));
    GA_THEN(status, sweep(t, &p, bins, state, state_size, tiles, is_large));
    gpudata_release(state);
    gpudata_release(bins);
  }
  clear_passes(&p);
  return status;
}

/* ---- chunked radix sort: count and scatter per digit ---- */

static int chunk_pass(const ga_sort_task *t, const passes *p, unsigned int i,
                      gpudata *counts, size_t chunk, size_t chunks, int radix) {
  const ga_device_info *info = &t->context->info;
  const size_t items = info->is_cpu ? 1 : 64;
  const size_t work = ga__ceil_div(t->rows * chunks, items);
  const size_t groups = ga__smaller(work, info->is_cpu ? 32 * info->processors : work);
  ga_sort_moves m;
  const int mode = moves_of(&m, p, t, i);
  for (int kind = GA_SORT_COUNT; kind <= GA_SORT_SCATTER; kind++) {
    gpukernel *kernel;
    ga_args args;
    GA_TRY(ga__sort_kernel(&kernel, t->context, kind, t->typecode,
                           kind == GA_SORT_COUNT ? 0 : p->value_size, false));
    ga__sort_add_moves(&args, &m);
    ga__args_pointer(&args, counts, 0, false);
    ga__args_u64(&args, t->rows);
    ga__args_u64(&args, t->n);
    ga__args_u64(&args, chunk);
    ga__args_u64(&args, chunks);
    ga__args_i32(&args, (int32_t)i);
    ga__args_i32(&args, mode);
    GA_TRY(ga__sort_launch(kernel, &args, groups, items, 1));
    if (kind == GA_SORT_COUNT)
      GA_TRY(prefix_sums(counts, GA_UINT, t->rows, (size_t)radix * chunks));
  }
  return GA_NO_ERROR;
}

static int sort_chunks(const ga_sort_task *t) {
  const ga_device_info *info = &t->context->info;
  const int bits = chunk_bits(info), radix = 1 << bits;
  const size_t wanted = (size_t)(info->is_cpu ? 4 : 512) * info->processors;
  const size_t least = info->is_cpu ? 16384 : 64;
  size_t chunk = ga__ceil_div(t->n, ga__ceil_div(wanted, t->rows));
  if (chunk < least)
    chunk = least;
  const size_t chunks = ga__ceil_div(t->n, chunk);
  const ga_sort_spec spec = spec_of(t, 0, bits);
  gpudata *counts;
  passes p;
  GA_TRY(open_passes(&p, t, count_passes(t, &spec)));
  int status = ga__buffer_new(&counts, t->context,
                              t->rows * (size_t)radix * chunks * sizeof(uint32_t));
  if (status == GA_NO_ERROR) {
    for (unsigned int i = 0; i < p.n && status == GA_NO_ERROR; i++)
      status = chunk_pass(t, &p, i, counts, chunk, chunks, radix);
    gpudata_release(counts);
  }
  clear_passes(&p);
  return status;
}

int ga__sort_rows(const ga_sort_task *t) {
  if (t->n <= ga__sort_room(t->typecode))
    return sort_blocks(t);
  return ga__sweeps_serve(t) ? sort_sweeping(t) : sort_chunks(t);
}
