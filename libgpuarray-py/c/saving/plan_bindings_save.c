/* Serializes the bindings of a plan. */
#include "c/array/array.h"
#include "c/device/device_errors.h"
#include "c/plan/stages_state.h"
#include "c/saving/plan_bindings.h"

static bool is_of_reports(const gpudata *buffer) {
  return (buffer->flags & (GA_BUFFER_WORD | GA_BUFFER_COUNT)) != 0;
}

/* True if the array is contiguous and fills its buffer, as a constant from a file
 * does. */
static bool is_whole(const GpuArray *a) {
  return GpuArray_IS_C_CONTIGUOUS(a) && a->offset == 0 &&
         ga__array_count(a) * gpuarray_get_elsize(a->typecode) == a->data->size;
}

/* The constant with that buffer, or n_values. */
static unsigned int find_constant(const GpuPlan *p, const gpudata *buffer) {
  unsigned int i = 0;
  while (i < p->graph.n_values && (p->graph.values[i].constant.data != buffer ||
                                   !is_whole(&p->graph.values[i].constant)))
    i++;
  return i;
}

static void put_buffer(ga_strbuf *out, const GpuPlan *p, const extras *more,
                       const gpudata *buffer) {
  unsigned int kind = NO_BUFFER, number = 0;
  if (buffer != NULL && buffer->tape != NULL) {
    kind = OF_SLOT;
    number = ga__tape_slot(buffer);
  } else if (buffer != NULL && is_of_reports(buffer)) {
    kind = buffer->flags & GA_BUFFER_COUNT ? OF_COUNT : OF_REPORTS;
  } else if (buffer != NULL) {
    number = find_constant(p, buffer);
    kind = number < p->graph.n_values ? OF_CONSTANT : OF_FILE;
    if (kind == OF_FILE)
      for (number = 0; number < more->n && more->list[number] != buffer; number++)
        ;
  }
  ga__put_int(out, kind);
  ga__put_int(out, number);
}

/* Lists the tape's other buffers and writes their contents. */
static int put_extras(ga_strbuf *out, extras *more, const GpuPlan *p,
                      const ga_tape *tape) {
  more->list = ga__alloc(tape->n_held + 1, sizeof(gpudata *));
  GA_TRY_MEMORY(more->list);
  for (size_t i = 0; i < tape->n_held; i++) {
    gpudata *buffer = tape->held[i];
    bool known = is_of_reports(buffer) || find_constant(p, buffer) < p->graph.n_values;
    for (unsigned int k = 0; k < more->n; k++)
      known |= more->list[k] == buffer;
    if (!known)
      more->list[more->n++] = buffer;
  }
  ga__put_int(out, more->n);
  for (unsigned int i = 0; i < more->n; i++) {
    gpudata *buffer = more->list[i];
    char *bytes = ga__alloc(buffer->size + 1, 1);
    int status =
        bytes ? ga__buffer_read(bytes, buffer, 0, buffer->size) : GA_MEMORY_ERROR;
    if (status == GA_NO_ERROR)
      ga__put_bytes(out, bytes, buffer->size);
    ga__free(bytes);
    GA_TRY(status);
  }
  return GA_NO_ERROR;
}

static void put_slots(ga_strbuf *out, const ga_tape *tape) {
  ga__put_int(out, tape->n_slots);
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *s = tape->slots[i];
    ga__put_int(out, s->buffer.size);
    ga__put_int(out, s->born);
    ga__put_int(out, s->died);
    ga__put_int(out, s->input);
  }
}

