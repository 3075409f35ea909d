/* Recording of commands. */
#include "c/tape/tape_state.h"

#include <string.h>

/* Tape of placeholders that outlive theirs. */
static ga_tape no_tape = {.head.recorder = &ga__tape_recorder, .is_over = true};

static void release(gpudata *stand_in) {
  slot *s = (slot *)stand_in;
  if (stand_in->tape == &no_tape)
    ga__free(s);
  else
    s->died = stand_in->tape->n_commands; /* the tape frees it */
}

void ga__slot_free(slot *s) {
  if (atomic_load(&s->buffer.references) == 0)
    ga__free(s);
  else
    s->buffer.tape = &no_tape;
}

/* A new command, preceded by the control marks for its branch. */
static int new_command(command **out, ga_tape *tape, enum command_kind kind) {
  GA_TRY(ga__tape_follow(tape));
  return ga__tape_command(out, tape, kind);
}

/* Number of arguments of a kind with this buffer. */
static unsigned int count_args(const ga_launch *launch, enum ga_arg_kind kind,
                               const gpudata *buffer) {
  unsigned int n = 0;
  for (const ga_arg *a = launch->args; a < launch->args + launch->n_args; a++)
    n += a->kind == kind && a->buffer == buffer;
  return n;
}

/* Marks inputs with more pointer than offset arguments: users' kernels may get an
 * offset as a plain number. */
static void mark_fixed(const ga_tape *tape, const ga_launch *launch) {
  for (unsigned int i = 0; i < launch->n_args; i++) {
    const gpudata *buffer = launch->args[i].buffer;
    if (launch->args[i].kind != GA_ARG_MEMORY || buffer->tape == NULL)
      continue;
    slot *s = tape->slots[ga__tape_slot(buffer)];
    s->fixed |= s->input && count_args(launch, GA_ARG_OFFSET, buffer) <
                                count_args(launch, GA_ARG_MEMORY, buffer);
  }
}

int ga__tape_launch(ga_tape *tape, gpukernel *k, const ga_launch *launch) {
  command *c = NULL;
  for (unsigned int i = 0; i < launch->n_args; i++)
    if (launch->args[i].kind == GA_ARG_MEMORY) {
      GA_TRY(ga__tape_keep(tape, launch->args[i].buffer));
      tape->traits.reports |= (launch->args[i].buffer->flags & GA_BUFFER_WORD) != 0;
    }
  GA_TRY(new_command(&c, tape, LAUNCH));
  size_t bytes = launch->n_args * sizeof *launch->args;
  c->recorded = ga__alloc(launch->n_args, sizeof *launch->args);
  ga_arg *patched = ga__alloc(launch->n_args, sizeof *launch->args);
  if (c->recorded == NULL || patched == NULL) {
    ga__free(c->recorded);
    ga__free(patched);
    return GA_MEMORY_ERROR;
  }
  memcpy(c->recorded, launch->args, bytes);
  memcpy(patched, launch->args, bytes);
  c->launch = *launch;
  c->launch.args = patched;
  c->kernel = k;
  gpukernel_retain(k);
  mark_fixed(tape, launch);
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_copy(ga_tape *tape, gpudata *to, size_t to_offset, gpudata *from,
                  size_t from_offset, size_t size) {
  command *c = NULL;
  GA_TRY(ga__tape_keep(tape, to));
  GA_TRY(ga__tape_keep(tape, from));
  GA_TRY(new_command(&c, tape, COPY));
  c->u.move = (transfer){to, from, to_offset, from_offset, size, 0};
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_fill(ga_tape *tape, gpudata *buffer, size_t offset, unsigned char byte,
                  size_t size) {
  command *c = NULL;
  GA_TRY(ga__tape_keep(tape, buffer));
  GA_TRY(new_command(&c, tape, FILL));
  c->u.move = (transfer){buffer, NULL, offset, 0, size, byte};
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_blas(ga_tape *tape, const ga_blas_call *call) {
  command *c = NULL;
  GA_TRY(ga__tape_keep(tape, call->a.buffer));
  GA_TRY(ga__tape_keep(tape, call->b.buffer));
  GA_TRY(ga__tape_keep(tape, call->c.buffer));
  GA_TRY(ga__tape_keep(tape, call->bias.buffer));
  GA_TRY(new_command(&c, tape, PRODUCT));
  c->u.product = *call;
  tape->traits.multiplies = true;
  tape->traits.has_epilogues |= call->epilogue != GA_BLAS_PLAIN;
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_convolution(ga_tape *tape, const ga_dnn_call *call) {
  command *c = NULL;
  for (unsigned int i = 0; i < GA_DNN_BUFFERS; i++) {
    bool writes;
    GA_TRY(ga__tape_keep(tape, ga__dnn_buffer(&writes, call, i)));
  }
  GA_TRY(new_command(&c, tape, CONVOLUTION));
  c->u.convolution = ga__alloc(1, sizeof *call);
  GA_TRY_MEMORY(c->u.convolution);
  *c->u.convolution = *call;
  tape->traits.convolves = true;
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_collective(ga_tape *tape, const ga_collective *call) {
  command *c = NULL;
  GA_TRY(ga__tape_keep(tape, call->parts[0].data));
  GA_TRY(ga__tape_keep(tape, call->parts[1].data));
  GA_TRY(new_command(&c, tape, COLLECTIVE));
  c->u.collective = ga__alloc(1, sizeof *call);
  GA_TRY_MEMORY(c->u.collective);
  *c->u.collective = *call;
  ga__comm_retain(call->comm);
  tape->traits.collects = true;
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_defer(ga_tape *tape, ga_deferred *call) {
  command *c = NULL;
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < call->n_out + call->n_in; i++)
    status = ga__tape_keep(tape, call->recorded[i].data);
  GA_THEN(status, new_command(&c, tape, CALL));
  if (status != GA_NO_ERROR) {
    ga__deferred_free(call);
    return status;
  }
  c->u.call = call;
  tape->traits.defers = true;
  tape->n_commands++;
  return GA_NO_ERROR;
}

void ga__deferred_free(ga_deferred *call) {
  if (call == NULL)
    return;
  ga__free(call->recorded);
  ga__free(call->arrays);
  ga__free((void *)call->places);
  ga__free(call->ints);
  ga__free(call);
}

bool ga__tape_defers(const ga_tape *tape) {
  return tape->traits.defers || tape->traits.collects;
}

bool ga__tape_is_portable(const ga_tape *tape) {
  return !tape->traits.defers && !tape->traits.collects && !tape->traits.convolves;
}

const ga_recorder ga__tape_recorder = {ga__tape_buffer, release,
                                       ga__tape_launch, ga__tape_copy,
                                       ga__tape_fill,   ga__tape_collective};
