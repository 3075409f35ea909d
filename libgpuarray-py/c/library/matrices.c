/* Batched factorizations by our own kernels. */
#include "c/library/matrices_spec.h"

#include "c/program/kernel_table.h"

/* A launch: new C-contiguous arrays, in the kernel's order. */
typedef struct work {
  const ga_matrices_call *call;
  gpucontext *context;
  int typecode;
  unsigned int flags;
  bool is_turned; /* works on the transposed (wide) matrix */
  size_t batch, m, n, k;
  GpuArray arrays[GA_MATRICES_ARRAYS];
} work;

/* ---- checks ---- */

/* Name, number of results, and which arrays these are. */
static const struct {
  const char *name;
  unsigned char n_out, places[4];
} operations[GA_MATRICES_N] = {
    [GA_MATRICES_SOLVE] = {"solve", 1, {1}},
    [GA_MATRICES_DET] = {"det", 1, {1}},
    [GA_MATRICES_CHOLESKY] = {"cholesky", 1, {0}},
    [GA_MATRICES_QR] = {"qr", 4, {1, 2, 0, 3}},
    [GA_MATRICES_EIGH] = {"eigh", 2, {1, 2}},
    [GA_MATRICES_SVD] = {"svd", 3, {1, 2, 3}},
    [GA_MATRICES_PINV] = {"pinv", 1, {4}},
    [GA_MATRICES_EXPM] = {"expm", 1, {1}},
    [GA_MATRICES_EIG] = {"eig", 2, {1, 2}},
};

static int check_arguments(const work *w, unsigned int n_out, const GpuArray **ins,
                           unsigned int n_in) {
  const enum ga_matrices_kind kind = w->call->kind;
  const GpuArray *a = ins[0], *b = ins[n_in - 1];
  char text[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  const bool is_square =
      kind != GA_MATRICES_QR && kind != GA_MATRICES_SVD && kind != GA_MATRICES_PINV;
  bool fits = a->nd == 3 && (!is_square || a->dimensions[1] == a->dimensions[2]) &&
              n_out == operations[kind].n_out &&
              n_in <= (kind == GA_MATRICES_SOLVE ? 2u : 1u);
  if (fits && n_in == 2)
    fits = b->nd == 3 && b->dimensions[0] == a->dimensions[0] &&
           b->dimensions[1] == a->dimensions[1] && b->typecode == a->typecode;
  const bool is_complex = a->typecode == GA_CFLOAT || a->typecode == GA_CDOUBLE;
  if (!is_complex && (kind == GA_MATRICES_EIG ||
                      (a->typecode != GA_FLOAT && a->typecode != GA_DOUBLE)))
    return GA_FAIL(GA_INVALID_ERROR, "%s: got %s, expected %scomplex64 or complex128",
                   operations[kind].name, ga__array_text(text, a),
                   kind == GA_MATRICES_EIG ? "" : "float32, float64, ");
  if (fits)
    return ga__context_supports(w->context, a->typecode, operations[kind].name);
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: %u arrays %s and %s for %u results, expected a "
                 "stack of %smatrices%s",
                 operations[kind].name, n_in, ga__array_text(text, a),
                 ga__array_text(other, b), n_out, is_square ? "square " : "",
                 kind == GA_MATRICES_SOLVE ? ", and one of as many rows" : "");
}

/* Transposes the last two axes, as a view. */
static void transpose(GpuArray *a) {
  const size_t length = a->dimensions[1];
  const ssize_t stride = a->strides[1];
  a->dimensions[1] = a->dimensions[2];
  a->strides[1] = a->strides[2];
  a->dimensions[2] = length;
  a->strides[2] = stride;
  GpuArray_fix_flags(a);
}

/* ---- arrays ---- */

/* Allocates (batch, rows, columns), or with nd 2 (batch, rows). */
static int alloc(work *w, unsigned int place, unsigned int nd, size_t rows,
                 size_t columns) {
  const size_t dims[] = {w->batch, rows, columns};
  return GpuArray_empty(&w->arrays[place], w->context, w->typecode, nd, dims,
                        GA_C_ORDER);
}

/* Allocates (batch, n) of the real type. */
static int alloc_real(work *w, unsigned int place) {
  const size_t dims[] = {w->batch, w->n};
  return GpuArray_empty(&w->arrays[place], w->context, ga__matrices_real(w->typecode),
                        2, dims, GA_C_ORDER);
}

