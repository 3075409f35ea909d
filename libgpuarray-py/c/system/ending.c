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

/* How many threads are inside, in counts that few of them share. */
#define N_COUNTS 64
static struct {
  _Alignas(64) atomic_uint inside;
} counts[N_COUNTS];

static atomic_bool is_ending;

static _Thread_local struct {
  unsigned int depth; /* of calls that it is inside of */
  atomic_uint *inside;
  bool is_seen; /* its end calls thread_ends */
  bool ends;    /* it runs what atexit() has, one after the other */
} self;

/* ---- what is queued ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ga_waited *all; /* of lock */
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

/* ---- the handler ---- */

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

/* The system calls the latest handler first. Each takes a few bytes, for good. */
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

/* What a thread does when it ends or calls exit(), before what any library has asked
 * for with atexit(): the way of glibc for C++'s thread_local objects. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *argument, void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* One that ends the process has asked for the handler that is called next. */
static void thread_ends(void *unused) {
  (void)unused;
  if (syscall(SYS_gettid) == getpid())
    gpuarray_at_exit();
  else
    ga__ending_first();
}

/* The process that a fork made has this thread alone, and no device. */
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
  /* Counted before it looks, as the handler refuses before it counts. */
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
