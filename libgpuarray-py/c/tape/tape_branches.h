/* Dependency graph of a tape's commands. */
#ifndef GA_C_TAPE_BRANCHES_H
#define GA_C_TAPE_BRANCHES_H

#include "c/tape/tape_state.h"

/* Adjacency lists: command i depends on commands after[first[i]] to after[first[i + 1]
 * - 1], all earlier; a product uses workspace lane[i]. */
typedef struct ga_branches {
  unsigned int *first, *after, *lane;
  unsigned int lanes; /* in use; 0: no graph, run in sequence */
} ga_branches;

/* Dependencies of a part's commands, counted from its first, for these bindings;
 * products of one lane are sequential. *out is empty (run in sequence) if the part is
 * too long, without memory, or if `lanes` is 0. */
void ga__tape_branches(ga_branches *out, const ga_tape *tape, const part *p,
                       const ga_binding *bindings, unsigned int lanes);
void ga__branches_clear(ga_branches *order);

/* Queues a part's commands, or all if `p` is NULL, one by one, each with its step's
 * label. `branches` is not NULL during capture; if it has lanes, a command depends only
 * on those it lists. */
int ga__tape_queue_commands(ga_tape *tape, const part *p, const ga_binding *bindings,
                            const ga_branches *branches);

#endif
