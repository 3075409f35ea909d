/* Statuses, the thread's error message, and allocation with failure injection. */
#ifndef GA_C_STATUS_H
#define GA_C_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include <gpuarray/error.h>

#if defined(__GNUC__)
#define GA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define GA_PRINTF(fmt, args)
#endif

/* Sets the thread's message and returns `status`, so that a failure is one statement:
 * return GA_FAIL(GA_VALUE_ERROR, "reshape: %zu elements do not fit ...", n); */
int ga__fail(int status, const char *format, ...) GA_PRINTF(2, 3);
#define GA_FAIL(...) ga__fail(__VA_ARGS__)

/* NULL argument: GA_VALUE_ERROR, "operation: got no what". */
int ga__fail_null(const char *operation, const char *what);

/* A struct whose first member is its size, filled by the function `init`; `what` it is
 * called. GA_VALUE_ERROR for NULL, GA_INVALID_ERROR for another size. */
int ga__check_filled(const void *filled, size_t size, const char *operation,
                     const char *what, const char *init);

/* Prefixes the thread's message with the formatted text and ": ", unless it has it. */
int ga__fail_within(int status, const char *format, ...) GA_PRINTF(2, 3);

/* Returns from the function if `call` fails. For places with nothing to undo. */
#define GA_TRY(call)                                                                   \
  do {                                                                                 \
    int ga_try_ = (call);                                                              \
    if (ga_try_ != GA_NO_ERROR)                                                        \
      return ga_try_;                                                                  \
  } while (0)

/* Chains calls that share one clean-up: skips this one after a failure. */
#define GA_THEN(status, call)                                                          \
  do {                                                                                 \
    if ((status) == GA_NO_ERROR)                                                       \
      (status) = (call);                                                               \
  } while (0)

/* As calloc/realloc/free/strdup; NULL sets GA_MEMORY_ERROR's text. Every allocation of
 * the library goes through these. */
void *ga__alloc(size_t count, size_t size);
void *ga__realloc(void *old, size_t count, size_t size);
char *ga__strdup(const char *text);
/* Room for one more element of a list of `count`. */
int ga__grow(void **list, size_t *capacity, size_t count, size_t size);
#define GA_GROW(list, capacity, count)                                                 \
  ga__grow((void **)&(list), &(capacity), count, sizeof *(list))
int ga__copy_text(const char **out, const char *text); /* NULL stays NULL */
void ga__free(const void *block); /* const to those who read it, not to its owner */

/* Returns GA_MEMORY_ERROR from the function if an allocation is NULL. */
#define GA_TRY_MEMORY(allocated)                                                       \
  do {                                                                                 \
    if (!(allocated))                                                                  \
      return GA_MEMORY_ERROR;                                                          \
  } while (0)

/* Failure injection for tests: the n-th allocation from now (0 is the next) fails once;
 * negative: none. */
void ga__alloc_fail_at(long n);

#endif
