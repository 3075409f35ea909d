/* Commands recorded instead of queued. */
#include "c/tape/tape_state.h"

#include <string.h>

static void release(gpudata *stand_in);
static const ga_recorder recorder = {ga__tape_buffer, release, ga__tape_launch,
                                     ga__tape_copy, ga__tape_fill};

/* The tape of stand-ins that somebody keeps although theirs is gone. */
static ga_tape no_tape = {.head.recorder = &recorder, .is_over = true};

void ga__tape_enter(ga_tape *tape) {
  ga__recording_enter(&tape->head);
}

void ga__tape_leave(ga_tape *tape) {
  ga__recording_leave(&tape->head);
}

int ga__tape_refuse(const GpuArray *a, const char *operation) {
  if (a == NULL || a->data == NULL || a->data->tape == NULL)
    return GA_NO_ERROR;
  return GA_FAIL(GA_UNSUPPORTED_ERROR,
                 "%s: the array is of a plan that is being bound and has no elements "
                 "yet",
                 operation);
}

void ga__tape_set_step(ga_tape *tape, unsigned int step) {
  tape->step = step;
}

unsigned int ga__tape_failed(const ga_tape *tape) {
  return tape->failed;
}

int ga__tape_new(ga_tape **out, gpucontext *ctx) {
  ga_tape *tape = ga__alloc(1, sizeof *tape);
  if (tape == NULL)
    return GA_MEMORY_ERROR;
  tape->head = (ga_recording){&recorder, ctx, NULL};
  gpucontext_retain(ctx);
  *out = tape;
  return GA_NO_ERROR;
}

/* Frees a stand-in, or leaves that to whoever still refers to it. */
static void let_go(slot *s) {
  if (atomic_load(&s->buffer.references) == 0)
    ga__free(s);
  else
    s->buffer.tape = &no_tape;
}

void ga__tape_free(ga_tape *tape) {
  if (tape == NULL)
    return;
  ga__tape_free_graphs(tape);
  ga__tape_free_clashes(tape);
  for (size_t i = 0; i < tape->n_commands; i++) {
    command *c = &tape->commands[i];
    if (c->kind == CALL)
      ga__deferred_free(c->u.call);
    if (c->kind != LAUNCH)
      continue;
    gpukernel_release(c->kernel);
    ga__free(c->recorded);
    ga__free((void *)(uintptr_t)c->launch.args);
  }
  for (size_t i = 0; i < tape->n_held; i++)
    gpudata_release(tape->held[i]);
  ga__tape_hold(tape, false);
  for (unsigned int i = 0; i < tape->n_slots; i++)
    let_go(tape->slots[i]);
  ga__free(tape->commands);
  ga__free(tape->conditions);
  ga__free(tape->slots);
  ga__free(tape->held);
  ga__free(tape->blocks);
  ga__free(tape->workspace);
  ga__free(tape->kept);
  ga__free(tape->moves);
  gpucontext_deref(tape->head.context);
  ga__free(tape);
}

int ga__tape_grow(void **list, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity)
    return GA_NO_ERROR;
  size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
  void *bigger = ga__realloc(*list, wanted, size);
  if (bigger == NULL)
    return GA_MEMORY_ERROR;
  *list = bigger;
  *capacity = wanted;
  return GA_NO_ERROR;
}

static int new_slot(gpudata **out, ga_tape *tape, size_t size, bool input) {
  size_t capacity = tape->slot_capacity;
  GA_TRY(ga__tape_grow((void **)&tape->slots, &capacity, tape->n_slots,
                       sizeof *tape->slots));
  tape->slot_capacity = (unsigned int)capacity;
  slot *s = ga__alloc(1, sizeof *s);
  if (s == NULL)
    return GA_MEMORY_ERROR;
  s->buffer.context = tape->head.context;
  atomic_init(&s->buffer.references, 1);
  s->buffer.size = size;
  s->buffer.tape = tape;
  s->number = tape->n_slots;
  s->input = input;
  s->under = tape->under;
  s->born = tape->n_commands;
  s->died = SIZE_MAX;
  tape->slots[tape->n_slots++] = s;
  *out = &s->buffer;
  return GA_NO_ERROR;
}

int ga__tape_buffer(gpudata **out, ga_tape *tape, size_t size) {
  return new_slot(out, tape, size, false);
}

int ga__tape_input(gpudata **out, ga_tape *tape) {
  return new_slot(out, tape, SIZE_MAX / 4,
                  true); /* its size is not known before a run */
}

static void release(gpudata *stand_in) {
  slot *s = (slot *)stand_in;
  if (stand_in->tape == &no_tape)
    ga__free(s);
  else
    s->died = stand_in->tape->n_commands; /* the tape frees it */
}

unsigned int ga__tape_slot(const gpudata *stand_in) {
  return ((const slot *)stand_in)->number;
}

unsigned int ga__tape_slots(const ga_tape *tape) {
  return tape->n_slots;
}

bool ga__tape_kept(const ga_tape *tape, unsigned int number) {
  return tape->slots[number]->kept;
}

/* Tells of a stand-in that is used where its tape is not recorded. */
static int refuse_stranger(void) {
  return GA_FAIL(
      GA_INVALID_ERROR,
      "an array without memory, which a plan's step was recorded with, was kept and "
      "used outside of that recording; a step's function may keep none");
}

