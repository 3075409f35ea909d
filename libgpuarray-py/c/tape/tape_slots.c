/* Slots (placeholders), retained buffers and commands of a tape. */
#include "c/tape/tape_state.h"

#include <string.h>

/* ---- placeholders ---- */

static int new_slot(gpudata **out, ga_tape *tape, size_t size, bool input) {
  GA_TRY(GA_GROW(tape->slots, tape->slot_capacity, tape->n_slots));
  slot *s = ga__alloc(1, sizeof *s);
  GA_TRY_MEMORY(s);
  s->buffer.context = tape->head.context;
  atomic_init(&s->buffer.references, 1);
  s->buffer.size = size;
  s->buffer.tape = tape;
  s->number = tape->n_slots;
  s->input = input;
  s->under = tape->conditionals.under;
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
  return new_slot(out, tape, SIZE_MAX / 4, true); /* size unknown until a run */
}

unsigned int ga__tape_slot(const gpudata *stand_in) {
  return ((const slot *)stand_in)->number;
}

unsigned int ga__tape_slots(const ga_tape *tape) {
  return tape->n_slots;
}

bool ga__tape_fixed(const ga_tape *tape, unsigned int number) {
  return tape->slots[number]->fixed;
}

/* ---- retained buffers and commands ---- */

/* A placeholder was used outside its recording. */
static int refuse_foreign(void) {
  return GA_FAIL(GA_INVALID_ERROR,
                 "an array of a recording was used after the recording ended; a step's "
                 "function must not keep its arrays");
}

int ga__tape_keep(ga_tape *tape, gpudata *buffer) {
  if (buffer == NULL || buffer->tape == tape)
    return GA_NO_ERROR;
  if (buffer->tape != NULL)
    return refuse_foreign();
  GA_TRY(GA_GROW(tape->held, tape->held_capacity, tape->n_held));
  gpudata_retain(buffer);
  tape->held[tape->n_held++] = buffer;
  return GA_NO_ERROR;
}

int ga__tape_command(command **out, ga_tape *tape, enum command_kind kind) {
  if (tape->is_over)
    return refuse_foreign();
  GA_TRY(GA_GROW(tape->commands, tape->capacity, tape->n_commands));
  command *c = &tape->commands[tape->n_commands];
  memset(c, 0, sizeof *c);
  c->kind = kind;
  c->label = ga__label();
  c->step = tape->step;
  *out = c;
  return GA_NO_ERROR;
}
