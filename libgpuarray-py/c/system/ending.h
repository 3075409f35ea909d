/* Process exit while other threads still use a vendor's runtime.
 *
 * exit() and a return from main() run atexit handlers, in which a vendor's runtime
 * frees its objects and compiler tables while other threads may compile, launch or
 * wait. So each vendor call stands between enter and leave. The library's own handler,
 * which runs before the vendors', refuses new calls and waits for calls under way and
 * for queued work that threads of this process compute: 30 s at most, since a kernel
 * may never end.
 *
 * Thread-safe. */
#ifndef GA_C_ENDING_H
#define GA_C_ENDING_H

#include <stdbool.h>

/* Begins a vendor call; calls nest. GA_LOST_ERROR where another thread ends the
 * process: then neither the vendor nor leave may be called. */
int ga__vendor_enter(void);
void ga__vendor_leave(void);
/* Whether a vendor's library opens on a device. */
bool ga__vendor_opens(int (*open)(void *device), void *device);

/* True if an exit by this thread waits for the work it started on other threads. */
bool ga__ending_is_seen(void);
/* Registers the exit handler again, after a vendor may have registered handlers of its
 * own: ours must run first. */
void ga__ending_first(void);

/* Queued work that exit waits for, each on a thread of its own. */
typedef struct ga_waited {
  void (*wait)(void *argument);
  void *argument;
  struct ga_waited *next, *previous;
} ga_waited;

void ga__ending_add(ga_waited *waited);
void ga__ending_remove(ga_waited *waited);

#endif
