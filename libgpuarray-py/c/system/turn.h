/* A mutex that knows its holder: a user's callback that runs under it may ask for it
 * again on the same thread, which must fail, not deadlock. */
#ifndef GA_C_TURN_H
#define GA_C_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct ga_turn {
  pthread_mutex_t lock;
  _Atomic(const void *) holder; /* a thread's address, or NULL */
} ga_turn;

void ga__turn_open(ga_turn *t);
void ga__turn_close(ga_turn *t);
/* True if this thread holds the lock. */
bool ga__turn_is_ours(ga_turn *t);
/* Locks. GA_INVALID_ERROR where this thread holds it already, instead of a deadlock:
 * `name` runs, and one of its callbacks asked for `operation`. */
int ga__turn_take(ga_turn *t, const char *operation, const char *name);
void ga__turn_end(ga_turn *t);

#endif
