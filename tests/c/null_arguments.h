/* Calls in which each pointer in turn is NULL, everything else being valid. */
#ifndef NULL_ARGUMENTS_H
#define NULL_ARGUMENTS_H

#include "null_context.h"

#include <gpuarray/array.h>

static int chosen, position; /* the pointer that is NULL; the pointers met so far */

static inline bool is_chosen(void) {
  return position++ == chosen;
}

/* A pointer that must not be NULL, or something bad in its place. */
#define EITHER(bad, pointer) (is_chosen() ? (bad) : (pointer))
#define P(pointer) EITHER(NULL, pointer)

static gpucontext *ctx;
static GpuArray out, other_out; /* what functions would make; never changed */
static GpuArray untouched;      /* what they look like */

static inline void check_refusal(int status, const char *call) {
  bool said = strcmp(gpuarray_error_text(), "unsaid") != 0;
  bool same = memcmp(&out, &untouched, sizeof out) == 0 &&
              memcmp(&other_out, &untouched, sizeof out) == 0;
  if (status == GA_VALUE_ERROR && said && same)
    return;
  fprintf(stderr, "%s with pointer %d NULL gave %d%s%s\n", call, chosen, status,
          said ? "" : " and no text", same ? "" : " and changed an output");
  check_failures++;
  out = other_out = untouched;
}

/* A call, once for each P in it, gives GA_VALUE_ERROR. */
#define REFUSES(call)                                                                  \
  do {                                                                                 \
    int check_pointers = 1;                                                            \
    for (chosen = 0; chosen < check_pointers; chosen++) {                              \
      position = 0;                                                                    \
      ga__fail(GA_MISC_ERROR, "unsaid");                                               \
      int check_got = (call);                                                          \
      check_pointers = position;                                                       \
      check_refusal(check_got, #call);                                                 \
    }                                                                                  \
  } while (0)

static inline void open_untouched(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  ctx = open_null();
  memset(&untouched, 0x77, sizeof untouched);
  out = other_out = untouched;
}

#endif
