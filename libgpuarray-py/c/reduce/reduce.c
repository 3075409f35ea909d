/* GpuReduction_apply: kernel variants of a reduction and their launches. */
#include "c/program/kernel_text.h"
#include "c/reduce/reduce_geometry.h"
#include "c/reduce/reduce_object.h"
#include "c/reduce/reduce_words.h"
#include "c/reduce/reduction.h"

/* Rank, of kept and of reduced axes, of the generic kernels. */
#define SIMPLE_RANK 2

/* ---- kernel variants ---- */

static ga_reduce_spec variant_spec(const GpuReduction *gr, const ga_reduce_variant *v) {
  ga_reduce_spec spec = v->is_parts ? gr->parts : gr->spec;
  spec.is_wide = v->is_wide;
  spec.repeated = v->repeated;
  return spec;
}

static int make_source(ga_source *out, const GpuReduction *gr,
                       const ga_reduce_variant *v) {
  const ga_reduce_spec spec = variant_spec(gr, v);
  return ga__reduce_source(out, &spec, v->kind, v->nk, v->nr);
}

static int compile(gpukernel **out, const GpuReduction *gr,
                   const ga_reduce_variant *v) {
  ga_source source = {0};
  GA_TRY(make_source(&source, gr, v));
  int status = ga__kernel_get(out, gr->context, &source);
  ga__strbuf_clear(&source.body);
  return status;
}

static int get_kernel(gpukernel **out, GpuReduction *gr,
                      const ga_reduce_variant *wanted) {
  for (ga_reduce_variant *v = atomic_load(&gr->variants); v != NULL; v = v->next)
    if (v->kind == wanted->kind && v->is_parts == wanted->is_parts &&
        v->is_wide == wanted->is_wide && v->nk == wanted->nk && v->nr == wanted->nr &&
        v->repeated == wanted->repeated) {
      *out = v->kernel;
      return GA_NO_ERROR;
    }
  ga_reduce_variant variant = *wanted;
  GA_TRY(compile(&variant.kernel, gr, wanted));
  ga_reduce_variant *v = ga__alloc(1, sizeof *v);
  GA_TRY_MEMORY(v);
  variant.next = atomic_load(&gr->variants);
  *v = variant;
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
  const ga_reduce_variant all[] = {
      {.kind = GA_REDUCE_COLUMNS, .is_parts = true, .nk = 1, .nr = 1},
      {.kind = GA_REDUCE_ROWS, .nk = SIMPLE_RANK, .nr = SIMPLE_RANK},
      {.kind = GA_REDUCE_COLUMNS, .nk = SIMPLE_RANK, .nr = SIMPLE_RANK},
      {.kind = GA_REDUCE_ROWS, .nk = fk, .nr = fr},
      {.kind = GA_REDUCE_COLUMNS, .nk = fk, .nr = fr}};
  const size_t count = is_full ? 5 : 3;
  *n = 0;
  for (size_t i = 0; i < count; i++) {
    if (!all[i].is_parts && all[i].kind == GA_REDUCE_COLUMNS && nk == 0)
      continue; /* full reductions use rows */
    GA_TRY(ga__sources_count(out, n, make_source(&out[*n], gr, &all[i])));
  }
  return GA_NO_ERROR;
}

/* ---- launches ---- */

/* Limit of 32-bit indices, with a margin for a block's step. */
#define NARROW ((size_t)INT32_MAX - (1 << 20))

/* A launch, without its inputs. */
typedef struct work {
  gpukernel *kernel;
  ga_reduce_spec spec;
  ga_reduce_shape shape;
  ga_reduce_geometry geometry;
  size_t results, across, reduced;
  int mode;
} work;

static size_t block_threads(gpukernel *kernel) {
  size_t threads = GA_REDUCE_BLOCK;
  while (threads > 1 && !ga__kernel_takes(kernel, threads))
    threads /= 2;
  return threads;
}

