/* GpuReduction: what is reduced, its kernels, and their launches. */
#include <stdatomic.h>
#include <string.h>

#include "c/reduce_geometry.h"
#include "c/reduction.h"

#define SIMPLE_RANK                                                                    \
  2 /* kept and reduced axes of the kernels that serve most shapes                     \
     */

/* A kernel that was asked for once; never removed. */
typedef struct variant {
  enum ga_reduce_kind kind;
  bool is_parts, is_wide;
  unsigned int nk, nr;
  gpukernel *kernel; /* the context's */
  struct variant *next;
} variant;

struct _GpuReduction {
  gpucontext *context;
  ga_reduce_spec spec;  /* its texts are owned */
  ga_reduce_spec parts; /* of partial results; borrows its texts from `spec` */
  gpuelemwise_arg parts_input;
  _Atomic(variant *) variants;
};

/* ---- making one ---- */

static int check_spec(gpucontext *ctx, const gpureduction_spec *spec) {
  if (ctx == NULL || spec == NULL)
    return GA_FAIL(GA_INVALID_ERROR, "reduction: needs a context and a spec; got NULL");
  if (spec->size != sizeof *spec)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: the spec's size is %zu, expected %zu; set it to "
                   "sizeof(gpureduction_spec)",
                   spec->size, sizeof *spec);
  if (spec->map == NULL || spec->combine == NULL || spec->identity == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: map, combine and identity are needed; one is NULL");
  if (spec->n == 0 || spec->n > GA_REDUCE_INPUTS || spec->inputs == NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "reduction: got %u inputs, expected 1 to %d",
                   spec->n, GA_REDUCE_INPUTS);
  GA_TRY(ga__context_supports(ctx, spec->acc_typecode, "reduction"));
  GA_TRY(ga__context_supports(ctx, spec->out_typecode, "reduction"));
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    if (arg->name == NULL)
      return GA_FAIL(GA_INVALID_ERROR, "reduction: input %u has no name", i);
    if (arg->flags & GE_WRITE)
      return GA_FAIL(GA_INVALID_ERROR, "reduction: input `%s` cannot be written",
                     arg->name);
    GA_TRY(ga__context_supports(ctx, arg->typecode, "reduction"));
  }
  return GA_NO_ERROR;
}

static bool is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

/* Accumulators of an item: what it has in flight. On a CPU they fill vector registers;
 * on a GPU more of them leave room for fewer items. */
static unsigned int choose_width(const gpucontext *ctx, enum ga_reduce_kind kind,
                                 int acc) {
  if (ctx->info.is_cpu)
    return 16;
  return kind == GA_REDUCE_ROWS && gpuarray_get_elsize(acc) < 8 ? 8 : 4;
}

static int copy_text(const char **out, const char *text) {
  if (text == NULL)
    return GA_NO_ERROR;
  *out = ga__strdup(text);
  return *out == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
}

static int copy_spec(GpuReduction *gr, const gpureduction_spec *spec) {
  ga_reduce_spec *own = &gr->spec;
  gpuelemwise_arg *inputs = ga__alloc(spec->n, sizeof *inputs);
  if (inputs == NULL)
    return GA_MEMORY_ERROR;
  own->inputs = inputs;
  own->n = spec->n;
  for (unsigned int i = 0; i < spec->n; i++) {
    inputs[i] = spec->inputs[i];
    inputs[i].name = NULL;
  }
  for (unsigned int i = 0; i < spec->n; i++)
    GA_TRY(copy_text(&inputs[i].name, spec->inputs[i].name));
  GA_TRY(copy_text(&own->preamble, spec->preamble));
  GA_TRY(copy_text(&own->prologue, spec->prologue));
  GA_TRY(copy_text(&own->map, spec->map));
  GA_TRY(copy_text(&own->combine, spec->combine));
  GA_TRY(copy_text(&own->identity, spec->identity));
  own->acc = ga__dtype_work(spec->acc_typecode);
  own->out = spec->out_typecode;
  own->is_cpu = gr->context->info.is_cpu;

  gr->parts_input = (gpuelemwise_arg){.name = "part", .typecode = own->acc};
  gr->parts = *own;
  gr->parts.prologue = NULL;
  gr->parts.map = "part";
  gr->parts.n = 1;
  gr->parts.inputs = &gr->parts_input;
  return GA_NO_ERROR;
}

