/* A lock whose holder is known, for what calls functions of the user while it is held:
 * these may ask for the same thing again, on the same thread. */
#ifndef GA_C_TURN_H
#define GA_C_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct ga_turn {
  pthread_mutex_t lock;
  _Atomic(const void *)
      holder; /* what ga__turn_is_ours knows this thread by, or NULL */
} ga_turn;

void ga__turn_open(ga_turn *t);
void ga__turn_close(ga_turn *t);
/* Whether this thread has the lock. */
bool ga__turn_is_ours(ga_turn *t);
/* Waits for the lock. GA_INVALID_ERROR where this thread has it, which would wait for
 * itself: `name` is then what a function of its own run asked for `operation`. */
int ga__turn_take(ga_turn *t, const char *operation, const char *name);
void ga__turn_end(ga_turn *t);

#endif