/* Kernel and geometry of a launch. */
static int plan_work(work *w, GpuReduction *gr, const ga_reduce_variant *wanted,
                     size_t results, size_t across, size_t outer, size_t inner) {
  GA_TRY(get_kernel(&w->kernel, gr, wanted));
  w->spec = variant_spec(gr, wanted);
  w->shape = ga__reduce_shape(&w->spec, wanted->kind);
  if (wanted->kind == GA_REDUCE_ROWS && !(w->mode & GA_REDUCE_PACKED))
    w->shape.vector = 0; /* scalar code */
  const size_t slack = w->mode & GA_REDUCE_SHIFTED ? w->shape.width - 1 : 0;
  w->geometry = ga__reduce_geometry(&gr->context->info, wanted->kind, w->shape,
                                    block_threads(w->kernel), results, across, slack,
                                    outer, inner);
  w->results = results;
  w->across = across;
  return GA_NO_ERROR;
}

static void add_geometry(ga_args *args, const work *w) {
  const ga_reduce_geometry *g = &w->geometry;
  const size_t counts[] = {g->tiles,        ga__ceil_div(g->tiles, g->groups),
                           w->results,      w->across,
                           g->outer,        g->outer_per,
                           g->inner,        g->inner_per,
                           g->splits_inner, g->lanes_outer,
                           (size_t)w->mode};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    ga__args_position(args, w->spec.is_wide, (int64_t)counts[i]);
  ga__args_i64(args, (int64_t)w->reduced);
}

/* Results, from element `shift` on; `part` receives the accumulators instead, if not
 * NULL. */
static void add_outputs(ga_args *args, const work *w, const GpuArray *out, size_t shift,
                        gpudata *part, size_t part_shift) {
  for (unsigned int m = 0; m < w->spec.n_results; m++) {
    ga__args_pointer(args, out[m].data,
                     out[m].offset + shift * GpuArray_ITEMSIZE(&out[m]), false);
  }
  gpudata *place = part != NULL ? part : out[0].data;
  ga__args_pointer(args, place,
                   part != NULL ? part_shift * ga__reduce_size(&w->spec) : 0, false);
}

/* A group's axes, padded by leading axes of length 1 to `rank`. */
static void add_group(ga_args *args, const work *w, const ga_reduce_problem *p,
                      const ga_axis_group *g, unsigned int rank, bool kept) {
  const bool is_wide = w->spec.is_wide;
  for (unsigned int k = 0; k < rank; k++) {
    bool padding = k < rank - g->nd;
    unsigned int axis = k - (rank - g->nd);
    ga__args_position(args, is_wide, padding ? 1 : (int64_t)g->dims[axis]);
    if (kept)
      ga__args_i64(args, padding ? 0 : g->strides[p->n][axis]);
    for (unsigned int i = 0; i < p->n; i++)
      if (p->arrays[i] != NULL)
        ga__args_i64(args, padding ? 0 : g->strides[i][axis]);
    if (!kept && ga__reduce_has_index(&w->spec))
      ga__args_position(args, is_wide, padding ? 0 : g->strides[p->n][axis]);
  }
}

static int launch(const work *w, const ga_args *args) {
  const ga_reduce_geometry *g = &w->geometry;
  const ga_launch l = {
      .nd = 2,
      .grid = {ga__ceil_div(g->tiles, ga__ceil_div(g->tiles, g->groups)), g->splits, 1},
      .block = {g->lanes, g->items, 1},
      .work = w->results * w->reduced,
      .n_args = args->n,
      .args = args->list};
  return ga__kernel_launch(w->kernel, &l);
}

/* Second pass of a split reduction: reduces part[splits][results] into `out`. With 0
 * splits results are the identity. */
