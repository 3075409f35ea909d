/* Statuses, the thread's error message, and allocation with failure injection. */
#include "c/base/status.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fits a compiler's log; a fixed size, so that out-of-memory can be reported. */
#define TEXT_SIZE 8192

static _Thread_local char message[TEXT_SIZE];

static const char *const names[] = {
    [GA_NO_ERROR] = "No error",
    [GA_MEMORY_ERROR] = "Out of memory",
    [GA_VALUE_ERROR] = "Value or shape out of range",
    [GA_IMPL_ERROR] = "A function of the vendor's library failed",
    [GA_INVALID_ERROR] = "Invalid argument",
    [GA_UNSUPPORTED_ERROR] = "Not offered for these arguments",
    [GA_SYS_ERROR] = "The operating system refused",
    [GA_RUN_ERROR] = "A kernel failed while it ran",
    [GA_DEVSUP_ERROR] = "The device or its library cannot do it",
    [GA_READONLY_ERROR] = "Read-only",
    [GA_WRITEONLY_ERROR] = "Write-only",
    [GA_BLAS_ERROR] = "The BLAS library failed",
    [GA_UNALIGNED_ERROR] = "Not aligned",
    [GA_COPY_ERROR] = "A copy is needed and none was allowed",
    [GA_NODEV_ERROR] = "No such device",
    [GA_MISC_ERROR] = "Another failure",
    [GA_COMM_ERROR] = "Communication between devices failed",
    [GA_XLARGE_ERROR] = "Larger than can be addressed",
    [GA_LOAD_ERROR] = "A library is missing or lacks a function",
    [GA_COMPILE_ERROR] = "A kernel does not compile",
    [GA_LOST_ERROR] = "The context failed earlier",
    [GA_FORK_ERROR] = "The context was opened before a fork",
    [GA_INDEX_ERROR] = "An index out of bounds",
    [GA_LINALG_ERROR] = "A matrix without the solution asked for",
    [GA_ASSERT_ERROR] = "A condition that the program asserts does not hold",
    [GA_LIMIT_ERROR] = "More than the device allows",
};

const char *gpuarray_error_str(int err) {
  if (err < 0 || (size_t)err >= sizeof names / sizeof *names)
    return "Unknown GA error";
  return names[err];
}

const char *gpuarray_error_text(void) {
  return message;
}

/* Ends a truncated text with "...". */
static void mark_cut(char *text, int length) {
  if (length >= TEXT_SIZE)
    memcpy(text + TEXT_SIZE - 4, "...", 4);
}

int ga__fail(int status, const char *format, ...) {
  /* An argument may point into the old message. */
  char text[TEXT_SIZE];
  va_list args;
  va_start(args, format);
  mark_cut(text, vsnprintf(text, sizeof text, format, args));
  va_end(args);
  strcpy(message, text);
  return status;
}

int ga__fail_null(const char *operation, const char *what) {
  return GA_FAIL(GA_VALUE_ERROR, "%s: got no %s", operation, what);
}

int ga__check_filled(const void *filled, size_t size, const char *operation,
                     const char *what, const char *init) {
  if (filled == NULL)
    return ga__fail_null(operation, what);
  const size_t given = *(const size_t *)filled;
  if (given == size)
    return GA_NO_ERROR;
  return GA_FAIL(GA_INVALID_ERROR,
                 "%s: got a %s of %zu bytes, expected one from %s of %zu", operation,
                 what, given, init, size);
}

int ga__fail_within(int status, const char *format, ...) {
  char text[TEXT_SIZE];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  mark_cut(text, length);
  size_t known = strlen(text);
  if (strncmp(message, text, known) == 0 && message[known] == ':')
    return status; /* The prefix is there already. */
  if (length >= 0 && length < TEXT_SIZE) {
    size_t room = sizeof text - (size_t)length;
    int more = snprintf(text + length, room, ": %s", message);
    mark_cut(text, length + more);
  }
  strcpy(message, text);
  return status;
}

static atomic_long allocations_until_failure = -1;

void ga__alloc_fail_at(long n) {
  atomic_store(&allocations_until_failure, n < 0 ? -1 : n);
}

/* Failure injection: true for the allocation that a test has chosen. */
static bool fails_now(void) {
  if (atomic_load_explicit(&allocations_until_failure, memory_order_relaxed) < 0)
    return false;
  return atomic_fetch_sub(&allocations_until_failure, 1) == 0;
}

static void *no_memory(size_t count, size_t size) {
  ga__fail(GA_MEMORY_ERROR, "the host has no memory for %zu times %zu bytes", count,
           size);
  return NULL;
}

void *ga__alloc(size_t count, size_t size) {
  if (fails_now() || (size != 0 && count > SIZE_MAX / size))
    return no_memory(count, size);
  void *block = calloc(count ? count : 1, size ? size : 1);
  return block ? block : no_memory(count, size);
}

void *ga__realloc(void *old, size_t count, size_t size) {
  if (fails_now() || (size != 0 && count > SIZE_MAX / size))
    return no_memory(count, size);
  size_t bytes = count * size;
  void *block = realloc(old, bytes != 0 ? bytes : 1);
  return block ? block : no_memory(count, size);
}

char *ga__strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = ga__alloc(size, 1);
  return copy ? memcpy(copy, text, size) : NULL;
}

int ga__grow(void **list, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity)
    return GA_NO_ERROR;
  const size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
  void *bigger = ga__realloc(*list, wanted, size);
  GA_TRY_MEMORY(bigger);
  *list = bigger;
  *capacity = wanted;
  return GA_NO_ERROR;
}

int ga__copy_text(const char **out, const char *text) {
  *out = text ? ga__strdup(text) : NULL;
  return text && *out == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
}

void ga__free(const void *block) {
  free((void *)(uintptr_t)block);
}
