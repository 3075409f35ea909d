/* Tapes: creation, release, and the end of a recording. */
#include "c/tape/tape_chain.h"

void ga__tape_enter(ga_tape *tape) {
  ga__recording_enter(&tape->head);
}

void ga__tape_leave(ga_tape *tape) {
  ga__recording_leave(&tape->head);
}

void ga__tape_rehearse(ga_tape *tape) {
  tape->head.is_rehearsal = true;
}

bool ga__tape_is_void(const ga_tape *tape) {
  return tape->head.is_void;
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
  GA_TRY_MEMORY(tape);
  tape->head = (ga_recording){.recorder = &ga__tape_recorder, .context = ctx};
  gpucontext_retain(ctx);
  *out = tape;
  return GA_NO_ERROR;
}

void ga__tape_free(ga_tape *tape) {
  if (tape == NULL)
    return;
  ga__tape_free_graphs(tape);
  ga__tape_free_chains(tape);
  ga__tape_free_clashes(tape);
  ga__tape_free_parts(tape);
  for (size_t i = 0; i < tape->n_commands; i++) {
    command *c = &tape->commands[i];
    if (c->kind == CALL)
      ga__deferred_free(c->u.call);
    if (c->kind == CONVOLUTION)
      ga__free(c->u.convolution);
    if (c->kind == COLLECTIVE) {
      ga__comm_release(c->u.collective->comm);
      ga__free(c->u.collective);
    }
    if (c->kind != LAUNCH)
      continue;
    gpukernel_release(c->kernel);
    ga__free(c->recorded);
    ga__free(c->launch.args);
  }
  for (size_t i = 0; i < tape->n_held; i++)
    gpudata_release(tape->held[i]);
  ga__tape_free_memory(tape);
  for (unsigned int i = 0; i < tape->n_slots; i++)
    ga__slot_free(tape->slots[i]);
  ga__free(tape->commands);
  ga__free(tape->conditionals.list);
  ga__free(tape->slots);
  ga__free(tape->held);
  gpucontext_deref(tape->head.context);
  ga__free(tape);
}

/* Kernels compile in parallel with the recording; here the tape waits for them. */
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
  GA_TRY(ga__tape_end_choices(tape));
  tape->is_over = true;
  GA_TRY(wait_for_kernels(tape));
  ga__tape_note_beside(tape);
  GA_TRY(ga__tape_place_slots(tape, kept));
  GA_TRY(ga__tape_note_clashes(tape));
  tape->chains.is_off = !ga__tape_may_chain(tape);
  GA_TRY(ga__tape_divide(tape));
  return ga__tape_prepare_graphs(tape);
}