/* The sizes of a launch's buffers, and its checksum. */
static void put_seal(ga_strbuf *out, const command *c, const size_t *reach) {
  size_t sizes[GA_MAX_ARGS] = {0};
  ga_launch l = c->launch;
  ga_hash seal;
  l.args = c->recorded;
  for (unsigned int i = 0; i < l.n_args; i++) {
    if (l.args[i].kind == GA_ARG_MEMORY)
      sizes[i] = ga__binding_size(l.args[i].buffer, reach);
    ga__put_int(out, sizes[i]);
  }
  if (ga__launch_seal(&seal, ga__kernel_saved(c->kernel), &l, sizes) != GA_NO_ERROR) {
    out->failed = true;
    return;
  }
  ga__put_int(out, seal.a);
  ga__put_int(out, seal.b);
}

static void put_launch(ga_strbuf *out, const GpuPlan *p, const extras *more,
                       const ga_saved_kernels *kernels, const command *c) {
  const ga_launch *l = &c->launch;
  const char *operation, *label;
  unsigned int number = 0;
  while (kernels->list[number] != ga__kernel_saved(c->kernel))
    number++;
  ga__put_int(out, number);
  ga__put_int(out, l->nd);
  for (unsigned int i = 0; i < l->nd; i++) {
    ga__put_int(out, l->grid[i]);
    ga__put_int(out, l->block[i]);
  }
  ga__put_int(out, l->shared);
  ga__put_int(out, l->n_args);
  for (unsigned int i = 0; i < l->n_args; i++) {
    const ga_arg *a = &c->recorded[i];
    ga__put_int(out, (uint64_t)a->kind);
    ga__put_int(out, a->kind == GA_ARG_MEMORY && a->is_read_only);
    put_buffer(out, p, more, a->buffer);
    ga__put_bytes(out, a->value.bytes, a->kind == GA_ARG_MEMORY ? 0 : a->size);
    if (ga__arg_is_site(c->recorded, i)) {
      ga__report_names(&operation, &label, p->context, (unsigned int)a->value.u64);
      ga__put_text(out, operation);
      ga__put_text(out, label);
    }
  }
}

static void put_operand(ga_strbuf *out, const GpuPlan *p, const extras *more,
                        const ga_blas_operand *o) {
  put_buffer(out, p, more, o->buffer);
  ga__put_int(out, o->offset);
  ga__put_int(out, (uint64_t)o->ld);
  ga__put_int(out, (uint64_t)o->step);
}

static void put_product(ga_strbuf *out, const GpuPlan *p, const extras *more,
                        const ga_blas_call *call) {
  const uint64_t words[10] = {(uint64_t)call->routine,
                              (uint64_t)call->epilogue,
                              (uint64_t)call->typecode,
                              call->is_tf32,
                              (uint64_t)call->ta,
                              (uint64_t)call->tb,
                              call->m,
                              call->n,
                              call->k,
                              call->batch};
  for (unsigned int i = 0; i < 10; i++)
    ga__put_int(out, words[i]);
  for (unsigned int i = 0; i < 2; i++) {
    ga__put_double(out, call->alpha[i]);
    ga__put_double(out, call->beta[i]);
  }
  put_operand(out, p, more, &call->a);
  put_operand(out, p, more, &call->b);
  put_operand(out, p, more, &call->c);
  put_operand(out, p, more, &call->bias);
}

static void put_command(ga_strbuf *out, const GpuPlan *p, const extras *more,
                        const ga_saved_kernels *kernels, const command *c,
                        const size_t *reach) {
  const transfer *t = &c->u.move;
  ga__put_int(out, (uint64_t)c->kind);
  ga__put_text(out, c->label);
  switch (c->kind) {
  case LAUNCH:
    put_launch(out, p, more, kernels, c);
    put_seal(out, c, reach);
    return;
  case PRODUCT:
    put_product(out, p, more, &c->u.product);
    return;
  case COPY:
  case FILL:
    put_buffer(out, p, more, t->to);
    ga__put_int(out, t->to_offset);
    put_buffer(out, p, more, t->from);
    ga__put_int(out, t->from_offset);
    ga__put_int(out, t->size);
    ga__put_int(out, t->byte);
    return;
  case CALL: /* never in a binding that is saved, nor are the next two */
  case CONVOLUTION:
  case COLLECTIVE:
  case FIND:
  case IF:
  case ELSE:
  case END:
    return;
  }
}