GpuReduction *GpuReduction_new(gpucontext *ctx, const gpureduction_spec *spec,
                               int *ret) {
  GpuReduction *gr = NULL;
  int status = check_spec(ctx, spec);
  if (status == GA_NO_ERROR) {
    gr = ga__alloc(1, sizeof *gr);
    status = gr == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  }
  if (status == GA_NO_ERROR) {
    gr->context = ctx;
    gpucontext_retain(ctx);
    status = copy_spec(gr, spec);
  }
  if (status != GA_NO_ERROR) {
    GpuReduction_free(gr);
    gr = NULL;
    if (ret != NULL)
      *ret = status;
  }
  return gr;
}

/* The texts are const to those who read the spec; here is their owner. */
static void free_text(const char *text) {
  ga__free((void *)(uintptr_t)text);
}

void GpuReduction_free(GpuReduction *gr) {
  if (gr == NULL)
    return;
  for (variant *v = atomic_load(&gr->variants); v != NULL;) {
    variant *next = v->next;
    ga__free(v);
    v = next;
  }
  for (unsigned int i = 0; i < gr->spec.n; i++)
    free_text(gr->spec.inputs[i].name);
  ga__free((void *)(uintptr_t)gr->spec.inputs);
  free_text(gr->spec.preamble);
  free_text(gr->spec.prologue);
  free_text(gr->spec.map);
  free_text(gr->spec.combine);
  free_text(gr->spec.identity);
  gpucontext_deref(gr->context);
  ga__free(gr);
}

/* ---- kernels ---- */

static int make_source(ga_source *out, const GpuReduction *gr, const variant *v) {
  ga_reduce_spec spec = v->is_parts ? gr->parts : gr->spec;
  spec.width = choose_width(gr->context, v->kind, spec.acc);
  spec.is_wide = v->is_wide;
  return ga__reduce_source(out, &spec, v->kind, v->nk, v->nr);
}

static int compile(gpukernel **out, const GpuReduction *gr, const variant *v) {
  ga_source source = {0};
  GA_TRY(make_source(&source, gr, v));
  int status = ga__kernel_get(out, gr->context, &source);
  ga__strbuf_clear(&source.body);
  return status;
}

static int get_kernel(gpukernel **out, GpuReduction *gr, const variant *wanted) {
  for (variant *v = atomic_load(&gr->variants); v != NULL; v = v->next)
    if (v->kind == wanted->kind && v->is_parts == wanted->is_parts &&
        v->is_wide == wanted->is_wide && v->nk == wanted->nk && v->nr == wanted->nr) {
      *out = v->kernel;
      return GA_NO_ERROR;
    }
  variant made = *wanted;
  GA_TRY(compile(&made.kernel, gr, wanted));
  variant *v = ga__alloc(1, sizeof *v);
  if (v == NULL)
    return GA_MEMORY_ERROR;
  made.next = atomic_load(&gr->variants);
  *v = made;
  while (!atomic_compare_exchange_weak(&gr->variants, &v->next, v))
    ;
  *out = v->kernel;
  return GA_NO_ERROR;
}

static unsigned int full_rank(unsigned int n) {
  return n < SIMPLE_RANK ? SIMPLE_RANK : n;
}