static int reduce_parts(GpuReduction *gr, const GpuArray *out, gpudata *part,
                        bool is_wide, size_t results, size_t splits, size_t reduced) {
  const ga_reduce_variant wanted = {.kind = GA_REDUCE_COLUMNS,
                                    .is_parts = true,
                                    .is_wide = is_wide,
                                    .nk = 1,
                                    .nr = 1};
  work w = {.mode = GA_REDUCE_UNIT, .reduced = reduced};
  GA_TRY(plan_work(&w, gr, &wanted, results, results, 1, splits));
  ga__reduce_set_splits(&w.geometry, 1, 1, 1);
  const size_t size = ga__reduce_size(&w.spec);
  ga_args args;
  args.n = 0;
  add_outputs(&args, &w, out, 0, part, 0);
  ga__args_pointer(&args, part, 0, true);
  add_geometry(&args, &w);
  ga__args_position(&args, is_wide, (int64_t)results);
  ga__args_i64(&args, 1);
  ga__args_i64(&args, (int64_t)size);
  ga__args_position(&args, is_wide, (int64_t)splits);
  ga__args_i64(&args, (int64_t)(results * size));
  return launch(&w, &args);
}

static void add_inputs(ga_args *args, const GpuReduction *gr,
                       const ga_reduce_problem *p, void *const *ins) {
  for (unsigned int i = 0; i < p->n; i++) {
    if (p->numbers >> i & 1) {
      ga__args_u64(args, p->offsets[i]);
    } else if (p->arrays[i] != NULL) {
      ga__args_pointer(args, p->arrays[i]->data, p->offsets[i], true);
    } else {
      ga__args_value(args, ins[i], gpuarray_get_elsize(gr->spec.inputs[i].typecode));
    }
  }
}

static int check_arguments(const GpuReduction *gr, unsigned int nk, unsigned int nr) {
  const unsigned int n = gr->spec.n;
  if (2 * gr->spec.n_results + 2 + 2 * n + 13 + nk * (2 + n) + nr * (2 + n) >
      GA_MAX_ARGS)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "reduction: %u inputs over %u axes take more than a kernel's %d "
                   "arguments; reduce fewer axes, or a result computed before",
                   n, nk + nr, GA_MAX_ARGS);
  return GA_NO_ERROR;
}

/* Elements from which on a kernel of its own pays for the inputs that have stride 0: it
 * holds one value of each, and what follows from them. */
#define LARGE ((size_t)1 << 22)

static unsigned int known_repeats(const GpuReduction *gr, enum ga_reduce_kind kind,
                                  const ga_reduce_problem *p, int mode) {
  const bool pays = kind == GA_REDUCE_ROWS && !gr->context->info.is_cpu &&
                    !(gr->spec.flags & GA_REDUCTION_FIRST) && mode & GA_REDUCE_PACKED &&
                    p->results * p->reduced >= LARGE;
  return pays ? (unsigned int)mode / GA_REDUCE_REPEATED : 0;
}

/* `out` are the new results; neither results nor reduced elements are empty. */
static int reduce_problem(GpuReduction *gr, const GpuArray *out, ga_reduce_problem *p,
                          void *const *ins, unsigned int nk, unsigned int nr) {
  gpucontext *ctx = gr->context;
  GA_TRY(check_arguments(gr, nk, nr));
  const size_t inner = p->inner.dims[p->inner.nd - 1];
  const enum ga_reduce_kind kind = ga__reduce_choose_kind(p, ctx->info.is_cpu);
  /* Vector loads go forward, whichever way positions run. */
  const bool is_packed = kind == GA_REDUCE_ROWS && p->n == 1 && p->numbers == 0 &&
                         !ctx->info.is_cpu &&
                         ga__reduce_mode(p, &p->inner) & GA_REDUCE_PACKED;
  if ((gr->spec.flags & GA_REDUCTION_FIRST) && !is_packed)
    ga__reduce_face_positions(p);
  const bool is_wide =
      p->results >= NARROW || p->reduced >= NARROW || p->results * p->reduced >= NARROW;
  work w = {.mode = ga__reduce_mode(p, kind == GA_REDUCE_ROWS ? &p->inner : &p->kept),
            .reduced = p->reduced};
  const ga_reduce_variant wanted = {.kind = kind,
                                    .is_wide = is_wide,
                                    .nk = nk,
                                    .nr = nr,
                                    .repeated = known_repeats(gr, kind, p, w.mode)};
  if (kind == GA_REDUCE_COLUMNS && ga__reduce_is_shifted(p))
    w.mode |= GA_REDUCE_SHIFTED;
  GA_TRY(plan_work(&w, gr, &wanted, p->results, p->kept.dims[p->kept.nd - 1],
                   p->reduced / inner, inner));
  const size_t splits = w.geometry.splits;
  gpudata *part = NULL;
  if (splits > 1) {
    w.mode |= GA_REDUCE_PART;
    GA_TRY(ga__buffer_new(&part, ctx, splits * p->results * ga__reduce_size(&w.spec)));
  }
  /* Partial results have the layout of `out`. */
  ga_args args;
  args.n = 0;
  add_outputs(&args, &w, out, part ? 0 : p->out_offset, part, p->out_offset);
  add_inputs(&args, gr, p, ins);
  add_geometry(&args, &w);
  if (ga__reduce_has_index(&w.spec))
    ga__args_position(&args, is_wide, (int64_t)p->position);
  add_group(&args, &w, p, &p->kept, nk, true);
  add_group(&args, &w, p, &p->inner, nr, false);
  int status = launch(&w, &args);
  if (part != NULL) {
    GA_THEN(status,
            reduce_parts(gr, out, part, is_wide, p->results, splits, p->reduced));
    gpudata_release(part);
  }
  return status;
}

