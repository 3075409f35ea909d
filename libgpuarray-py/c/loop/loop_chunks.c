/* Affine loops in chunks: a parallel scan.
 *
 * An affine state s is carried on as a s + b, where a and b depend on no state. Over
 * many iterations it becomes A s + B; its factor is the state that is carried on as a
 * times itself, and that is A if it began as one. A sum is a state that iterations add
 * to, and read for nothing else. Kernels that run the loop:
 *
 * 1. All chunks of iterations side by side, from s = 0 and factor 1: A and B of each.
 * 2. From chunk to chunk: the states with which chunks begin, or the final ones.
 * 3. If there are traces or sums: all chunks side by side, from these states.
 * 4. If there are sums: from chunk to chunk, the sums of all.
 *
 * Where the elements keep the device busy without, it is one kernel without factors. */
#include <string.h>

#include "c/base/counts.h"
#include "c/loop/loop.h"

#define LEAST_CHUNKS 16 /* fewer do not make up for reading the sequences twice */
#define GPU_ITEMS 512   /* elements of all chunks, for each multiprocessor */
#define GPU_LEAST 512   /* iterations: three launches take as long */
#define GPU_LEAST_NARROW 2048
#define GPU_NARROW 32  /* elements: iterations that are read ahead share lines */
#define CPU_ITEMS 8    /* elements of all chunks, for each core */
#define CPU_LEAST 4096 /* iterations */
#define CPU_CORES 4    /* cores for each element, of more than one */

/* ---- parts of a loop ---- */

static int copy_loop(ga_loop *out, const ga_loop *l) {
  *out = *l;
  out->operands = ga__alloc(2 * (size_t)l->n_operands, sizeof *l->operands);
  out->steps = ga__alloc((size_t)l->n_steps + 1, sizeof *l->steps);
  if (out->operands != NULL)
    memcpy(out->operands, l->operands, l->n_operands * sizeof *l->operands);
  if (out->steps != NULL && l->n_steps > 0)
    memcpy(out->steps, l->steps, l->n_steps * sizeof *l->steps);
  GA_TRY_MEMORY(out->operands && out->steps);
  return GA_NO_ERROR;
}

static void free_loop(const ga_loop *l) {
  ga__free(l->operands);
  ga__free(l->steps);
}

static bool needs_any(const bool *needed, const ga_loop_step *step) {
  for (unsigned int i = 0; i < step->ge->n_out; i++)
    if (needed[step->outs[i]])
      return true;
  return false;
}

/* Marks what states and traces need, and removes the other steps. */
static void prune_steps(ga_loop *l, bool *needed) {
  unsigned int first = l->n_steps;
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->kind == GA_LOOP_STATE)
      needed[l->root[o->next]] = true;
    else if (o->kind == GA_LOOP_TRACE)
      needed[l->root[o->value]] = true;
  }
  for (unsigned int k = l->n_steps; k-- > 0;) {
    const ga_loop_step *step = &l->steps[k];
    if (!needs_any(needed, step))
      continue;
    for (unsigned int i = 0; i < step->ge->n - step->ge->n_out; i++)
      needed[l->root[step->ins[i]]] = true;
    l->steps[--first] = *step;
  }
  l->n_steps -= first;
  memmove(l->steps, l->steps + first, l->n_steps * sizeof *l->steps);
}

/* Removes steps that no result needs, and the sequences and constants that only they
 * read. */
static int prune(ga_loop *l) {
  bool *needed = ga__alloc((size_t)l->n_values + 1, sizeof *needed);
  unsigned int n = 0;
  GA_TRY_MEMORY(needed);
  prune_steps(l, needed);
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    const bool is_read = o->kind == GA_LOOP_ROW || o->kind == GA_LOOP_SAME;
    if (!is_read || needed[o->value])
      l->operands[n++] = *o;
  }
  l->n_operands = n;
  ga__free(needed);
  return GA_NO_ERROR;
}

/* Makes a state a constant. A step that computes it beside another reads it; compilers
 * leave out what nothing reads. */
static void freeze(ga_loop_operand *o) {
  o->kind = GA_LOOP_SAME;
  o->is_zero = true;
}

static void freeze_factors(ga_loop *l) {
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].is_factor)
      freeze(&l->operands[i]);
}

static void remove_results(ga_loop *l) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->kind != GA_LOOP_TRACE && o->kind != GA_LOOP_FINAL)
      l->operands[n++] = *o;
  }
  l->n_operands = n;
}

/* ---- chunks ---- */

/* Scratch memory of a state: an iteration's elements for each chunk. */
typedef struct scratch {
  GpuArray factors, ends, starts;
  GpuElemwise *combine;
} scratch;

