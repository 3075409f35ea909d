/* A mutex that knows its holder. */
#include "c/system/turn.h"

#include "c/base/status.h"

static _Thread_local char this_thread; /* its address identifies the thread */

void ga__turn_open(ga_turn *t) {
  pthread_mutex_init(&t->lock, NULL);
  atomic_init(&t->holder, NULL);
}

void ga__turn_close(ga_turn *t) {
  pthread_mutex_destroy(&t->lock);
}

/* Relaxed order is enough: only this thread stores its own address. */
bool ga__turn_is_ours(ga_turn *t) {
  return atomic_load_explicit(&t->holder, memory_order_relaxed) == &this_thread;
}

int ga__turn_take(ga_turn *t, const char *operation, const char *name) {
  if (ga__turn_is_ours(t))
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: %s is running on this thread; a function that it calls may ask "
                   "for GpuPlan_info only",
                   operation, name);
  pthread_mutex_lock(&t->lock);
  atomic_store_explicit(&t->holder, &this_thread, memory_order_relaxed);
  return GA_NO_ERROR;
}

void ga__turn_end(ga_turn *t) {
  atomic_store_explicit(&t->holder, NULL, memory_order_relaxed);
  pthread_mutex_unlock(&t->lock);
}