static void put_output(ga_strbuf *out, const GpuPlan *p, const extras *more,
                       const GpuArray *a) {
  put_buffer(out, p, more, a->data);
  ga__put_int(out, a->offset);
  ga__put_int(out, (uint64_t)a->flags);
  ga__put_int(out, (uint64_t)a->typecode);
  ga__put_int(out, a->nd);
  for (unsigned int i = 0; i < a->nd; i++) {
    ga__put_int(out, a->dimensions[i]);
    ga__put_int(out, (uint64_t)a->strides[i]);
  }
}

static int put_bound(ga_strbuf *out, const GpuPlan *p, const ga_saved_kernels *kernels,
                     const ga_bound *b) {
  extras more = {0};
  size_t *reach = ga__alloc((size_t)p->graph.n_inputs + p->views.n + 1, sizeof *reach);
  GA_TRY_MEMORY(reach);
  ga__put_int(out, p->signature.length);
  for (size_t i = 0; i < p->signature.length; i++)
    ga__put_int(out, b->signature[i]);
  int status = ga__binding_reach(reach, p, b->signature);
  GA_THEN(status, put_extras(out, &more, p, b->tape));
  if (status == GA_NO_ERROR) {
    put_slots(out, b->tape);
    ga__put_int(out, b->tape->n_commands);
    for (size_t i = 0; i < b->tape->n_commands; i++)
      put_command(out, p, &more, kernels, &b->tape->commands[i], reach);
    for (unsigned int i = 0; i < b->n_outputs; i++)
      put_output(out, p, &more, &b->outputs[i]);
    status = ga__strbuf_status(out);
  }
  if (status == GA_NO_ERROR) {
    const ga_hash seal = ga__binding_seal(out->text, out->length);
    ga__put_int(out, seal.a);
    ga__put_int(out, seal.b);
    status = ga__strbuf_status(out);
  }
  ga__free(more.list);
  ga__free(reach);
  return status;
}

/* The next binding towards the newest that another process can use. */
static const ga_bound *savable(const GpuPlan *p, const ga_bound *b) {
  if (!ga__plan_needs_bindings(p))
    return NULL;
  while (b != NULL && !ga__tape_is_portable(b->tape))
    b = b->previous;
  return b;
}

/* In LRU order, oldest first: ga__bound_add makes each the newest. */
static int put_bindings(ga_strbuf *out, const ga_saved_kernels *kernels,
                        const GpuPlan *p) {
  unsigned int n = 0;
  for (const ga_bound *b = savable(p, p->bindings.oldest); b;
       b = savable(p, b->previous))
    n++;
  ga__put_int(out, n);
  for (const ga_bound *b = savable(p, p->bindings.oldest); b;
       b = savable(p, b->previous)) {
    ga_strbuf one = {0};
    int status = put_bound(&one, p, kernels, b);
    if (status == GA_NO_ERROR)
      ga__put_bytes(out, one.text, one.length);
    ga__strbuf_clear(&one);
    GA_TRY(status);
  }
  return ga__strbuf_status(out);
}

int ga__bindings_put(ga_strbuf *out, const ga_saved_kernels *kernels,
                     const GpuPlan *p) {
  if (p->stages == NULL)
    return put_bindings(out, kernels, p);
  unsigned int i = 0;
  for (const GpuPlan *stage; (stage = ga__stages_next(p, &i)) != NULL;) {
    ga_strbuf one = {0};
    int status = put_bindings(&one, &kernels[p->stages->list[i - 1].place], stage);
    if (status == GA_NO_ERROR)
      ga__put_bytes(out, one.text, one.length);
    ga__strbuf_clear(&one);
    GA_TRY(status);
  }
  return ga__strbuf_status(out);
}