int ga__reduction_sources(ga_source out[6], unsigned int *n, GpuReduction *gr,
                          unsigned int nd, unsigned int axes) {
  unsigned int nr = 0;
  for (unsigned int i = 0; i < nd; i++)
    nr += (axes >> i) & 1;
  const unsigned int nk = nd - nr, fk = full_rank(nk), fr = full_rank(nr);
  const bool is_full = nk > SIMPLE_RANK || nr > SIMPLE_RANK;
  const variant all[] = {
      {.kind = GA_REDUCE_COLUMNS, .is_parts = true, .nk = 1, .nr = 1},
      {.kind = GA_REDUCE_ROWS, .nk = SIMPLE_RANK, .nr = SIMPLE_RANK},
      {.kind = GA_REDUCE_COLUMNS, .nk = SIMPLE_RANK, .nr = SIMPLE_RANK},
      {.kind = GA_REDUCE_ROWS, .nk = fk, .nr = fr},
      {.kind = GA_REDUCE_COLUMNS, .nk = fk, .nr = fr}};
  const size_t count = is_full ? 5 : 3;
  *n = 0;
  for (size_t i = 0; i < count; i++) {
    if (!all[i].is_parts && all[i].kind == GA_REDUCE_COLUMNS && nk == 0)
      continue; /* one result is a row */
    int status = make_source(&out[*n], gr, &all[i]);
    if (status != GA_NO_ERROR) {
      while (*n > 0)
        ga__strbuf_clear(&out[--*n].body);
      return status;
    }
    ++*n;
  }
  return GA_NO_ERROR;
}

/* ---- launches ---- */

/* Counts take 32 bits below this; sums of a count and what a block takes at once do. */
#define NARROW ((size_t)INT32_MAX - (1 << 20))

static void add_count(ga_args *args, bool is_wide, size_t value) {
  if (is_wide)
    ga__args_i64(args, (int64_t)value);
  else
    ga__args_i32(args, (int32_t)value);
}

static void add_geometry(ga_args *args, bool is_wide, const ga_reduce_geometry *g,
                         size_t results, size_t across, int mode) {
  const size_t counts[] = {g->tiles,        ga__ceil_div(g->tiles, g->groups),
                           results,         across,
                           g->outer,        g->outer_per,
                           g->inner,        g->inner_per,
                           g->splits_inner, g->lanes_outer,
                           (size_t)mode};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    add_count(args, is_wide, counts[i]);
}

/* The group's axes, after as many of length 1 as make `rank`. */
static void add_group(ga_args *args, bool is_wide, const ga_reduce_problem *p,
                      const ga_axis_group *g, unsigned int rank, bool kept) {
  for (unsigned int k = 0; k < rank; k++) {
    bool padding = k < rank - g->nd;
    unsigned int axis = k - (rank - g->nd);
    add_count(args, is_wide, padding ? 1 : g->dims[axis]);
    if (kept)
      ga__args_i64(args, padding ? 0 : g->strides[p->n][axis]);
    for (unsigned int i = 0; i < p->n; i++)
      if (p->arrays[i] != NULL)
        ga__args_i64(args, padding ? 0 : g->strides[i][axis]);
  }
}

static int launch(gpukernel *kernel, const ga_reduce_geometry *g, const ga_args *args) {
  const ga_launch l = {
      .nd = 2,
      .grid = {ga__ceil_div(g->tiles, ga__ceil_div(g->tiles, g->groups)), g->splits, 1},
      .block = {g->lanes, g->items, 1},
      .n_args = args->n,
      .args = args->list};
  return ga__kernel_launch(kernel, &l);
}

static size_t block_threads(const gpukernel *kernel) {
  size_t threads = GA_REDUCE_BLOCK;
  while (threads > 1 && threads > ga__kernel_threads(kernel))
    threads /= 2;
  return threads;
}

