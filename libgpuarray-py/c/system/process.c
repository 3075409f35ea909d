/* Process id and fork count, without a system call. */
#define _POSIX_C_SOURCE 200809L
#include "c/system/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_long process; /* its id; getpid() costs more */
static atomic_uint forks;   /* made by this process */

static void note_process(void) {
  atomic_store(&process, (long)getpid());
}

static void note_fork(void) {
  atomic_fetch_add(&forks, 1);
}

void ga__process_watch(void) {
  note_process();
  pthread_atfork(NULL, note_fork, note_process);
}

long ga__process(void) {
  return atomic_load_explicit(&process, memory_order_relaxed);
}

unsigned int ga__forks(void) {
  return atomic_load_explicit(&forks, memory_order_relaxed);
}
