/* Memory of replays: workspace and results. */
#include "c/tape/tape_state.h"

void ga__tape_free_memory(ga_tape *tape) {
  tape_memory *m = &tape->memory;
  ga__tape_hold(tape, false);
  ga__free(m->blocks);
  ga__free(m->workspace);
  ga__free(m->kept);
  ga__free(m->moves);
}

void ga__tape_drop_workspace(tape_memory *m) {
  for (unsigned int i = 0; i < m->n_blocks; i++) {
    gpudata_release(m->workspace[i]);
    m->workspace[i] = NULL;
  }
  m->is_placed = false;
}

/* Drops the latest replay's result. is_last is cleared before the release, so that a
 * concurrent reader of both assumes another owner. */
static void drop_last(slot *s) {
  if (s->last == NULL)
    return;
  atomic_store_explicit(&s->last->is_last, false, memory_order_release);
  gpudata_release(s->last);
  s->last = NULL;
}

void ga__tape_hold(ga_tape *tape, bool on) {
  tape_memory *m = &tape->memory;
  m->is_held = on || m->workspace_size + m->kept_size <= HELD_SIZE;
  if (on)
    return;
  if (m->workspace != NULL)
    ga__tape_drop_workspace(m);
  for (unsigned int i = 0; i < m->n_kept; i++)
    drop_last(tape->slots[m->kept[i]]);
}

/* Memory for a result: the latest replay's, if nobody else holds it; else that of the
 * one before, if it is free, so that the addresses of a graph come back. */
static int kept_buffer(gpudata **out, const ga_tape *tape, slot *s) {
  if (s->last != NULL) {
    if (atomic_load_explicit(&s->last->references, memory_order_acquire) == 1) {
      gpudata_retain(s->last);
      *out = s->last;
      return GA_NO_ERROR;
    }
    drop_last(s);
  }
  GA_TRY(ga__buffer_new_at(out, tape->head.context, s->buffer.size, s->addresses[1]));
  s->addresses[1] = s->addresses[0];
  s->addresses[0] = (*out)->memory;
  if (tape->memory.is_held) {
    gpudata_retain(*out);
    s->last = *out;
    atomic_store_explicit(&s->last->is_last, true, memory_order_release);
  }
  return GA_NO_ERROR;
}

void ga__tape_give_up(const ga_tape *tape, const ga_binding *bindings) {
  for (unsigned int i = 0; i < tape->memory.n_kept; i++)
    gpudata_release(bindings[tape->memory.kept[i]].buffer);
}

/* The step that produces a slot's value. */
static unsigned int producer(const ga_tape *tape, const slot *s) {
  return s->born < tape->n_commands ? tape->commands[s->born].step : 0;
}

/* The step with the largest result in a workspace block, for the error message. */
static unsigned int largest_producer(const ga_tape *tape, unsigned int number) {
  const slot *largest = NULL;
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *s = tape->slots[i];
    if (s->number == i && !s->input && !s->kept && s->block == number &&
        (largest == NULL || s->buffer.size > largest->buffer.size))
      largest = s;
  }
  return largest == NULL ? 0 : producer(tape, largest);
}

static int allocate_block(ga_tape *tape, unsigned int i) {
  block *b = &tape->memory.blocks[i];
  gpudata **out = &tape->memory.workspace[i];
  int status = ga__buffer_new_at(out, tape->head.context, b->size, b->address);
  if (status == GA_NO_ERROR)
    b->address = (*out)->memory;
  else
    tape->failed = largest_producer(tape, i);
  return status;
}

int ga__tape_allocate(ga_tape *tape, ga_binding *bindings) {
  tape_memory *m = &tape->memory;
  for (unsigned int i = 0; i < m->n_kept; i++)
    bindings[m->kept[i]] = (ga_binding){NULL, 0};
  for (unsigned int i = 0; i < m->n_blocks && !m->is_placed; i++)
    if (m->workspace[i] == NULL)
      GA_TRY(allocate_block(tape, i));
  for (unsigned int i = 0; i < tape->n_slots && !m->is_placed; i++) {
    const slot *s = tape->slots[i];
    if (s->number == i && !s->input && !s->kept)
      bindings[i] = (ga_binding){m->workspace[s->block], 0};
  }
  m->is_placed = true;
  for (unsigned int i = 0; i < m->n_kept; i++) {
    unsigned int number = m->kept[i];
    slot *s = tape->slots[number];
    int status = kept_buffer(&bindings[number].buffer, tape, s);
    if (status != GA_NO_ERROR) {
      tape->failed = producer(tape, s);
      return status;
    }
  }
  return GA_NO_ERROR;
}
