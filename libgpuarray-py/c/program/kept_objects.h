/* Objects that a context keeps by a key, such as scans by operation and types. */
#ifndef GA_C_KEPT_OBJECTS_H
#define GA_C_KEPT_OBJECTS_H

#include "c/device/context.h"

#define GA_OBJECT_KEY 3
typedef struct ga_kept_object ga_kept_object;

/* Attached to a context (ga__context_attach). Entries are only ever added, so that
 * looking one up takes no lock. */
typedef struct ga_kept_objects {
  _Atomic(ga_kept_object *) first;
} ga_kept_objects;

/* The object of a key, or NULL. */
void *ga__object_find(ga_kept_objects *objects, const int key[GA_OBJECT_KEY]);
/* Adds an object, which `free` frees on failure; two threads may add the same. */
int ga__object_add(ga_kept_objects *objects, const int key[GA_OBJECT_KEY], void *object,
                   void (*free)(void *object));
/* Frees the objects and their list, when the context is closed. */
void ga__objects_free(ga_kept_objects *objects, void (*free)(void *object));

#endif
