/* Replay: as a graph, or command by command. */
#include "c/tape/tape_branches.h"

static int queue(ga_tape *tape, const ga_binding *bindings) {
  const gpucontext *ctx = tape->head.context;
  /* A profile times single commands. */
  bool at_once = atomic_load(&ctx->profile) == NULL && !ctx->is_blocking;
  if (!tape->graphs.are_off && at_once) {
    const graph *known = ga__tape_find_graph(tape, bindings);
    if (known != NULL)
      return ga__tape_queue_graph(tape, known, bindings);
  }
  return ga__tape_queue_commands(tape, bindings, NULL);
}

int ga__tape_replay(ga_tape *tape, ga_binding *bindings) {
  tape->failed = 0;
  int status = ga__tape_allocate(tape, bindings);
  GA_THEN(status, queue(tape, bindings));
  if (status == GA_NO_ERROR)
    ga__tape_prove(tape);
  if (!tape->memory.is_held || status != GA_NO_ERROR)
    ga__tape_drop_workspace(&tape->memory);
  if (status != GA_NO_ERROR)
    ga__tape_give_up(tape, bindings);
  return status;
}

void ga__tape_counts(const ga_tape *tape, size_t *commands, size_t *allocations,
                     size_t *workspace) {
  *commands = tape->n_commands - tape->conditionals.n_marks;
  *allocations = (size_t)tape->memory.n_blocks + tape->memory.n_kept;
  *workspace = tape->memory.workspace_size;
}