/* Reduces part[splits][results] into `out`; no splits give the identity. */
static int reduce_parts(GpuReduction *gr, const GpuArray *out, gpudata *part,
                        size_t results, size_t splits) {
  gpukernel *kernel;
  const variant wanted = {.kind = GA_REDUCE_COLUMNS,
                          .is_parts = true,
                          .is_wide = results * splits >= NARROW || results >= NARROW,
                          .nk = 1,
                          .nr = 1};
  GA_TRY(get_kernel(&kernel, gr, &wanted));
  ga_reduce_geometry g =
      ga__reduce_geometry(&gr->context->info, GA_REDUCE_COLUMNS,
                          choose_width(gr->context, wanted.kind, gr->spec.acc),
                          block_threads(kernel), results, results, 1, splits);
  ga__reduce_set_splits(&g, 1, 1, 1);
  const size_t size = gpuarray_get_elsize(gr->spec.acc);
  ga_args args;
  args.n = 0;
  ga__args_buffer(&args, out->data);
  ga__args_offset(&args, out->data, out->offset);
  ga__args_buffer(&args, part);
  ga__args_offset(&args, part, 0);
  ga__args_buffer(&args, part);
  ga__args_offset(&args, part, 0);
  add_geometry(&args, wanted.is_wide, &g, results, results, GA_REDUCE_UNIT);
  add_count(&args, wanted.is_wide, results);
  ga__args_i64(&args, 1);
  ga__args_i64(&args, (int64_t)size);
  add_count(&args, wanted.is_wide, splits);
  ga__args_i64(&args, (int64_t)(results * size));
  return launch(kernel, &g, &args);
}

static void add_inputs(ga_args *args, const GpuReduction *gr,
                       const ga_reduce_problem *p, void *const *ins) {
  for (unsigned int i = 0; i < p->n; i++) {
    if (p->arrays[i] != NULL) {
      ga__args_buffer(args, p->arrays[i]->data);
      ga__args_offset(args, p->arrays[i]->data, p->offsets[i]);
    } else {
      ga__args_value(args, ins[i], gpuarray_get_elsize(gr->spec.inputs[i].typecode));
    }
  }
}

/* `out` is the finished array; there are results and elements to reduce. */
static int reduce_problem(GpuReduction *gr, const GpuArray *out,
                          const ga_reduce_problem *p, void *const *ins, unsigned int nk,
                          unsigned int nr) {
  gpucontext *ctx = gr->context;
  if (4 + 2 * p->n + 11 + nk * (2 + p->n) + nr * (1 + p->n) > GA_MAX_ARGS)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "reduction: %u inputs over %u axes take more than a kernel's %d "
                   "arguments; reduce fewer axes, or a result computed before",
                   p->n, nk + nr, GA_MAX_ARGS);
  const size_t across = p->kept.dims[p->kept.nd - 1];
  const size_t inner = p->inner.dims[p->inner.nd - 1];
  const enum ga_reduce_kind kind = ga__reduce_choose_kind(p, ctx->info.is_cpu);
  const bool is_wide =
      p->results >= NARROW || p->reduced >= NARROW || p->results * p->reduced >= NARROW;
  const variant wanted = {.kind = kind, .is_wide = is_wide, .nk = nk, .nr = nr};
  gpukernel *kernel;
  GA_TRY(get_kernel(&kernel, gr, &wanted));
  const ga_reduce_geometry g = ga__reduce_geometry(
      &ctx->info, kind, choose_width(ctx, kind, gr->spec.acc), block_threads(kernel),
      p->results, across, p->reduced / inner, inner);
  const bool rows = kind == GA_REDUCE_ROWS;
  int mode = ga__reduce_is_unit(p, rows ? &p->inner : &p->kept) ? GA_REDUCE_UNIT : 0;
  gpudata *part = NULL;
  if (g.splits > 1) {
    mode |= GA_REDUCE_PART;
    GA_TRY(ga__buffer_new(&part, ctx,
                          g.splits * p->results * gpuarray_get_elsize(gr->spec.acc)));
  }
  /* Where results go to `part` first, they lie as in `out`. */
  gpudata *place = part != NULL ? part : out->data;
  size_t shift =
      p->out_offset * gpuarray_get_elsize(part ? gr->spec.acc : gr->spec.out);
  ga_args args;
  args.n = 0;
  ga__args_buffer(&args, out->data);
  ga__args_offset(&args, out->data, out->offset + (part ? 0 : shift));
  ga__args_buffer(&args, place);
  ga__args_offset(&args, place, part ? shift : 0);
  add_inputs(&args, gr, p, ins);
  add_geometry(&args, is_wide, &g, p->results, across, mode);
  add_group(&args, is_wide, p, &p->kept, nk, true);
  add_group(&args, is_wide, p, &p->inner, nr, false);
  int status = launch(kernel, &g, &args);
  if (part != NULL) {
    if (status == GA_NO_ERROR)
      status = reduce_parts(gr, out, part, p->results, g.splits);
    gpudata_release(part);
  }
  return status;
}