typedef struct chunks {
  gpucontext *ctx;
  const ga_loop *l;
  uint32_t length;
  size_t count, n_elements;
  bool has_traces, has_sums;
  scratch *of; /* for each operand */
} chunks;

static bool is_affine(const ga_loop_operand *o) {
  return o->kind == GA_LOOP_STATE && o->factor > 0;
}

static bool is_sum(const ga_loop_operand *o) {
  return o->kind == GA_LOOP_STATE && o->is_sum;
}

/* Sets strides of an array in C order, one row of it. */
static void set_dense(ga_loop_operand *o, const GpuArray *array, const ga_loop *l) {
  ssize_t stride = (ssize_t)gpuarray_get_elsize(array->typecode);
  o->array = array;
  for (unsigned int k = l->nd; k-- > 0;) {
    o->lacks[k] = false;
    o->strides[k] = stride;
    stride *= (ssize_t)l->dims[k];
  }
  o->row = stride;
}

static ga_loop_operand *add_operand(ga_loop *l, enum ga_loop_kind kind,
                                    unsigned int value, const GpuArray *array) {
  ga_loop_operand *o = &l->operands[l->n_operands++];
  *o = (ga_loop_operand){.kind = kind, .value = value};
  set_dense(o, array, l);
  return o;
}

/* Puts in an axis of chunks: on a GPU as the first one, so that neighbours read
 * neighbours; on a CPU as the last one, which becomes vectors. */
static void add_axis(ga_loop *l, const chunks *c) {
  const bool is_single = l->nd == 1 && l->dims[0] == 1;
  const unsigned int at = c->ctx->info.is_cpu && !is_single ? l->nd : 0;
  const size_t rest = is_single ? 0 : l->nd - at;
  memmove(l->dims + at + 1, l->dims + at, rest * sizeof *l->dims);
  l->dims[at] = c->count;
  for (unsigned int i = 0; i < l->n_operands; i++) {
    ga_loop_operand *o = &l->operands[i];
    const bool has_rows = o->kind == GA_LOOP_ROW || o->kind == GA_LOOP_TRACE;
    memmove(o->strides + at + 1, o->strides + at, rest * sizeof *o->strides);
    memmove(o->lacks + at + 1, o->lacks + at, rest * sizeof *o->lacks);
    o->strides[at] = has_rows ? o->row * (ssize_t)c->length : o->row;
    o->lacks[at] = o->kind == GA_LOOP_FINAL && o->row == 0;
  }
  l->nd += !is_single;
  l->chunk_axis = at;
  l->n_total = l->n_iterations;
  l->n_iterations = c->length;
}

static int run_part(bool *done, const chunks *c, ga_loop *part) {
  GA_TRY(prune(part));
  add_axis(part, c);
  return ga__loop_launch(done, c->ctx, part);
}

/* ---- kernels ---- */

/* What the loop makes of zeros in each chunk, and the factor. Sums wait. */
static int run_from_zero(bool *done, const chunks *c) {
  const ga_loop *l = c->l;
  ga_loop part;
  int status = copy_loop(&part, l);
  if (status == GA_NO_ERROR) {
    remove_results(&part);
    for (unsigned int i = 0; i < l->n_operands; i++) {
      const ga_loop_operand *o = &l->operands[i];
      if (is_sum(o))
        freeze(&part.operands[i]);
      if (!is_affine(o))
        continue;
      const unsigned int factor = l->operands[o->factor - 1].value;
      part.operands[i].is_zero = true;
      add_operand(&part, GA_LOOP_FINAL, o->value, &c->of[i].ends);
      add_operand(&part, GA_LOOP_FINAL, factor, &c->of[i].factors);
    }
    status = run_part(done, c, &part);
  }
  free_loop(&part);
  return status;
}

/* The iterations of each chunk, from its state; of sums, from zeros. */
static int run_from_starts(bool *done, const chunks *c) {
  ga_loop part;
  int status = copy_loop(&part, c->l);
  if (status == GA_NO_ERROR) {
    for (unsigned int i = 0; i < c->l->n_operands; i++) {
      ga_loop_operand *o = &part.operands[i];
      o->is_zero = is_sum(o);
      if (is_affine(o))
        set_dense(o, &c->of[i].starts, &part);
      for (unsigned int k = 0; o->kind == GA_LOOP_FINAL && k < i; k++)
        if (is_sum(&part.operands[k]) && part.operands[k].value == o->value)
          set_dense(o, &c->of[k].ends, &part);
    }
    freeze_factors(&part);
    status = run_part(done, c, &part);
  }
  free_loop(&part);
  return status;
}

