/* Replay: as a graph, or command by command. */
#include "c/tape/tape_branches.h"

/* The graphs of the parts, or NULL: a profile times single commands. */
static const graph *find_graph(ga_tape *tape, const ga_binding *bindings) {
  const gpucontext *ctx = tape->head.context;
  if (tape->graphs.are_off || atomic_load(&ctx->profile) != NULL || ctx->is_blocking)
    return NULL;
  return ga__tape_find_graph(tape, bindings);
}

static int queue(ga_tape *tape, const ga_binding *bindings) {
  const graph *known = find_graph(tape, bindings);
  int status = GA_NO_ERROR;
  if (known == NULL)
    return ga__tape_queue_commands(tape, NULL, bindings, NULL);
  for (size_t i = 0; status == GA_NO_ERROR && i < tape->parts.n; i++)
    status = known->handles[i] != NULL
                 ? ga__tape_queue_graph(tape, &tape->parts.list[i], known->handles[i],
                                        bindings)
                 : ga__tape_queue_commands(tape, &tape->parts.list[i], bindings, NULL);
  return status;
}

/* Before anything is queued: whether the communicators are still there. */
static int check_collectives(ga_tape *tape) {
  for (size_t i = 0; tape->traits.collects && i < tape->parts.n; i++) {
    const command *c = &tape->commands[tape->parts.list[i].first];
    const int status =
        c->kind == COLLECTIVE ? ga__collective_check(c->u.collective) : GA_NO_ERROR;
    if (status != GA_NO_ERROR) {
      tape->failed = c->step;
      return status;
    }
  }
  return GA_NO_ERROR;
}

int ga__tape_replay(ga_tape *tape, ga_binding *bindings) {
  tape->failed = 0;
  GA_TRY(check_collectives(tape));
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