/* ---- the call ---- */

static int check_input(const GpuReduction *gr, unsigned int i, const GpuArray *a) {
  const gpuelemwise_arg *arg = &gr->spec.inputs[i];
  char text[GA_ARRAY_TEXT];
  if (a->typecode != arg->typecode)
    return GA_FAIL(GA_INVALID_ERROR, "reduction: `%s` is %s, expected %s", arg->name,
                   ga__array_text(text, a), ga__dtype_name(arg->typecode));
  if (GpuArray_context(a) != gr->context)
    return GA_FAIL(
        GA_INVALID_ERROR, "reduction: `%s` is on %s, expected %s; transfer it first",
        arg->name, gpucontext_name(GpuArray_context(a)), gpucontext_name(gr->context));
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR, "reduction: `%s`, %s, is not aligned; copy it",
                   arg->name, ga__array_text(text, a));
  return GA_NO_ERROR;
}

/* Fills in the arrays; *nd and `dims` become the shape they broadcast to. */
static int gather(ga_reduce_problem *p, unsigned int *nd, size_t *dims,
                  const GpuReduction *gr, void *const *ins) {
  p->n = gr->spec.n;
  *nd = 0;
  for (unsigned int i = 0; i < p->n; i++) {
    if (ins[i] == NULL)
      return GA_FAIL(GA_INVALID_ERROR, "reduction: input `%s` is NULL",
                     gr->spec.inputs[i].name);
    p->arrays[i] = NULL;
    p->offsets[i] = 0;
    if (!is_array(&gr->spec.inputs[i]))
      continue;
    const GpuArray *a = ins[i];
    GA_TRY(check_input(gr, i, a));
    p->arrays[i] = a;
    p->offsets[i] = a->offset;
    if (ga__shape_broadcast(nd, dims, a->nd, a->dimensions) != GA_NO_ERROR)
      return ga__fail_within(GA_VALUE_ERROR, "reduction");
  }
  return GA_NO_ERROR;
}

int GpuReduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                       unsigned int axes, int keepdims) {
  if (gr == NULL || out == NULL || ins == NULL)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: needs a reduction, a result and inputs; got NULL");
  GA_TRY(ga__context_check(gr->context));
  ga_reduce_problem p;
  unsigned int nd, kept_nd = 0, nr = 0;
  size_t dims[GA_MAX_NDIM], kept[GA_MAX_NDIM];
  GA_TRY(gather(&p, &nd, dims, gr, ins));
  if (nd < GA_MAX_NDIM && axes >> nd != 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "reduction: axes 0x%x name an axis past the last of %u", axes, nd);
  p.results = p.reduced = 1;
  for (unsigned int axis = 0; axis < nd; axis++) {
    bool reduced = (axes >> axis) & 1;
    nr += reduced;
    *(reduced ? &p.reduced : &p.results) *= dims[axis];
    if (!reduced || keepdims)
      kept[kept_nd++] = reduced ? 1 : dims[axis];
  }
  GpuArray result;
  GA_TRY(GpuArray_empty(&result, gr->context, gr->spec.out, kept_nd, kept, GA_C_ORDER));
  int status = GA_NO_ERROR;
  if (p.results > 0 && p.reduced == 0) {
    status = reduce_parts(gr, &result, result.data, p.results, 0);
  } else if (p.results > 0) {
    ga__reduce_split_axes(&p, nd, dims, axes);
    bool simple = p.kept.nd <= SIMPLE_RANK && p.inner.nd <= SIMPLE_RANK;
    status =
        reduce_problem(gr, &result, &p, ins, simple ? SIMPLE_RANK : full_rank(nd - nr),
                       simple ? SIMPLE_RANK : full_rank(nr));
  }
  if (status != GA_NO_ERROR) {
    GpuArray_clear(&result);
    return status;
  }
  *out = result;
  return GA_NO_ERROR;
}
