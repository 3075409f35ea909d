/* Which commands of a recording wait for which. */
#ifndef GA_C_TAPE_BRANCHES_H
#define GA_C_TAPE_BRANCHES_H

#include "c/tape/tape_state.h"

/* For command i of a tape: it waits for commands after[first[i]] up to
 * after[first[i + 1] - 1], which come before it, and multiplies in workspace lane[i].
 */
typedef struct ga_branches {
  unsigned int *first, *after, *lane;
  unsigned int lanes; /* in use; 0: there is no order */
} ga_branches;

/* The order in which what the commands do to memory, at these places, is kept. Products
 * of one lane wait for each other. *out is empty where the tape is too long, memory too
 * short, or `lanes` is 0: then each command is to wait for the one before it. */
void ga__tape_branches(ga_branches *out, const ga_tape *tape,
                       const ga_binding *bindings, unsigned int lanes);
void ga__branches_clear(ga_branches *order);

/* Queues the commands one by one, each with the label of the step it was recorded for.
 * While a graph is recorded there are `branches`; with lanes, a command waits only for
 * those that they list. */
int ga__tape_queue_commands(ga_tape *tape, const ga_binding *bindings,
                            const ga_branches *branches);

#endif
