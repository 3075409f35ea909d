/* Deserializes the bindings of a plan. */
#include <string.h>

#include "c/array/array.h"
#include "c/base/label.h"
#include "c/device/device_errors.h"
#include "c/plan/stages_state.h"
#include "c/saving/plan_bindings.h"

typedef struct binding_reader {
  ga_reader *r;
  GpuPlan *plan;
  const ga_saved_kernels *kernels;
  ga_bound *bound;
  extras more;
  size_t *reach; /* extents of the slots of inputs and views */
  bool unusable; /* not supported on this device; no error */
} binding_reader;

static gpudata *get_buffer(binding_reader *b) {
  unsigned int kind = ga__get_uint(b->r, BUFFER_KINDS - 1),
               number = ga__get_uint(b->r, UINT32_MAX), site;
  const ga_tape *tape = b->bound->tape;
  const GpuPlan *p = b->plan;
  gpudata *resolved = NULL;
  if (kind == OF_SLOT && number < tape->n_slots)
    resolved = &tape->slots[number]->buffer;
  else if (kind == OF_CONSTANT && number < p->graph.n_values)
    resolved = p->graph.values[number].constant.data;
  else if (kind == OF_FILE && number < b->more.n)
    resolved = b->more.list[number];
  else if (kind == OF_REPORTS)
    b->unusable |= ga__report_site(&resolved, &site, p->context, "", "") != GA_NO_ERROR;
  else if (kind == OF_COUNT)
    b->unusable |= ga__report_count(&resolved, p->context) != GA_NO_ERROR;
  if (kind != NO_BUFFER && kind != OF_REPORTS && kind != OF_COUNT && resolved == NULL)
    b->r->failed = true;
  return resolved;
}

static int get_signature(binding_reader *b) {
  size_t n = ga__get_uint(b->r, UINT32_MAX);
  if (n != b->plan->signature.length)
    return ga__plan_malformed();
  b->bound->signature = ga__alloc(n + 1, sizeof *b->bound->signature);
  GA_TRY_MEMORY(b->bound->signature);
  for (size_t i = 0; i < n; i++)
    b->bound->signature[i] = ga__get_int(b->r);
  return GA_NO_ERROR;
}

static int get_extras(binding_reader *b) {
  unsigned int n = ga__get_uint(b->r, UINT32_MAX);
  if (n > b->r->left)
    return ga__plan_malformed();
  b->more.list = ga__alloc(n + 1, sizeof(gpudata *));
  GA_TRY_MEMORY(b->more.list);
  for (unsigned int i = 0; i < n; i++) {
    ga_reader bytes = ga__get_bytes(b->r);
    if (b->r->failed)
      return ga__plan_malformed();
    GA_TRY(ga__buffer_new(&b->more.list[i], b->plan->context, bytes.left));
    b->more.n++;
    GA_TRY(gpudata_write(b->more.list[i], 0, bytes.at, bytes.left));
  }
  return GA_NO_ERROR;
}

/* Slots, those of inputs and views first. Their lifetimes, as [first, last] command,
 * are set once all commands are read. */
static int get_slots(binding_reader *b, size_t **lives) {
  ga_tape *tape = b->bound->tape;
  unsigned int n = ga__get_uint(b->r, UINT32_MAX);
  if (n > b->r->left || n < b->plan->graph.n_inputs + b->plan->views.n)
    return ga__plan_malformed();
  *lives = ga__alloc(2 * (size_t)n + 1, sizeof **lives);
  GA_TRY_MEMORY(*lives);
  for (unsigned int i = 0; i < n; i++) {
    gpudata *buffer;
    uint64_t size = ga__get_int(b->r);
    (*lives)[2 * i] = ga__get_int(b->r);
    (*lives)[2 * i + 1] = ga__get_int(b->r);
    bool input = ga__get_uint(b->r, 1) == 1;
    if (b->r->failed || input != (i < b->plan->graph.n_inputs + b->plan->views.n))
      return ga__plan_malformed();
    GA_TRY(input ? ga__tape_input(&buffer, tape)
                 : ga__tape_buffer(&buffer, tape, size));
    if (input)
      b->bound->inputs[i] = buffer;
    gpudata_release(
        buffer); /* the tape holds it; results take references of their own */
  }
  return GA_NO_ERROR;
}

