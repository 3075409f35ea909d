/* Per-context cache of objects by key, such as scans by operation and types. */
#ifndef GA_C_KEPT_OBJECTS_H
#define GA_C_KEPT_OBJECTS_H

#include "c/device/context.h"

#define GA_OBJECT_KEY 3
typedef struct ga_kept_object ga_kept_object;

/* Attached to a context (ga__context_attach). Append-only, so that look-ups are
 * lock-free. */
typedef struct ga_kept_objects {
  _Atomic(ga_kept_object *) first;
} ga_kept_objects;

/* Look-up; NULL if missing. */
void *ga__object_find(ga_kept_objects *objects, const int key[GA_OBJECT_KEY]);
/* Adds an object; on failure `free` frees it. Concurrent threads may add a key
 * twice. */
int ga__object_add(ga_kept_objects *objects, const int key[GA_OBJECT_KEY], void *object,
                   void (*free)(void *object));
/* Frees the objects and the cache, when the context is closed. */
void ga__objects_free(ga_kept_objects *objects, void (*free)(void *object));

#endif
