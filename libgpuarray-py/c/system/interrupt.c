#define _DEFAULT_SOURCE
#include "c/system/interrupt.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "c/base/status.h"
#include <gpuarray/util.h>

enum { APART = 20 }; /* milliseconds */

static int (*_Atomic asks)(void);

void gpuarray_interrupt_by(int (*function)(void)) {
  atomic_store(&asks, function);
}

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int ga__check_interrupt(void) {
  static _Thread_local long long asked;
  int (*const function)(void) = atomic_load(&asks);
  if (function == NULL)
    return GA_NO_ERROR;
  const long long now = milliseconds();
  if (now - asked < APART)
    return GA_NO_ERROR;
  asked = now;
  return function() ? GA_FAIL(GA_MISC_ERROR, "interrupted") : GA_NO_ERROR;
}