static int get_arg(binding_reader *b, ga_arg *list, unsigned int i) {
  ga_arg *a = &list[i];
  a->kind = (enum ga_arg_kind)ga__get_uint(b->r, GA_ARG_VALUE);
  a->is_read_only = ga__get_uint(b->r, 1) == 1;
  a->buffer = get_buffer(b);
  ga_reader value = ga__get_bytes(b->r);
  if (b->r->failed || value.left > sizeof a->value ||
      (a->kind != GA_ARG_VALUE && a->buffer == NULL))
    return ga__plan_malformed();
  a->size = a->kind == GA_ARG_MEMORY ? sizeof(void *) : (unsigned int)value.left;
  if (value.left > 0)
    memcpy(a->value.bytes, value.at, value.left);
  if (!ga__arg_is_site(list, i))
    return GA_NO_ERROR;
  ga_texts owned = {0};
  gpudata *word;
  unsigned int number = 0;
  const char *operation = ga__get_text(b->r, &owned),
             *label = ga__get_text(b->r, &owned);
  int status = operation && label
                   ? ga__report_site(&word, &number, b->plan->context, operation, label)
                   : ga__plan_malformed();
  a->value.u64 = number;
  ga__texts_clear(&owned);
  return status;
}

/* GA_VALUE_ERROR unless the launch is as recorded and its buffers are no smaller. */
static int check_seal(binding_reader *b, const gpukernel *k, const ga_launch *l) {
  size_t sizes[GA_MAX_ARGS] = {0};
  ga_hash seal;
  bool fits = true;
  for (unsigned int i = 0; i < l->n_args; i++) {
    sizes[i] = ga__get_int(b->r);
    if (l->args[i].kind == GA_ARG_MEMORY)
      fits = fits && sizes[i] <= ga__binding_size(l->args[i].buffer, b->reach);
  }
  GA_TRY(ga__launch_seal(&seal, k, l, sizes));
  fits = fits && ga__get_int(b->r) == seal.a && ga__get_int(b->r) == seal.b;
  return fits && !b->r->failed ? GA_NO_ERROR : ga__plan_malformed();
}

static int get_launch(binding_reader *b) {
  ga_launch l = {0};
  unsigned int number = ga__get_uint(b->r, UINT32_MAX);
  l.nd = ga__get_uint(b->r, 3);
  for (unsigned int i = 0; i < l.nd; i++) {
    l.grid[i] = ga__get_int(b->r);
    l.block[i] = ga__get_int(b->r);
  }
  l.shared = ga__get_int(b->r);
  l.n_args = ga__get_uint(b->r, GA_MAX_ARGS);
  if (b->r->failed || number >= b->kernels->n)
    return ga__plan_malformed();
  ga_arg *args = ga__alloc(l.n_args + 1, sizeof *args);
  int status = args ? GA_NO_ERROR : GA_MEMORY_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < l.n_args; i++)
    status = get_arg(b, args, i);
  l.args = args;
  gpukernel *k = b->kernels->list[number];
  b->unusable |= k == NULL;
  if (status == GA_NO_ERROR && !b->unusable)
    status = check_seal(b, k, &l);
  if (status == GA_NO_ERROR && !b->unusable)
    status = ga__tape_launch(b->bound->tape, k, &l);
  ga__free(args);
  return status;
}

static void get_operand(binding_reader *b, ga_blas_operand *o) {
  o->buffer = get_buffer(b);
  o->offset = ga__get_int(b->r);
  o->ld = (ssize_t)ga__get_int(b->r);
  o->step = (ssize_t)ga__get_int(b->r);
}

