/* Top-k of rows: choice of the algorithm, and launches. */
#include "c/sort/sort_run.h"

#include "c/base/dtype.h"

/* Selected keys and their positions. */
typedef struct selection {
  gpudata *keys, *indices;
} selection;

static void clear_selection(selection *c) {
  gpudata_release(c->keys);
  gpudata_release(c->indices);
  *c = (selection){NULL, NULL};
}

static int open_selection(selection *c, const ga_sort_task *t, size_t count) {
  *c = (selection){NULL, NULL};
  GA_TRY(ga__buffer_new(&c->keys, t->context, count * ga__sort_key_size(t)));
  int status = ga__buffer_new(&c->indices, t->context, count * 8);
  if (status != GA_NO_ERROR)
    clear_selection(c);
  return status;
}

static ga_sort_place start_of(gpudata *data) {
  return (ga_sort_place){data, 0};
}

/* Arguments of SELECT and PICK after the common ones. */
static void add_choice(ga_args *args, const ga_sort_task *t, ga_sort_place from,
                       size_t chunk, size_t chunks, size_t k) {
  ga__sort_add_place(args, from, t->keys.data);
  ga__args_u64(args, t->rows);
  ga__args_u64(args, t->n);
  ga__args_u64(args, chunk);
  ga__args_u64(args, chunks);
  ga__args_u64(args, k);
}

/* Sorts the selection into the results. */
static int sort_selection(const ga_sort_task *task, const selection *c, size_t k) {
  ga_sort_task t = *task;
  t.n = k;
  t.keys = start_of(c->keys);
  t.out_indices = start_of(NULL);
  if (task->out_indices.data) {
    t.values = start_of(c->indices);
    t.out_values = task->out_indices;
    t.value_size = 8;
  }
  return ga__sort_rows(&t);
}

/* ---- radix select in registers (PICK) ---- */

/* A work group per chunk, and no more than a grid can have. */
static bool may_pick(const ga_sort_task *t) {
  const ga_device_info *info = &t->context->info;
  return (info->has_progress || info->is_cpu) && ga__dtype_kind(t->typecode) != 'c' &&
         t->rows < (size_t)1 << 30;
}

/* Maximum block size. */
static size_t pick_threads(gpukernel *kernel) {
  return ga__smaller(GA_SORT_PICK_THREADS, ga__kernel_threads(kernel)) / 32 * 32;
}

/* Largest k for PICK: chunks at least half fill a group, and their first k together
 * must be fewer than the row. */
static size_t pick_most(const ga_sort_task *t, size_t threads) {
  const size_t own = ga__sort_pick_items(t->typecode);
  return t->context->info.is_cpu
             ? GA_SORT_HELD / 2
             : ga__smaller(threads * own / 3, GA_SORT_PICK_THREADS / 4 * own);
}

/* Number of chunks per row; *items: block size. */
static size_t cut(size_t *items, const ga_sort_task *t, size_t k, gpukernel *kernel) {
  const ga_device_info *info = &t->context->info;
  const size_t own = ga__sort_pick_items(t->typecode);
  if (info->is_cpu) {
    const size_t wanted = ga__ceil_div((size_t)4 * info->processors, t->rows);
    *items = 1;
    return 1 + ga__smaller(wanted - 1, t->n / (16 * k < 16384 ? 16384 : 16 * k));
  }
  size_t threads = pick_threads(kernel);
  if (t->n > threads * own && k <= 64 && threads > 512)
    threads = 512;
  const size_t chunks = ga__ceil_div(t->n, threads * own);
  *items = ga__ceil_div(ga__ceil_div(ga__ceil_div(t->n, chunks), own), 32) * 32;
  return chunks;
}

static int pick_once(gpukernel *kernel, const ga_sort_task *t, size_t k, size_t items,
                     size_t chunks, const selection *from, const selection *to,
                     int mode) {
  const ga_device_info *info = &t->context->info;
  const ga_sort_moves m = {
      .in = t->keys,
      .out = to ? start_of(to->keys) : t->out_keys,
      .indices = to ? start_of(to->indices) : t->out_indices,
  };
  const size_t work = t->rows * chunks;
  ga_args args;
  mode |= (t->descending ? GA_SORT_FLIP : 0) | (from->keys ? GA_SORT_GIVEN : 0) |
          (m.out.data ? GA_SORT_KEYS : 0) | (m.indices.data ? GA_SORT_LONG : 0);
  ga__sort_add_moves(&args, &m);
  add_choice(&args, t, start_of(from->indices), t->n / chunks, chunks, k);
  ga__args_i32(&args, mode);
  return ga__sort_launch(kernel, &args,
                         info->is_cpu ? ga__smaller(work, 32 * info->processors) : work,
                         items, 1);
}