int ga__tape_keep(ga_tape *tape, gpudata *buffer) {
  if (buffer == NULL || buffer->tape == tape)
    return GA_NO_ERROR;
  if (buffer->tape != NULL)
    return refuse_stranger();
  GA_TRY(ga__tape_grow((void **)&tape->held, &tape->held_capacity, tape->n_held,
                       sizeof *tape->held));
  gpudata_retain(buffer);
  tape->held[tape->n_held++] = buffer;
  return GA_NO_ERROR;
}

int ga__tape_command(command **out, ga_tape *tape, enum command_kind kind) {
  if (tape->is_over)
    return refuse_stranger();
  GA_TRY(ga__tape_grow((void **)&tape->commands, &tape->capacity, tape->n_commands,
                       sizeof *tape->commands));
  command *c = &tape->commands[tape->n_commands];
  memset(c, 0, sizeof *c);
  c->kind = kind;
  c->label = ga__label();
  c->step = tape->step;
  *out = c;
  return GA_NO_ERROR;
}

/* A command of work, behind what opens the choices that it is under. */
static int new_command(command **out, ga_tape *tape, enum command_kind kind) {
  GA_TRY(ga__tape_follow(tape));
  return ga__tape_command(out, tape, kind);
}

bool ga__tape_fixed(const ga_tape *tape, unsigned int number) {
  return tape->slots[number]->fixed;
}

/* How many arguments of a kind the launch has of this buffer. */
static unsigned int count_args(const ga_launch *launch, enum ga_arg_kind kind,
                               const gpudata *buffer) {
  unsigned int n = 0;
  for (const ga_arg *a = launch->args; a < launch->args + launch->n_args; a++)
    n += a->kind == kind && a->buffer == buffer;
  return n;
}

/* Marks inputs that the launch has more pointers of than offsets: kernels of users may
 * be told of an offset as a plain number. */
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
      tape->reports |= (launch->args[i].buffer->flags & GA_BUFFER_WORD) != 0;
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
  tape->multiplies = true;
  tape->has_epilogues |= call->epilogue != GA_BLAS_PLAIN;
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_defer(ga_tape *tape, ga_deferred *call) {
  command *c = NULL;
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < call->n_out + call->n_in; i++)
    status = ga__tape_keep(tape, call->recorded[i].data);
  if (status == GA_NO_ERROR)
    status = new_command(&c, tape, CALL);
  if (status != GA_NO_ERROR) {
    ga__deferred_free(call);
    return status;
  }
  c->u.call = call;
  tape->defers = true;
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
  return tape->defers;
}

/* The block that fits best among those free when `s` is born: the smallest that is
 * large enough, else the largest, which then grows; n_blocks where none is free. */
static unsigned int free_block(const ga_tape *tape, const slot *s) {
  unsigned int best = tape->n_blocks;
  for (unsigned int i = 0; i < tape->n_blocks; i++) {
    const block *b = &tape->blocks[i];
    if (b->free_at > s->born)
      continue;
    if (best == tape->n_blocks) {
      best = i;
      continue;
    }
    size_t have = tape->blocks[best].size, want = s->buffer.size;
    bool better = have >= want ? b->size >= want && b->size < have : b->size > have;
    if (better)
      best = i;
  }
  return best;
}

/* Gives the slot a block for as long as it lives. */
static void place(ga_tape *tape, slot *s) {
  s->block = free_block(tape, s);
  block *b = &tape->blocks[s->block];
  if (s->block == tape->n_blocks)
    tape->n_blocks++;
  if (b->size < s->buffer.size)
    b->size = s->buffer.size;
  b->free_at = s->died;
}

/* All that was recorded may be compiled at the same time until here. */
static int wait_for_kernels(ga_tape *tape) {
  for (command *c = tape->commands; c < tape->commands + tape->n_commands; c++) {
    const int status = c->kind == LAUNCH ? ga__kernel_ready(c->kernel) : GA_NO_ERROR;
    if (status != GA_NO_ERROR) {
      tape->failed = c->step;
      return status;
    }
  }
  return GA_NO_ERROR;
}

int ga__tape_finish(ga_tape *tape, const bool *kept) {
  size_t count = tape->n_slots > 0 ? tape->n_slots : 1;
  GA_TRY(ga__tape_end_choices(tape));
  tape->is_over = true;
  GA_TRY(wait_for_kernels(tape));
  tape->blocks = ga__alloc(count, sizeof *tape->blocks);
  tape->workspace = ga__alloc(count, sizeof(gpudata *));
  tape->kept = ga__alloc(count, sizeof *tape->kept);
  tape->moves = ga__alloc(count, sizeof *tape->moves);
  if (tape->blocks == NULL || tape->workspace == NULL || tape->kept == NULL ||
      tape->moves == NULL)
    return GA_MEMORY_ERROR;
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    slot *s = tape->slots[i];
    if (s->number != i)
      continue;
    s->kept = kept[i] && !s->input;
    if (s->input || s->kept)
      tape->moves[tape->n_moves++] = i;
    else
      place(tape, s);
    if (s->kept) {
      tape->kept[tape->n_kept++] = i;
      tape->kept_size += s->buffer.size;
    }
  }
  for (unsigned int i = 0; i < tape->n_blocks; i++)
    tape->workspace_size += tape->blocks[i].size;
  ga__tape_hold(tape, false);
  GA_TRY(ga__tape_note_clashes(tape));
  return ga__tape_prepare_graphs(tape);
}
