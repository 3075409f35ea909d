/* Replay command by command: queued, or captured into a graph. */
#include "c/tape/tape_branches.h"
#include "c/tape/tape_chain.h"

#include <string.h>

/* The buffer that a recorded one is bound to, and its base offset. */
static ga_binding resolve(const ga_binding *bindings, gpudata *buffer) {
  if (buffer != NULL && buffer->tape != NULL)
    return bindings[ga__tape_slot(buffer)];
  return (ga_binding){buffer, 0};
}

static void rebase(ga_blas_operand *o, const ga_binding *bindings) {
  ga_binding real = resolve(bindings, o->buffer);
  o->buffer = real.buffer;
  o->offset += real.base;
}

static int replay_launch(command *c, const ga_binding *bindings) {
  ga_arg *args = (ga_arg *)(uintptr_t)c->launch.args;
  for (unsigned int i = 0; i < c->launch.n_args; i++) {
    const ga_arg *recorded = &c->recorded[i];
    if (recorded->kind == GA_ARG_VALUE)
      continue;
    ga_binding real = resolve(bindings, recorded->buffer);
    args[i].buffer = real.buffer;
    if (recorded->kind == GA_ARG_OFFSET)
      args[i].value.u64 = recorded->value.u64 + real.base;
  }
  return ga__kernel_launch(c->kernel, &c->launch);
}

static int replay_product(const ga_tape *tape, const command *c,
                          const ga_binding *bindings) {
  ga_blas_call call = c->u.product;
  rebase(&call.a, bindings);
  rebase(&call.b, bindings);
  rebase(&call.c, bindings);
  rebase(&call.bias, bindings);
  return ga__context_product(tape->head.context, &call);
}

static void move_operand(ga_dnn_operand *o, const ga_binding *bindings) {
  if (o->buffer == NULL)
    return;
  const ga_binding real = resolve(bindings, o->buffer);
  o->buffer = real.buffer;
  o->offset += real.base;
}

static int replay_convolution(const ga_tape *tape, const command *c,
                              const ga_binding *bindings) {
  ga_dnn_call call = *c->u.convolution;
  move_operand(&call.image, bindings);
  move_operand(&call.filters, bindings);
  move_operand(&call.result, bindings);
  move_operand(&call.bias, bindings);
  move_operand(&call.residual, bindings);
  call.work = resolve(bindings, call.work).buffer;
  return ga__context_convolution(tape->head.context, &call);
}

static int replay_collective(const command *c, const ga_binding *bindings) {
  ga_collective call = *c->u.collective;
  for (int i = 0; i < 2; i++) {
    const ga_binding real = resolve(bindings, call.parts[i].data);
    call.parts[i].data = real.buffer;
    call.parts[i].offset += real.base;
  }
  return ga__collective_run(&call, c->waiting > 0);
}

/* Calls a callback. The arrays are borrowed: the bindings hold the buffers. */
static int replay_call(const ga_deferred *call, const ga_binding *bindings) {
  for (unsigned int i = 0; i < call->n_out + call->n_in; i++) {
    ga_binding real = resolve(bindings, call->recorded[i].data);
    call->arrays[i].data = real.buffer;
    call->arrays[i].offset = call->recorded[i].offset + real.base;
  }
  const GpuArray *const *ins = (const GpuArray *const *)(call->places + call->n_out);
  return call->function(call->data, call->places, ins, call->ints);
}

static int replay_command(const ga_tape *tape, command *c, const ga_binding *bindings) {
  const transfer *t = &c->u.move;
  switch (c->kind) {
  case LAUNCH:
    return replay_launch(c, bindings);
  case COPY: {
    ga_binding to = resolve(bindings, t->to), from = resolve(bindings, t->from);
    return gpudata_move(to.buffer, t->to_offset + to.base, from.buffer,
                        t->from_offset + from.base, t->size);
  }
  case FILL: {
    ga_binding to = resolve(bindings, t->to);
    return ga__buffer_fill(to.buffer, t->to_offset + to.base, t->byte, t->size);
  }
  case PRODUCT:
    return replay_product(tape, c, bindings);
  case CONVOLUTION:
    return replay_convolution(tape, c, bindings);
  case CALL:
    return replay_call(c->u.call, bindings);
  case COLLECTIVE:
    return replay_collective(c, bindings);
  case FIND: /* control marks, see queue_command */
  case IF:
  case ELSE:
  case END:
    break;
  }
  return GA_NO_ERROR;
}