/* Values of a loop over chunks, for each state. */
enum { BEFORE, END, FACTOR, AFTER, VALUES };

/* State i of the loop over chunks: its starts, or its final value. */
static void add_state(ga_loop *over, const chunks *c, unsigned int i,
                      unsigned int *values, bool has_starts) {
  const unsigned int first = over->n_steps * VALUES;
  const ga_loop_operand *state = &c->l->operands[i];
  const scratch *of = &c->of[i];
  for (unsigned int k = 0; k < VALUES; k++)
    values[first + k] = first + k;
  over->steps[over->n_steps++] = (ga_loop_step){
      .ge = of->combine, .outs = &values[first + AFTER], .ins = &values[first]};
  ga_loop_operand *o = &over->operands[over->n_operands++];
  *o = *state;
  o->value = first + BEFORE;
  o->next = first + AFTER;
  add_operand(over, GA_LOOP_ROW, first + END, &of->ends);
  if (!state->is_sum)
    add_operand(over, GA_LOOP_ROW, first + FACTOR, &of->factors);
  if (has_starts)
    add_operand(over, GA_LOOP_TRACE, first + BEFORE, &of->starts);
  for (unsigned int k = 0; !has_starts && k < c->l->n_operands; k++) {
    const ga_loop_operand *final = &c->l->operands[k];
    if (final->kind != GA_LOOP_FINAL || final->value != state->value)
      continue;
    over->operands[over->n_operands] = *final;
    over->operands[over->n_operands++].value = first + BEFORE;
  }
}

/* From chunk to chunk: sums, or the other states. */
static int run_over_chunks(bool *done, const chunks *c, bool sums) {
  const size_t n = (size_t)c->l->n_operands;
  unsigned int *values = ga__alloc(n * VALUES, sizeof *values);
  ga_loop over = *c->l;
  over.operands = ga__alloc(n * VALUES, sizeof *over.operands);
  over.steps = ga__alloc(n, sizeof *over.steps);
  over.root = values;
  over.n_values = (unsigned int)(n * VALUES);
  over.n_operands = over.n_steps = over.n_integers = 0;
  over.n_iterations = (uint32_t)c->count;
  int status = GA_MEMORY_ERROR;
  if (values != NULL && over.operands != NULL && over.steps != NULL) {
    for (unsigned int i = 0; i < c->l->n_operands; i++)
      if (sums ? is_sum(&c->l->operands[i]) : is_affine(&c->l->operands[i]))
        add_state(&over, c, i, values, !sums && (c->has_traces || c->has_sums));
    status = ga__loop_launch(done, c->ctx, &over);
  }
  free_loop(&over);
  ga__free(values);
  return status;
}

/* ---- memory ---- */

/* From zero a chunk ends as b, even if its factor is no finite number. */
static const char *combine_text(int typecode, bool sums) {
  const bool is_complex = ga__dtype_kind(typecode) == 'c';
  if (sums)
    return is_complex ? "y = ga_cadd(x, b)" : "y = x + b";
  return is_complex ? "y = x.x == 0 && x.y == 0 ? b : ga_cadd(ga_cmul(a, x), b)"
                    : "y = x == 0 ? b : a * x + b";
}

/* The arguments are in the order of the values. */
static int make_combine(GpuElemwise **out, gpucontext *ctx, int typecode, bool sums) {
  const gpuelemwise_arg args[] = {{"y", typecode, GE_WRITE},
                                  {"x", typecode, GE_READ},
                                  {"b", typecode, GE_READ},
                                  {"a", typecode, GE_READ}};
  return GpuElemwise_create(out, ctx, "GA_SELF_CONTAINED\n",
                            combine_text(typecode, sums), sums ? 3 : 4, args,
                            GE_CONVERT_F16);
}

static int open_scratch(const chunks *c, unsigned int i) {
  const size_t dims[2] = {c->count, c->n_elements};
  const ga_loop_operand *o = &c->l->operands[i];
  const int type = o->array->typecode;
  scratch *of = &c->of[i];
  GA_TRY(make_combine(&of->combine, c->ctx, type, is_sum(o)));
  GA_TRY(GpuArray_empty(&of->ends, c->ctx, type, 2, dims, GA_C_ORDER));
  if (is_sum(o))
    return GA_NO_ERROR;
  GA_TRY(GpuArray_empty(&of->factors, c->ctx, type, 2, dims, GA_C_ORDER));
  return c->has_traces || c->has_sums
             ? GpuArray_empty(&of->starts, c->ctx, type, 2, dims, GA_C_ORDER)
             : GA_NO_ERROR;
}

