/* Aliasing of inputs: which ones may not overlap.
 *
 * The commands assume that inputs do not alias. Aliasing matters only if a command
 * writes one input and the same or a later one uses the other. The end of the recording
 * finds such inputs; a replay then only looks up whether two of them have the same
 * buffer, or one on foreign memory. */
#include "c/tape/tape_state.h"

#include "c/device/buffer.h"
#include "c/tape/tape_dependencies.h"

/* ---- uses of inputs ---- */

static void note_use(const ga_tape *tape, const gpudata *buffer, size_t at,
                     bool writes) {
  if (buffer == NULL || buffer->tape == NULL)
    return;
  slot *s = tape->slots[ga__tape_slot(buffer)];
  s->last_use = at + 1;
  if (writes && s->first_write == 0)
    s->first_write = at + 1;
}

static void note_call(const ga_tape *tape, const ga_deferred *call, size_t at) {
  for (unsigned int i = 0; i < call->n_out + call->n_in; i++)
    note_use(tape, call->recorded[i].data, at, i < call->n_out);
}

static void note_command(ga_tape *tape, const command *c, size_t at) {
  switch (c->kind) {
  case LAUNCH:
    for (unsigned int i = 0; i < c->launch.n_args; i++)
      if (c->recorded[i].kind == GA_ARG_MEMORY)
        note_use(tape, c->recorded[i].buffer, at, !c->recorded[i].is_read_only);
    break;
  case COPY:
  case FILL:
    note_use(tape, c->u.move.from, at, false);
    note_use(tape, c->u.move.to, at, true);
    break;
  case PRODUCT:
    note_use(tape, c->u.product.a.buffer, at, false);
    note_use(tape, c->u.product.b.buffer, at, false);
    note_use(tape, c->u.product.bias.buffer, at, false);
    note_use(tape, c->u.product.c.buffer, at, true);
    break;
  case CONVOLUTION:
  case COLLECTIVE:
    for (size_t i = 0; i < ga__command_buffers(c); i++) {
      bool writes = false;
      const gpudata *buffer = ga__command_buffer(&writes, c, i);
      note_use(tape, buffer, at, writes);
    }
    break;
  case CALL:
    note_call(tape, c->u.call, at);
    tape->traits.last_call = at + 1;
    break;
  case FIND:
    note_use(tape, tape->conditionals.list[c->u.choice.condition].buffer, at, false);
    break;
  case IF:
  case ELSE:
  case END:
    break;
  }
}

bool ga__tape_writes(const ga_tape *tape, unsigned int number) {
  return tape->slots[number]->first_write > 0;
}

static bool is_called_after(const ga_tape *tape, const slot *written) {
  return written->first_write > 0 && tape->traits.last_call >= written->first_write;
}

static bool is_written_early(const ga_tape *tape, const slot *s) {
  return s->first_write > 0 && s->first_write < tape->n_commands;
}

bool ga__tape_may_fail_after(const ga_tape *tape, unsigned int number) {
  const slot *s = tape->slots[number];
  return is_called_after(tape, s) ||
         (tape->protection.is_on && !tape->protection.is_proven &&
          is_written_early(tape, s));
}

void ga__tape_protect(ga_tape *tape, bool on) {
  tape->protection.is_on = on;
}

/* True if a failing replay could leave an input half written. */
static bool keeps_inputs(const tape_protection *p) {
  return p->is_on && p->writes_early && !p->is_proven;
}

bool ga__tape_is_protected(const ga_tape *tape) {
  return keeps_inputs(&tape->protection) && !tape->traits.defers;
}

void ga__tape_prove(ga_tape *tape) {
  tape->protection.is_proven = true;
}

static bool is_used_after(const slot *written, const slot *used, bool are_views) {
  if (written->first_write == 0)
    return false;
  return are_views ? used->last_use == written->first_write
                   : used->last_use >= written->first_write;
}

bool ga__tape_clashes(const ga_tape *tape, unsigned int a, unsigned int b,
                      bool are_views) {
  const slot *x = tape->slots[a], *y = tape->slots[b];
  return is_used_after(x, y, are_views) || is_used_after(y, x, are_views);
}

