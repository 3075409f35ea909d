/* The end of the process, and the threads that still use a vendor then.
 *
 * A process that calls exit() or returns from main() runs what libraries have asked for
 * with atexit(): a vendor's runtime takes its objects away, and its compiler its
 * tables, while other threads compile, launch or wait. So each call of a vendor's is
 * made between enter and leave, and the library's own handler, which is called before
 * the vendors', refuses calls that begin, waits for those that are under way, and for
 * what is queued where threads of the process compute it: half a minute at most, since
 * a kernel may never end.
 *
 * Threads: every function may be called from several at once. */
#ifndef GA_C_ENDING_H
#define GA_C_ENDING_H

#include <stdbool.h>

/* Before a call of a vendor's, or several: they nest. GA_LOST_ERROR where the process
 * ends by another thread: the vendor is not to be called, and leave neither. */
int ga__vendor_enter(void);
void ga__vendor_leave(void);

/* Whether what this thread begins on others is waited for when it ends the process. */
bool ga__ending_is_seen(void);
/* A vendor may have asked for handlers of its own: ours are to come before them. */
void ga__ending_first(void);

/* What is waited for besides calls, when the process ends: on a thread of its own. */
typedef struct ga_waited {
  void (*wait)(void *argument);
  void *argument;
  struct ga_waited *next, *previous;
} ga_waited;

void ga__ending_add(ga_waited *waited);
void ga__ending_remove(ga_waited *waited);

#endif