static int open_chunks(chunks *c) {
  const ga_loop *l = c->l;
  c->of = ga__alloc((size_t)l->n_operands, sizeof *c->of);
  GA_TRY_MEMORY(c->of);
  for (unsigned int i = 0; i < l->n_operands; i++) {
    c->has_traces = c->has_traces || l->operands[i].kind == GA_LOOP_TRACE;
    c->has_sums = c->has_sums || is_sum(&l->operands[i]);
  }
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (is_affine(&l->operands[i]) || is_sum(&l->operands[i]))
      GA_TRY(open_scratch(c, i));
  return GA_NO_ERROR;
}

static void close_chunks(const chunks *c) {
  for (unsigned int i = 0; c->of != NULL && i < c->l->n_operands; i++) {
    GpuArray_clear(&c->of[i].factors);
    GpuArray_clear(&c->of[i].ends);
    GpuArray_clear(&c->of[i].starts);
    GpuElemwise_free(c->of[i].combine);
  }
  ga__free(c->of);
}

static int run_chunks(bool *done, chunks *c) {
  int status = open_chunks(c);
  GA_THEN(status, run_from_zero(done, c));
  GA_THEN(status, run_over_chunks(done, c, false));
  if (c->has_traces || c->has_sums)
    GA_THEN(status, run_from_starts(done, c));
  if (c->has_sums)
    GA_THEN(status, run_over_chunks(done, c, true));
  close_chunks(c);
  return status;
}

/* ---- choice ---- */

/* True if every state is affine or a sum and has all axes, and the kernels take the
 * arguments. */
static bool is_divisible(const ga_loop *l) {
  ga_loop widest = *l;
  unsigned int n_states = 0;
  if (l->stop >= 0 || l->nd == GA_MAX_NDIM)
    return false;
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->kind != GA_LOOP_STATE || o->is_factor)
      continue;
    n_states++;
    for (unsigned int k = 0; k < l->nd; k++)
      if ((o->factor == 0 && !o->is_sum) || o->lacks[k])
        return false;
  }
  widest.nd++;
  widest.n_operands = l->n_operands + 5 * n_states;
  return ga__loop_fits_kernel(&widest);
}

static size_t root_of(size_t n) {
  size_t root = n;
  for (size_t next = (n + 1) / 2; next < root; next = (root + n / root) / 2)
    root = next;
  return root;
}

/* True if there are iterations enough. On a CPU, elements of one iteration are vectors,
 * and those of chunks are not: more cores must make up for it. */
static bool is_long(const gpucontext *ctx, uint32_t n_iterations, size_t n) {
  if (!ctx->info.is_cpu)
    return n_iterations >= (n < GPU_NARROW ? GPU_LEAST_NARROW : GPU_LEAST);
  return n_iterations >= CPU_LEAST &&
         ctx->info.processors >= (n == 1 ? 2 : CPU_CORES * n);
}

/* Iterations of a chunk: as many chunks as keep the device busy, but not so many that
 * the way from chunk to chunk is longer than that through two. */
static uint32_t length_of(const gpucontext *ctx, const ga_loop *l, size_t n) {
  const uint32_t all = l->n_iterations;
  const size_t items = ctx->info.is_cpu ? CPU_ITEMS : GPU_ITEMS;
  const size_t wanted = items * ctx->info.processors / n;
  const size_t count = ga__smaller(wanted, root_of(2 * (size_t)all));
  if (count < LEAST_CHUNKS || !is_long(ctx, all, n))
    return all;
  return (uint32_t)((all + count - 1) / count);
}

int ga__loop_launch_affine(bool *done, gpucontext *ctx, const ga_loop *l) {
  const size_t n = ga__loop_count(l);
  *done = true;
  if (n == 0)
    return GA_NO_ERROR;
  if (l->reduces)
    return ga__loop_launch(done, ctx, l);
  const uint32_t length = is_divisible(l) ? length_of(ctx, l, n) : l->n_iterations;
  if (length < l->n_iterations) {
    chunks c = {.ctx = ctx,
                .l = l,
                .length = length,
                .count = (l->n_iterations - 1) / length + 1,
                .n_elements = n};
    return run_chunks(done, &c);
  }
  ga_loop alone;
  int status = copy_loop(&alone, l);
  if (status == GA_NO_ERROR) {
    freeze_factors(&alone);
    GA_THEN(status, prune(&alone));
    GA_THEN(status, ga__loop_launch(done, ctx, &alone));
  }
  free_loop(&alone);
  return status;
}
