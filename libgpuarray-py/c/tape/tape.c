/* The life of a tape: from its first command to the end of the recording. */
#include "c/tape/tape_state.h"

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
  tape->head = (ga_recording){&ga__tape_recorder, ctx, NULL};
  gpucontext_retain(ctx);
  *out = tape;
  return GA_NO_ERROR;
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
    ga__slot_free(tape->slots[i]);
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