static int alloc_all(work *w, const GpuArray **ins, unsigned int n_in) {
  const bool is_full = w->flags & GA_MATRICES_FULL;
  const size_t least = w->m < w->n ? w->m : w->n;
  GpuArray given = *ins[0]; /* borrows the buffer */
  if (w->is_turned)
    transpose(&given);
  GA_TRY(GpuArray_copy(&w->arrays[0], &given, GA_C_ORDER));
  switch (w->call->kind) {
  case GA_MATRICES_SOLVE:
    w->k = n_in == 2 ? ins[1]->dimensions[2] : w->n;
    return n_in == 2 ? GpuArray_copy(&w->arrays[1], ins[1], GA_C_ORDER)
                     : alloc(w, 1, 3, w->n, w->n);
  case GA_MATRICES_DET:
    return alloc(w, 1, 1, 0, 0);
  case GA_MATRICES_QR:
    w->k = is_full ? w->m : least;
    GA_TRY(alloc(w, 1, 3, w->m, w->k));
    GA_TRY(alloc(w, 2, 3, w->k, w->n));
    return alloc(w, 3, 2, least, 0);
  case GA_MATRICES_EIG:
    GA_TRY(alloc(w, 1, 2, w->n, 0));
    return alloc(w, 2, 3, w->n, w->n);
  case GA_MATRICES_EIGH:
    GA_TRY(alloc_real(w, 1));
    return alloc(w, 2, 3, w->n, w->n);
  case GA_MATRICES_SVD:
  case GA_MATRICES_PINV:
    w->k = is_full ? w->m : w->n;
    GA_TRY(alloc(w, 1, 3, w->m, w->k));
    GA_TRY(alloc_real(w, 2));
    GA_TRY(alloc(w, 3, 3, w->n, w->n));
    return w->call->kind == GA_MATRICES_PINV ? alloc(w, 4, 3, w->n, w->m) : GA_NO_ERROR;
  case GA_MATRICES_EXPM:
    GA_TRY(alloc(w, 1, 3, w->n, w->n));
    return alloc(w, 2, 3, w->n, w->n);
  default:
    return GA_NO_ERROR;
  }
}

/* ---- launch ---- */

/* Any non-empty array, to stand for empty ones. */
static const GpuArray *find_filled(const work *w) {
  for (unsigned int i = 0; i < GA_MATRICES_ARRAYS; i++)
    if (w->arrays[i].data != NULL && ga__array_count(&w->arrays[i]) > 0)
      return &w->arrays[i];
  return NULL;
}

static int add_arguments(ga_args *args, const work *w, const GpuArray *filled) {
  args->n = 0;
  for (unsigned int i = 0; i < GA_MATRICES_ARRAYS; i++) {
    const GpuArray *a = &w->arrays[i];
    a = a->data != NULL && ga__array_count(a) > 0 ? a : filled;
    ga__args_pointer(args, a->data, a->offset, false);
  }
  ga__args_u64(args, w->batch);
  ga__args_u64(args, w->m);
  ga__args_u64(args, w->n);
  ga__args_u64(args, w->k);
  ga__args_u32(args, w->flags);
  ga__args_real(args, w->typecode, w->call->cutoff);
  return ga__args_report(args, w->context, w->call->failure);
}

static int launch(const work *w) {
  const ga_matrices_spec spec = {(unsigned char)w->call->kind,
                                 (unsigned char)w->typecode};
  const GpuArray *filled = find_filled(w);
  gpukernel *kernel;
  ga_args args;
  if (filled == NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__kernel_kept(&kernel, w->context, ga__matrices_source, &spec, sizeof spec));
  GA_TRY(add_arguments(&args, w, filled));
  const size_t threads = w->context->info.is_cpu ? 1 : 32, most = 32768;
  return ga__kernel_launch_items(kernel, &args, w->batch, threads, most);
}

/* ---- results ---- */

static void hand_out(GpuArray **outs, work *w) {
  const enum ga_matrices_kind kind = w->call->kind;
  for (unsigned int i = 0; i < operations[kind].n_out; i++) {
    const unsigned int given = kind == GA_MATRICES_SVD && w->is_turned ? 2 - i : i;
    GpuArray *a = &w->arrays[operations[kind].places[given]];
    *outs[i] = *a;
    a->data = NULL;
    if (w->is_turned && outs[i]->nd == 3)
      transpose(outs[i]);
  }
}

int ga__matrices_run(GpuArray **outs, unsigned int n_out, const GpuArray **ins,
                     unsigned int n_in, const ga_matrices_call *call) {
  const bool can_turn = call->kind == GA_MATRICES_SVD || call->kind == GA_MATRICES_PINV;
  work w = {.call = call,
            .context = ins[0]->data->context,
            .typecode = ins[0]->typecode,
            .flags = call->flags | (n_in == 1 ? GA_MATRICES_IDENTITY : 0)};
  GA_TRY(check_arguments(&w, n_out, ins, n_in));
  w.is_turned = can_turn && ins[0]->dimensions[1] < ins[0]->dimensions[2];
  w.batch = ins[0]->dimensions[0];
  w.m = ins[0]->dimensions[w.is_turned ? 2 : 1];
  w.n = ins[0]->dimensions[w.is_turned ? 1 : 2];
  int status = alloc_all(&w, ins, n_in);
  GA_THEN(status, launch(&w));
  if (status == GA_NO_ERROR)
    hand_out(outs, &w);
  for (unsigned int i = 0; i < GA_MATRICES_ARRAYS; i++)
    if (w.arrays[i].data != NULL)
      GpuArray_clear(&w.arrays[i]);
  return status;
}