/* ---- calls ---- */

static int check_input(const GpuReduction *gr, unsigned int i, const GpuArray *a) {
  const gpuelemwise_arg *arg = &gr->spec.inputs[i];
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, "reduction"));
  const bool is_number = ga__elem_is_index(arg);
  if (!is_number && a->typecode != arg->typecode)
    return GA_FAIL(GA_INVALID_ERROR, "reduction: `%s` is %s, expected %s", arg->name,
                   ga__array_text(text, a), ga__dtype_name(arg->typecode));
  if (GpuArray_context(a) != gr->context)
    return GA_FAIL(
        GA_INVALID_ERROR, "reduction: `%s` is on %s, expected %s; transfer it first",
        arg->name, gpucontext_name(GpuArray_context(a)), gpucontext_name(gr->context));
  if (!is_number && !GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR, "reduction: `%s`, %s, is not aligned; copy it",
                   arg->name, ga__array_text(text, a));
  return GA_NO_ERROR;
}

/* Collects the arrays; *nd and `dims` become their broadcast shape. */
static int gather(ga_reduce_problem *p, unsigned int *nd, size_t *dims,
                  const GpuReduction *gr, void *const *ins) {
  p->n = gr->spec.n;
  p->numbers = 0;
  *nd = 0;
  for (unsigned int i = 0; i < p->n; i++) {
    if (ins[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "reduction: input `%s` is NULL",
                     gr->spec.inputs[i].name);
    p->arrays[i] = NULL;
    p->offsets[i] = 0;
    if (!ga__reduce_is_walked(&gr->spec.inputs[i]))
      continue;
    const GpuArray *a = ins[i];
    const bool is_number = ga__elem_is_index(&gr->spec.inputs[i]);
    GA_TRY(check_input(gr, i, a));
    p->arrays[i] = a;
    p->numbers |= (uint32_t)is_number << i;
    p->offsets[i] = is_number ? 0 : a->offset;
    if (ga__shape_broadcast(nd, dims, a->nd, a->dimensions) != GA_NO_ERROR)
      return ga__fail_within(GA_VALUE_ERROR, "reduction");
  }
  size_t count;
  int status = ga__shape_count(&count, *nd, dims);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "reduction");
}

/* Fails on an empty reduction without an identity. */
static int check_elements(const GpuReduction *gr, const ga_reduce_problem *p,
                          unsigned int nd, const size_t *dims) {
  char text[GA_SHAPE_TEXT];
  if (!(gr->spec.flags & GA_REDUCTION_NEEDS_ELEMENTS) || p->reduced > 0 ||
      p->results == 0)
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_VALUE_ERROR,
      "reduction on %s: no elements to reduce in shape %s, and the operation has no "
      "identity; reduce axes that have elements",
      gpucontext_name(gr->context), ga__shape_text(text, nd, dims));
}