/* Selects the first k of each chunk, then of these, until one chunk is left. */
static int pick_rows(const ga_sort_task *task, gpukernel *kernel, size_t k) {
  ga_sort_task t = *task;
  selection from = {NULL, NULL}, to = {NULL, NULL};
  size_t chunks = 0, items;
  int status = GA_NO_ERROR;
  while (chunks != 1 && status == GA_NO_ERROR) {
    chunks = cut(&items, &t, k, kernel);
    if (chunks == 1 && k <= GA_SORT_RANKED) {
      status = pick_once(kernel, &t, k, items, 1, &from, NULL, GA_SORT_ORDER);
      clear_selection(&from);
      return status;
    }
    status = open_selection(&to, &t, t.rows * chunks * k);
    GA_THEN(status, pick_once(kernel, &t, k, items, chunks, &from, &to, 0));
    clear_selection(&from);
    from = to;
    t.keys = start_of(from.keys);
    t.n = chunks * k;
  }
  GA_THEN(status, sort_selection(task, &from, k));
  clear_selection(&from);
  return status;
}

/* ---- radix select over chunks of any length (SELECT) ---- */

static int select_once(const ga_sort_task *t, size_t k, size_t chunk,
                       const selection *from, const selection *to) {
  const ga_device_info *info = &t->context->info;
  const size_t chunks = ga__ceil_div(t->n, chunk);
  const size_t most = info->is_cpu ? 32 * info->processors : (size_t)1 << 20;
  gpukernel *kernel;
  GA_TRY(ga__sort_kernel(&kernel, t->context, GA_SORT_SELECT, t->typecode, 0, false));
  const ga_sort_moves m = {
      .in = t->keys, .out = start_of(to->keys), .indices = start_of(to->indices)};
  size_t items = 1;
  while (!info->is_cpu &&
         2 * items <= ga__smaller(GA_SORT_THREADS, ga__kernel_threads(kernel)))
    items *= 2;
  ga_args args;
  ga__sort_add_moves(&args, &m);
  add_choice(&args, t, start_of(from->indices), chunk, chunks, k);
  ga__args_i32(&args,
               (t->descending ? GA_SORT_FLIP : 0) | (from->keys ? GA_SORT_GIVEN : 0));
  return ga__sort_launch(kernel, &args, ga__smaller(t->rows * chunks, most), items, 1);
}

/* Chunk length; the last chunk must have at least k elements. */
static size_t choose_chunk(const ga_sort_task *t, size_t k) {
  const size_t wanted =
      (size_t)(t->context->info.is_cpu ? 4 : 8) * t->context->info.processors;
  size_t chunk = ga__ceil_div(t->n, ga__ceil_div(wanted, t->rows));
  const size_t least = ga__smaller(t->n, 16 * k < 16384 ? 16384 : 16 * k);
  if (chunk < least)
    chunk = least;
  while (chunk < t->n && t->n % chunk != 0 && t->n % chunk < k)
    chunk++;
  return ga__smaller(chunk, t->n);
}

/* Selects the first k of each chunk, in order, then of these. */
static int select_chunks(selection *out, const ga_sort_task *t, size_t k) {
  const size_t chunk = choose_chunk(t, k), chunks = ga__ceil_div(t->n, chunk);
  const selection none = {NULL, NULL};
  selection some;
  GA_TRY(open_selection(&some, t, t->rows * chunks * k));
  int status = select_once(t, k, chunk, &none, &some);
  if (status != GA_NO_ERROR || chunks == 1) {
    *out = some;
    return status;
  }
  ga_sort_task rest = *t;
  rest.keys = start_of(some.keys);
  rest.n = chunks * k;
  status = open_selection(out, t, t->rows * k);
  GA_THEN(status, select_once(&rest, k, rest.n, &some, out));
  clear_selection(&some);
  return status;
}

/* ---- choice ---- */

bool ga__select_serves(const ga_sort_task *t, size_t k) {
  gpukernel *kernel;
  if (4 * k > t->n)
    return false;
  if (!may_pick(t))
    return t->n > ga__sort_room(t->typecode) / 4;
  /* a compiler error is raised by ga__select_rows */
  return t->n > (t->context->info.is_cpu ? 32 : 128) &&
         (ga__sort_kernel(&kernel, t->context, GA_SORT_PICK, t->typecode, 0, false) !=
              GA_NO_ERROR ||
          k <= pick_most(t, pick_threads(kernel)));
}

int ga__select_rows(const ga_sort_task *t, size_t k) {
  if (may_pick(t)) {
    gpukernel *kernel;
    GA_TRY(ga__sort_kernel(&kernel, t->context, GA_SORT_PICK, t->typecode, 0, false));
    return pick_rows(t, kernel, k);
  }
  selection c = {NULL, NULL};
  int status = select_chunks(&c, t, k);
  GA_THEN(status, sort_selection(t, &c, k));
  clear_selection(&c);
  return status;
}