/* Host-side branch: reads the condition, and skips the commands of the branch not
 * taken. */
static int branch_on_host(ga_tape *tape, const command *c, size_t *at,
                          const ga_binding *bindings) {
  condition *asked = &tape->conditionals.list[c->u.choice.condition];
  if (c->kind == FIND) {
    char bytes[GA_CONDITION_BYTES] = {0};
    const ga_binding real = resolve(bindings, asked->buffer);
    GA_TRY(gpudata_read(bytes, real.buffer, asked->offset + real.base, asked->size));
    asked->holds = memcmp(bytes, (char[GA_CONDITION_BYTES]){0}, sizeof bytes) != 0;
  }
  if (c->kind == ELSE || (c->kind == IF && !asked->holds))
    *at = c->u.choice.end; /* to the ELSE, or to the END */
  return GA_NO_ERROR;
}

/* Device-side branch: captures a conditional node. */
static int capture_branch(const ga_tape *tape, const command *c,
                          const ga_binding *bindings) {
  const ga_backend *backend = tape->head.context->backend;
  void *device = ga__queue_device(tape->head.context);
  const condition *asked = &tape->conditionals.list[c->u.choice.condition];
  const ga_binding real = resolve(bindings, asked->buffer);
  switch (c->kind) {
  case IF:
    return backend->graph_if(device, real.buffer->memory, asked->offset + real.base,
                             asked->size);
  case ELSE:
    return backend->graph_else(device);
  case END:
    return backend->graph_end_if(device);
  default:
    return GA_NO_ERROR;
  }
}

/* `i` is its number among the commands of `branches`. */
static int queue_command(ga_tape *tape, command *c, size_t *at, size_t i,
                         const ga_binding *bindings, const ga_branches *branches) {
  if (is_mark(c))
    return branches != NULL ? capture_branch(tape, c, bindings)
                            : branch_on_host(tape, c, at, bindings);
  if (branches != NULL && branches->lanes > 0)
    GA_TRY(tape->head.context->backend->graph_next(
        ga__queue_device(tape->head.context),
        branches->first[i + 1] - branches->first[i],
        branches->after + branches->first[i], branches->lane[i]));
  return replay_command(tape, c, bindings);
}

/* True if a failed command may be retried, to keep inputs from being left half written.
 * Callbacks and collectives are called once only. */
static bool may_retry(const ga_tape *tape, const command *c) {
  return tape->protection.is_on && tape->protection.writes_early &&
         tape->protection.is_proven && c->kind != CALL && c->kind != COLLECTIVE &&
         atomic_load(&tape->head.context->errors.lost) == NULL;
}

/* Retries after waiting and trimming: the device may have refused for lack of
 * memory. */
static int retry(ga_tape *tape, command *c, size_t *at, const ga_binding *bindings) {
  gpucontext *ctx = tape->head.context;
  GA_TRY(ga__context_waited(ctx, ga__queue_wait(ga__queue_current(ctx))));
  GA_TRY(gpucontext_trim(ctx));
  return queue_command(tape, c, at, 0, bindings, NULL);
}

/* The commands with chains, or NULL; a profile and a context that waits for each launch
 * see single ones. */
static command *find_chains(ga_tape *tape, size_t *n) {
  const gpucontext *ctx = tape->head.context;
  if (atomic_load(&ctx->profile) != NULL || ctx->is_blocking)
    return NULL;
  return ga__tape_chained(tape, n);
}

int ga__tape_queue_commands(ga_tape *tape, const part *p, const ga_binding *bindings,
                            const ga_branches *branches) {
  const char *own = ga__label();
  int status = GA_NO_ERROR;
  const size_t first = p != NULL ? p->first : 0;
  size_t end = p != NULL ? p->end : tape->n_commands;
  command *chained = p == NULL ? find_chains(tape, &end) : NULL;
  command *list = chained != NULL ? chained : tape->commands;
  for (size_t i = first; i < end && status == GA_NO_ERROR; i++) {
    command *c = &list[i];
    ga__label_swap(*c->label ? c->label : own);
    status = queue_command(tape, c, &i, i - first, bindings, branches);
    if (status != GA_NO_ERROR && branches == NULL && may_retry(tape, c))
      status = retry(tape, c, &i, bindings);
    tape->failed = status == GA_NO_ERROR ? 0 : c->step;
  }
  ga__label_swap(own);
  return status;
}