/* Allocates the results. */
static int alloc_results(GpuArray *out, const GpuReduction *gr, unsigned int nd,
                         const size_t *dims) {
  for (unsigned int m = 0; m < gr->spec.n_results; m++) {
    int status = GpuArray_empty(&out[m], gr->context, gr->spec.results[m].typecode, nd,
                                dims, GA_C_ORDER);
    if (status != GA_NO_ERROR) {
      while (m-- > 0)
        GpuArray_clear(&out[m]);
      return status;
    }
  }
  return GA_NO_ERROR;
}

/* Counts results and reduced elements, and sets the results' shape. */
static void count(ga_reduce_problem *p, unsigned int *kept_nd, size_t *kept,
                  unsigned int nd, const size_t *dims, unsigned int axes, bool keep) {
  p->results = p->reduced = 1;
  *kept_nd = 0;
  for (unsigned int axis = 0; axis < nd; axis++) {
    bool reduced = (axes >> axis) & 1;
    *(reduced ? &p->reduced : &p->results) *= dims[axis];
    if (!reduced || keep)
      kept[(*kept_nd)++] = reduced ? 1 : dims[axis];
  }
}

/* Reduces into the new arrays `out`. */
static int reduce_into(GpuReduction *gr, const GpuArray *out, ga_reduce_problem *p,
                       void *const *ins, unsigned int nd, const size_t *dims,
                       unsigned int n, const unsigned int *list) {
  if (p->results == 0)
    return GA_NO_ERROR;
  if (p->reduced == 0)
    return reduce_parts(gr, out, out[0].data, p->results >= NARROW, p->results, 0, 0);
  p->has_position = ga__reduce_has_index(&gr->spec);
  ga__reduce_split_axes(p, nd, dims, n, list);
  bool simple = p->kept.nd <= SIMPLE_RANK && p->inner.nd <= SIMPLE_RANK;
  return reduce_problem(gr, out, p, ins, simple ? SIMPLE_RANK : full_rank(nd - n),
                        simple ? SIMPLE_RANK : full_rank(n));
}

int ga__reduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                        unsigned int n, const unsigned int *list, int keepdims) {
  ga_reduce_problem p;
  unsigned int nd, kept_nd, axes = 0;
  size_t dims[GA_MAX_NDIM], kept[GA_MAX_NDIM];
  GpuArray results[GA_REDUCE_VALUES];
  GA_TRY(ga__context_check(gr->context));
  GA_TRY(gather(&p, &nd, dims, gr, ins));
  for (unsigned int k = 0; k < n; k++)
    axes |= 1u << list[k];
  if (nd < GA_MAX_NDIM && axes >> nd != 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "reduction: the mask of axes, 0x%x, is out of range for %u axes",
                   axes, nd);
  count(&p, &kept_nd, kept, nd, dims, axes, keepdims);
  GA_TRY(check_elements(gr, &p, nd, dims));
  GA_TRY(alloc_results(results, gr, kept_nd, kept));
  int status = reduce_into(gr, results, &p, ins, nd, dims, n, list);
  for (unsigned int m = 0; m < gr->spec.n_results; m++)
    if (status == GA_NO_ERROR)
      out[m] = results[m];
    else
      GpuArray_clear(&results[m]);
  return status;
}

int GpuReduction_apply(GpuReduction *gr, GpuArray *out, void *const *ins,
                       unsigned int axes, int keepdims) {
  unsigned int list[GA_MAX_NDIM], n = 0;
  if (gr == NULL || out == NULL || ins == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "reduction: needs a reduction, a result and inputs; got NULL");
  for (unsigned int axis = 0; axis < GA_MAX_NDIM; axis++)
    if ((axes >> axis) & 1)
      list[n++] = axis;
  return ga__reduction_apply(gr, out, ins, n, list, keepdims);
}
