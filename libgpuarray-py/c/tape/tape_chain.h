/* Chains: runs of small launches of a tape as one launch each, on a processor. */
#ifndef GA_C_TAPE_CHAIN_H
#define GA_C_TAPE_CHAIN_H

#include "c/tape/tape_state.h"

/* True if the tape's launches may become chains. */
bool ga__tape_may_chain(const ga_tape *tape);

/* Counts a replay; the commands to queue in place of the tape's, *n of them, or NULL.
 */
command *ga__tape_chained(ga_tape *tape, size_t *n);
void ga__tape_free_chains(ga_tape *tape);

#endif
