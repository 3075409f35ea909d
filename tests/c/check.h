/* A small harness: checks print what failed, and main returns their number. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c/base/status.h"

static int check_failures;

/* A condition that must hold. */
#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      check_failures++;                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);          \
    }                                                                                  \
  } while (0)

/* A call that must return `status`. */
#define CHECK_STATUS(status, call)                                                     \
  do {                                                                                 \
    int check_got = (call);                                                            \
    if (check_got != (status)) {                                                       \
      check_failures++;                                                                \
      fprintf(stderr, "%s:%d: %s gave %d (%s: %s), not %d\n", __FILE__, __LINE__,      \
              #call, check_got, gpuarray_error_str(check_got), gpuarray_error_text(),  \
              (status));                                                               \
    }                                                                                  \
  } while (0)

#define CHECK_OK(call) CHECK_STATUS(GA_NO_ERROR, call)

/* The thread's message must contain `part`. */
#define CHECK_TEXT(part)                                                               \
  do {                                                                                 \
    if (strstr(gpuarray_error_text(), (part)) == NULL) {                               \
      check_failures++;                                                                \
      fprintf(stderr, "%s:%d: \"%s\" is not in \"%s\"\n", __FILE__, __LINE__, (part),  \
              gpuarray_error_text());                                                  \
    }                                                                                  \
  } while (0)

/* For the end of main. */
static inline int check_result(const char *program) {
  if (check_failures)
    fprintf(stderr, "%s: %d checks failed\n", program, check_failures);
  else
    printf("%s: all checks hold\n", program);
  return check_failures != 0;
}

#endif