static int get_product(binding_reader *b) {
  ga_blas_call call = {0};
  ga_reader *r = b->r;
  call.routine = (enum ga_blas_routine)ga__get_uint(r, GA_BLAS_GEMV);
  call.epilogue = (enum ga_blas_epilogue)ga__get_uint(r, GA_BLAS_BIAS_RELU);
  call.typecode = (int)ga__get_uint(r, GA_NBASE);
  call.is_tf32 = ga__get_uint(r, 1) == 1;
  call.ta = (cb_transpose)ga__get_uint(r, cb_conj_trans);
  call.tb = (cb_transpose)ga__get_uint(r, cb_conj_trans);
  call.m = ga__get_int(r);
  call.n = ga__get_int(r);
  call.k = ga__get_int(r);
  call.batch = ga__get_int(r);
  for (unsigned int i = 0; i < 2; i++) {
    call.alpha[i] = ga__get_double(r);
    call.beta[i] = ga__get_double(r);
  }
  get_operand(b, &call.a);
  get_operand(b, &call.b);
  get_operand(b, &call.c);
  get_operand(b, &call.bias);
  if (r->failed || !call.a.buffer || !call.b.buffer || !call.c.buffer ||
      !ga__product_fits(&call, b->reach))
    return ga__plan_malformed();
  gpucontext *ctx = b->plan->context;
  const ga_blas *blas = ga__context_blas(ctx);
  b->unusable |= blas == NULL || !blas->serves(ctx->device, &call);
  return b->unusable ? GA_NO_ERROR : ga__tape_blas(b->bound->tape, &call);
}

static int get_transfer(binding_reader *b, enum command_kind kind) {
  gpudata *to = get_buffer(b);
  size_t to_offset = ga__get_int(b->r);
  gpudata *from = get_buffer(b);
  size_t from_offset = ga__get_int(b->r), size = ga__get_int(b->r);
  unsigned char byte = (unsigned char)ga__get_uint(b->r, UINT8_MAX);
  const transfer t = {to, kind == COPY ? from : NULL, to_offset, from_offset, size, 0};
  if (b->r->failed || to == NULL || (kind == COPY && from == NULL) ||
      !ga__transfer_fits(&t, b->reach))
    return ga__plan_malformed();
  if (kind == FILL)
    return ga__tape_fill(b->bound->tape, to, to_offset, byte, size);
  return ga__tape_copy(b->bound->tape, to, to_offset, from, from_offset, size);
}

static int get_command(binding_reader *b) {
  ga_texts owned = {0};
  enum command_kind kind = (enum command_kind)ga__get_uint(b->r, PRODUCT);
  const char *label = ga__get_text(b->r, &owned);
  const char *interned = label ? ga__intern(label) : NULL;
  ga__texts_clear(&owned);
  if (interned == NULL)
    return label ? GA_MEMORY_ERROR : ga__plan_malformed();
  const char *own = ga__label_swap(interned);
  int status = kind == LAUNCH    ? get_launch(b)
               : kind == PRODUCT ? get_product(b)
                                 : get_transfer(b, kind);
  ga__label_swap(own);
  return status;
}

static int get_output(binding_reader *b, GpuArray *out, const ga_value *v) {
  GpuArray a = {0};
  a.data = get_buffer(b);
  a.offset = ga__get_int(b->r);
  int flags = (int)ga__get_uint(b->r, INT32_MAX);
  a.typecode = (int)ga__get_uint(b->r, GA_NBASE);
  a.nd = ga__get_uint(b->r, GA_MAX_NDIM);
  for (unsigned int i = 0; i < a.nd; i++) {
    a.dimensions[i] = ga__get_int(b->r);
    a.strides[i] = (ssize_t)ga__get_int(b->r);
  }
  if (b->r->failed || a.data == NULL || !ga__output_fits(&a, v, b->reach))
    return ga__plan_malformed();
  a.flags = flags & GA_WRITEABLE;
  GpuArray_fix_flags(&a);
  gpudata_retain(a.data);
  *out = a;
  return GA_NO_ERROR;
}