/* ---- at each replay ---- */

/* Look-up in an open-addressing hash table: the buffer's entry, or a free one. Entries
 * of earlier replays count as free. */
static seat *find_entry(const tape_overlap *o, const gpudata *buffer) {
  size_t at = ((uintptr_t)buffer >> 4) * 0x9e3779b97f4a7c15u >> 32;
  for (;; at++) {
    seat *s = &o->seats[at & (o->n_seats - 1)];
    if (s->buffer == buffer || (s->replay != HELD_SEAT && s->replay != o->replays))
      return s;
  }
}

static bool is_apart(const gpudata *buffer) {
  return buffer->from != NULL;
}

bool ga__tape_may_clash(ga_tape *tape, const ga_binding *bindings) {
  tape_overlap *o = &tape->overlap;
  if (o->n_risky == 0)
    return false;
  if (o->is_never_apart || keeps_inputs(&tape->protection))
    return true;
  o->replays++;
  for (unsigned int i = 0; i < o->n_risky; i++) {
    const unsigned int number = o->risky[i];
    const gpudata *buffer = bindings[number].buffer;
    if (!is_apart(buffer))
      return true;
    seat *s = find_entry(o, buffer);
    const bool is_taken =
        s->buffer == buffer && s->replay != HELD_SEAT && s->replay == o->replays;
    const bool is_held = s->buffer == buffer && s->replay == HELD_SEAT;
    if (is_taken || (is_held && ga__tape_writes(tape, number)))
      return true;
    if (!is_held)
      *s = (seat){buffer, o->replays};
  }
  return false;
}

/* ---- at the end of the recording ---- */

static bool is_risky(const ga_tape *tape, unsigned int number) {
  if (ga__tape_writes(tape, number))
    return true;
  for (unsigned int i = 0; i < tape->n_slots; i++)
    if (tape->slots[i]->input &&
        is_used_after(tape->slots[i], tape->slots[number], false))
      return true;
  return false;
}

/* Builds the list of risky inputs, and the hash table with the held buffers. */
static int open_table(ga_tape *tape) {
  tape_overlap *o = &tape->overlap;
  const size_t most = 2 * ((size_t)tape->n_slots + tape->n_held) + 1;
  for (o->n_seats = 16; o->n_seats < most; o->n_seats *= 2)
    ;
  o->risky = ga__alloc((size_t)tape->n_slots + 1, sizeof *o->risky);
  o->seats = ga__alloc(o->n_seats, sizeof *o->seats);
  GA_TRY_MEMORY(o->risky && o->seats);
  o->replays = 1;
  for (size_t i = 0; i < tape->n_held; i++) {
    const gpudata *held = tape->held[i];
    if (held->flags & (GA_BUFFER_WORD | GA_BUFFER_COUNT))
      continue;
    o->is_never_apart |= !is_apart(held);
    *find_entry(o, held) = (seat){held, HELD_SEAT};
  }
  for (unsigned int i = 0; i < tape->n_slots; i++)
    if (tape->slots[i]->input && is_risky(tape, i))
      o->risky[o->n_risky++] = i;
  return GA_NO_ERROR;
}

int ga__tape_note_clashes(ga_tape *tape) {
  bool any = false;
  for (size_t i = 0; i < tape->n_commands; i++)
    note_command(tape, &tape->commands[i], i);
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *s = tape->slots[i];
    any |= s->input && s->first_write > 0;
    tape->overlap.is_never_apart |= s->input && is_called_after(tape, s);
    tape->protection.writes_early |= s->input && is_written_early(tape, s);
  }
  return any ? open_table(tape) : GA_NO_ERROR;
}

void ga__tape_free_clashes(ga_tape *tape) {
  ga__free(tape->overlap.risky);
  ga__free(tape->overlap.seats);
}

unsigned int ga__tape_held(gpudata *const **list, const ga_tape *tape) {
  *list = tape->held;
  return (unsigned int)tape->n_held;
}
