#define _DEFAULT_SOURCE
#include "c/system/ending.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "c/base/status.h"
#include <gpuarray/util.h>

enum { PAUSE = 100, LONGEST = 30 * 1000 * 1000 }; /* microseconds */
#define MOST_HANDLERS 1000u

/* Number of threads inside vendor calls, sharded against contention. */
#define N_COUNTS 64
static struct {
  _Alignas(64) atomic_uint inside;
} counts[N_COUNTS];

static atomic_bool is_ending;

static _Thread_local struct {
  unsigned int depth; /* nesting of calls */
  atomic_uint *inside;
  bool is_seen; /* thread_ends is registered for its exit */
  bool ends;    /* it runs the exit handlers */
} self;

/* ---- queued work ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ga_waited *all; /* guarded by lock */
static atomic_uint n_waiting;

void ga__ending_add(ga_waited *w) {
  pthread_mutex_lock(&lock);
  w->previous = NULL;
  w->next = all;
  if (all)
    all->previous = w;
  all = w;
  pthread_mutex_unlock(&lock);
}

void ga__ending_remove(ga_waited *w) {
  pthread_mutex_lock(&lock);
  if (w->next)
    w->next->previous = w->previous;
  if (w->previous)
    w->previous->next = w->next;
  else
    all = w->next;
  pthread_mutex_unlock(&lock);
}

static void *wait_for_one(void *argument) {
  const ga_waited *w = argument;
  self.ends = true;
  w->wait(w->argument);
  atomic_fetch_sub(&n_waiting, 1);
  return NULL;
}

static void begin_to_wait(void) {
  pthread_t thread;
  pthread_mutex_lock(&lock);
  for (ga_waited *w = all; w; w = w->next) {
    atomic_fetch_add(&n_waiting, 1);
    if (pthread_create(&thread, NULL, wait_for_one, w) == 0)
      pthread_detach(thread);
    else
      atomic_fetch_sub(&n_waiting, 1);
  }
  pthread_mutex_unlock(&lock);
}

/* ---- the atexit handler ---- */

static bool others_inside(void) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < N_COUNTS; i++)
    n += atomic_load(&counts[i].inside);
  return n > (self.depth > 0);
}

static void end(void) {
  unsigned int waited = 0;
  if (atomic_exchange(&is_ending, true))
    return;
  self.ends = true;
  for (; waited < LONGEST && others_inside(); waited += PAUSE)
    usleep(PAUSE);
  begin_to_wait();
  for (; waited < LONGEST && atomic_load(&n_waiting) > 0; waited += PAUSE)
    usleep(PAUSE);
}

/* atexit handlers run latest first, so we register again after a vendor may have
 * registered. Each costs a few bytes, for good. */
void ga__ending_first(void) {
  static atomic_uint n;
  if (atomic_load(&n) < MOST_HANDLERS && !atomic_load(&is_ending)) {
    atomic_fetch_add(&n, 1);
    atexit(end);
  }
}

void gpuarray_at_exit(void) {
  if (!atomic_load(&is_ending))
    atexit(end);
}

/* ---- threads ---- */

/* glibc's hook behind C++ thread_local destructors: runs when a thread ends or calls
 * exit(), before every atexit handler. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *argument, void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* The main thread registers the handler again, so that it is the next to be called. */
static void thread_ends(void *unused) {
  (void)unused;
  if (syscall(SYS_gettid) == getpid())
    gpuarray_at_exit();
  else
    ga__ending_first();
}

/* fork: the child has this thread only, and no device. */
static void forget_others(void) {
  pthread_mutex_init(&lock, NULL);
  all = NULL;
  for (unsigned int i = 0; i < N_COUNTS; i++)
    atomic_store(&counts[i].inside, 0);
  if (self.depth > 0)
    atomic_store(self.inside, 1);
}

static void watch_process(void) {
  pthread_atfork(NULL, NULL, forget_others);
  ga__ending_first();
}

static void watch_thread(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static atomic_uint n;
  self.inside = &counts[atomic_fetch_add(&n, 1) % N_COUNTS].inside;
  pthread_once(&once, watch_process);
  self.is_seen = __cxa_thread_atexit_impl != NULL &&
                 __cxa_thread_atexit_impl(thread_ends, NULL, &__dso_handle) == 0;
}

bool ga__ending_is_seen(void) {
  if (self.inside == NULL)
    watch_thread();
  return self.is_seen;
}

/* ---- calls ---- */

int ga__vendor_enter(void) {
  if (self.depth++ > 0)
    return GA_NO_ERROR;
  if (self.inside == NULL)
    watch_thread();
  /* Count before the check; the handler sets its flag before it counts. */
  atomic_fetch_add(self.inside, 1);
  if (!atomic_load(&is_ending) || self.ends)
    return GA_NO_ERROR;
  ga__vendor_leave();
  return GA_FAIL(GA_LOST_ERROR,
                 "the process is ending: another thread called exit() or returned from "
                 "main(); this thread can no longer use devices");
}

void ga__vendor_leave(void) {
  if (--self.depth == 0)
    atomic_fetch_sub_explicit(self.inside, 1, memory_order_release);
}

bool ga__vendor_opens(int (*open)(void *device), void *device) {
  if (ga__vendor_enter() != GA_NO_ERROR)
    return false;
  const bool is_open = open(device) == GA_NO_ERROR;
  ga__vendor_leave();
  return is_open;
}