static int get_tape(binding_reader *b, size_t **lives) {
  ga_bound *bound = b->bound;
  ga_tape *tape = bound->tape;
  GA_TRY(get_signature(b));
  GA_TRY(ga__binding_reach(b->reach, b->plan, bound->signature));
  GA_TRY(get_extras(b));
  GA_TRY(get_slots(b, lives));
  size_t n = ga__get_int(b->r);
  for (size_t i = 0; i < n && !b->unusable; i++)
    GA_TRY(get_command(b));
  if (b->unusable)
    return GA_NO_ERROR;
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    tape->slots[i]->born = (*lives)[2 * i];
    tape->slots[i]->died = (*lives)[2 * i + 1];
  }
  for (unsigned int i = 0; i < bound->n_outputs; i++)
    GA_TRY(get_output(b, &bound->outputs[i],
                      &b->plan->graph.values[b->plan->graph.outputs[i]]));
  if (b->r->failed || b->r->left > 0)
    return ga__plan_malformed();
  return ga__bound_finish(bound);
}

/* Checks the checksum and drops it from the reader. */
static int check_binding_seal(ga_reader *r) {
  const size_t size =
      r->left < 2 * sizeof(uint64_t) ? 0 : r->left - 2 * sizeof(uint64_t);
  ga_reader stored = {r->at + size, r->left - size, false};
  const ga_hash seal = ga__binding_seal(r->at, size);
  const bool fits = ga__get_int(&stored) == seal.a && ga__get_int(&stored) == seal.b;
  r->left = size;
  return fits && !stored.failed ? GA_NO_ERROR : ga__plan_malformed();
}

/* *out stays NULL for a binding that this device does not support. */
static int get_bound(ga_bound **out, GpuPlan *p, const ga_saved_kernels *kernels,
                     ga_reader *r) {
  size_t *lives = NULL;
  binding_reader b = {.r = r, .plan = p, .kernels = kernels};
  b.bound = ga__alloc(1, sizeof *b.bound);
  GA_TRY_MEMORY(b.bound);
  b.bound->outputs = ga__alloc(p->graph.n_outputs + 1, sizeof *b.bound->outputs);
  b.bound->inputs =
      ga__alloc((size_t)p->graph.n_inputs + p->views.n + 1, sizeof *b.bound->inputs);
  b.reach = ga__alloc((size_t)p->graph.n_inputs + p->views.n + 1, sizeof *b.reach);
  int status =
      b.bound->outputs && b.bound->inputs && b.reach ? GA_NO_ERROR : GA_MEMORY_ERROR;
  GA_THEN(status, ga__tape_new(&b.bound->tape, p->context));
  if (status == GA_NO_ERROR) {
    b.bound->n_outputs = p->graph.n_outputs;
    status = get_tape(&b, &lives);
  }
  for (unsigned int i = 0; i < b.more.n; i++)
    gpudata_release(b.more.list[i]); /* the tape holds those that it uses */
  ga__free(b.more.list);
  ga__free(b.reach);
  ga__free(lives);
  if (status == GA_NO_ERROR && !b.unusable)
    *out = b.bound;
  else
    ga__bound_free(b.bound);
  return status;
}

static int get_bindings(GpuPlan *p, const ga_saved_kernels *kernels, ga_reader *r) {
  if (!ga__plan_needs_bindings(p))
    return GA_NO_ERROR; /* older files have them in any case */
  unsigned int n = ga__get_uint(r, UINT32_MAX);
  for (unsigned int i = 0; i < n; i++) {
    ga_bound *bound = NULL;
    ga_reader one = ga__get_bytes(r);
    if (r->failed)
      return ga__plan_malformed();
    GA_TRY(check_binding_seal(&one));
    GA_TRY(get_bound(&bound, p, kernels, &one));
    if (bound != NULL)
      GA_TRY(ga__bound_add(p, bound));
  }
  return GA_NO_ERROR;
}

int ga__bindings_get(GpuPlan *p, const ga_saved_kernels *kernels, ga_reader *r) {
  GA_TRY(ga__plan_settle(p));
  if (p->stages == NULL)
    return kernels->is_ours ? get_bindings(p, kernels, r) : GA_NO_ERROR;
  unsigned int i = 0;
  for (GpuPlan *stage; (stage = ga__stages_next(p, &i)) != NULL;) {
    const ga_saved_kernels *own = &kernels[p->stages->list[i - 1].place];
    ga_reader one = ga__get_bytes(r);
    if (r->failed)
      return ga__plan_malformed();
    if (own->is_ours)
      GA_TRY(get_bindings(stage, own, &one));
  }
  return GA_NO_ERROR;
}
