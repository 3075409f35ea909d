/* The thread's label (source location for error messages), and interned strings. */
#include "c/base/label.h"

#include <gpuarray/queue.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "c/base/hash.h"

#define N_BUCKETS 1024
#define MOST_TEXTS 65536

typedef struct name {
  struct name *next;
  char text[];
} name;

static name *buckets[N_BUCKETS];
static unsigned int n_names;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of buckets and n_names */

static _Thread_local const char *label = "";

/* Returns the interned string, or NULL without memory. The lock is held. */
static const char *intern_locked(const char *text) {
  size_t length = strlen(text);
  name **bucket = &buckets[ga__hash(text, length, (ga_hash){0, 0}).a % N_BUCKETS];
  for (const name *n = *bucket; n; n = n->next)
    if (strcmp(n->text, text) == 0)
      return n->text;
  if (n_names == MOST_TEXTS)
    return "...";
  name *added = ga__alloc(1, sizeof *added + length + 1);
  if (added == NULL)
    return NULL;
  memcpy(added->text, text, length + 1);
  added->next = *bucket;
  *bucket = added;
  n_names++;
  return added->text;
}

const char *ga__intern(const char *text) {
  if (*text == '\0')
    return "";
  pthread_mutex_lock(&lock);
  const char *interned = intern_locked(text);
  pthread_mutex_unlock(&lock);
  return interned;
}

const char *ga__label(void) {
  return label;
}

const char *ga__label_swap(const char *interned) {
  const char *before = label;
  label = interned;
  return before;
}

int gpuarray_set_label(const char *text) {
  char cut[GA_LABEL_SIZE];
  if (text == NULL || *text == '\0') {
    label = "";
    return GA_NO_ERROR;
  }
  if (strncmp(text, label, sizeof cut - 1) == 0)
    return GA_NO_ERROR; /* unchanged: a loop sets it again and again */
  snprintf(cut, sizeof cut, "%s", text);
  const char *interned = ga__intern(cut);
  GA_TRY_MEMORY(interned);
  label = interned;
  return GA_NO_ERROR;
}

const char *gpuarray_label(void) {
  return label;
}
