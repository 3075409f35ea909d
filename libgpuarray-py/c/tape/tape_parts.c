/* Parts of a tape, which collectives divide.
 *
 * A collective is never in a graph: NCCL wants all ranks to capture a call or none to,
 * and which addresses come back, so that a graph pays, differs among ranks. What lies
 * between is a graph for itself. A collective whose result the next commands do not
 * use is queued beside them, on the communicator's queue: the memory that it uses is
 * kept apart from theirs, and the part ends where one of them needs it. */
#include "c/tape/tape_dependencies.h"

/* Commands, at most, that are searched for one that waits. */
#define MOST_AHEAD ((size_t)1 << 12)

/* ---- collectives with work beside them ---- */

static bool is_same(const ga_tape *tape, const gpudata *a, const gpudata *b) {
  if (a == NULL || b == NULL || a->tape != tape || b->tape != tape)
    return a != NULL && a == b;
  return ga__tape_slot(a) == ga__tape_slot(b);
}

/* True if `later` must wait for `c`. */
static bool conflicts(const ga_tape *tape, const command *c, const command *later) {
  for (size_t i = 0; i < ga__command_buffers(c); i++)
    for (size_t k = 0; k < ga__command_buffers(later); k++) {
      bool writes = false, writes_later = false;
      const gpudata *a = ga__command_buffer(&writes, c, i);
      const gpudata *b = ga__command_buffer(&writes_later, later, k);
      if ((writes || writes_later) && is_same(tape, a, b))
        return true;
    }
  return false;
}

/* The first command that must wait for the collective at `at`, or where the search
 * ends. */
static size_t find_waiting(const ga_tape *tape, size_t at) {
  size_t i = at + 1;
  while (i < tape->n_commands && i < at + MOST_AHEAD &&
         !conflicts(tape, &tape->commands[at], &tape->commands[i]))
    i++;
  return i;
}

static bool has_work(const ga_tape *tape, size_t first, size_t end) {
  for (size_t i = first; i < end; i++)
    if (tape->commands[i].kind != COLLECTIVE)
      return true;
  return false;
}

void ga__tape_note_beside(ga_tape *tape) {
  if (!tape->traits.collects || tape->traits.defers || tape->conditionals.n > 0)
    return;
  for (size_t i = 0; i < tape->n_commands; i++) {
    command *c = &tape->commands[i];
    if (c->kind != COLLECTIVE)
      continue;
    const size_t waiting = find_waiting(tape, i);
    c->waiting = has_work(tape, i + 1, waiting) ? waiting : 0;
    for (size_t k = 0; c->waiting > 0 && k < ga__command_buffers(c); k++) {
      const gpudata *buffer = c->u.collective->parts[k].data;
      if (buffer == NULL || buffer->tape != tape)
        continue;
      slot *s = tape->slots[ga__tape_slot(buffer)];
      s->died = s->died < waiting ? waiting : s->died;
    }
  }
}

/* ---- parts ---- */

typedef struct division {
  ga_tape *tape;
  bool *ends;             /* a part ends before the command */
  bool lists_uses;        /* graphs are wanted */
  size_t *slots, *blocks; /* 1 + the place of the use in the list, or 0 */
} division;

/* Adds a use: a slot's once, one for each block of the workspace, by any of its
 * slots. */
static int add_use(const division *d, part *p, gpudata *buffer, bool writes) {
  const ga_tape *tape = d->tape;
  tape_parts *parts = &d->tape->parts;
  size_t own = 0, *place = &own;
  if (buffer == NULL || buffer->flags & GA_BUFFER_WORD)
    return GA_NO_ERROR;
  if (buffer->tape == tape) {
    const slot *s = tape->slots[ga__tape_slot(buffer)];
    place = s->input || s->kept ? &d->slots[s->number] : &d->blocks[s->block];
  }
  if (*place <= p->first_use) {
    GA_TRY(GA_GROW(parts->uses, parts->use_capacity, parts->n_uses));
    parts->uses[parts->n_uses++] = (ga_use){buffer, false};
    *place = parts->n_uses;
    p->n_uses++;
  }
  parts->uses[*place - 1].writes |= writes;
  return GA_NO_ERROR;
}

static int add_uses(const division *d, part *p, const command *c) {
  if (c->kind == FIND)
    return add_use(d, p, d->tape->conditionals.list[c->u.choice.condition].buffer,
                   false);
  for (size_t i = 0; i < ga__command_buffers(c); i++) {
    bool writes = false;
    const gpudata *buffer = ga__command_buffer(&writes, c, i);
    GA_TRY(add_use(d, p, (gpudata *)(uintptr_t)buffer, writes));
  }
  return GA_NO_ERROR;
}

static void note_ends(const division *d) {
  const ga_tape *tape = d->tape;
  for (size_t i = 0; tape->traits.collects && i < tape->n_commands; i++) {
    const command *c = &tape->commands[i];
    if (c->kind != COLLECTIVE)
      continue;
    d->ends[i] = d->ends[i + 1] = true;
    if (c->waiting > 0)
      d->ends[c->waiting] = true;
  }
}

/* A part pays as a graph even with a single launch, which is cheaper on the host; not
 * with a single copy, which the driver does faster alone. */
static bool gains(const ga_tape *tape, const part *p) {
  const command *c = &tape->commands[p->first];
  return c->kind != COLLECTIVE && (p->end - p->first > 1 || c->kind == LAUNCH);
}

static int add_part(const division *d, size_t first, unsigned int first_name) {
  ga_tape *tape = d->tape;
  part p = {.first = first,
            .end = first + 1,
            .first_use = tape->parts.n_uses,
            .first_name = first_name};
  while (p.end < tape->n_commands && !d->ends[p.end])
    p.end++;
  p.gains = gains(tape, &p);
  for (size_t i = first; i < p.end; i++) {
    if (d->lists_uses)
      GA_TRY(add_uses(d, &p, &tape->commands[i]));
    p.n_names += tape->commands[i].kind == LAUNCH;
  }
  GA_TRY(GA_GROW(tape->parts.list, tape->parts.capacity, tape->parts.n));
  tape->parts.list[tape->parts.n++] = p;
  tape->parts.most_uses =
      tape->parts.most_uses < p.n_uses ? p.n_uses : tape->parts.most_uses;
  return GA_NO_ERROR;
}

static int divide(const division *d) {
  const tape_parts *parts = &d->tape->parts;
  note_ends(d);
  for (size_t first = 0; first < d->tape->n_commands;) {
    const part *last = parts->n > 0 ? &parts->list[parts->n - 1] : NULL;
    GA_TRY(add_part(d, first, last ? last->first_name + last->n_names : 0));
    first = parts->list[parts->n - 1].end;
  }
  return GA_NO_ERROR;
}

int ga__tape_divide(ga_tape *tape) {
  const size_t n_slots = (size_t)tape->n_slots + 1;
  division d = {.tape = tape,
                .ends = ga__alloc(tape->n_commands + 2, sizeof *d.ends),
                .lists_uses = tape->head.context->backend->graph_begin != NULL,
                .slots = ga__alloc(n_slots, sizeof *d.slots),
                .blocks = ga__alloc(n_slots, sizeof *d.blocks)};
  int status = d.ends && d.slots && d.blocks ? divide(&d) : GA_MEMORY_ERROR;
  ga__free(d.ends);
  ga__free(d.slots);
  ga__free(d.blocks);
  return status;
}

void ga__tape_free_parts(ga_tape *tape) {
  ga__free(tape->parts.list);
  ga__free(tape->parts.uses);
}
