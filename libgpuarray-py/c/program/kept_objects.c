/* Per-context cache of objects, by key. */
#include "c/program/kept_objects.h"

#include <string.h>

struct ga_kept_object {
  ga_kept_object *next;
  int key[GA_OBJECT_KEY];
  void *object;
};

void *ga__object_find(ga_kept_objects *objects, const int key[GA_OBJECT_KEY]) {
  const ga_kept_object *o = atomic_load(&objects->first);
  while (o != NULL && memcmp(o->key, key, sizeof o->key) != 0)
    o = o->next;
  return o ? o->object : NULL;
}

int ga__object_add(ga_kept_objects *objects, const int key[GA_OBJECT_KEY], void *object,
                   void (*free)(void *object)) {
  ga_kept_object *o = ga__alloc(1, sizeof *o);
  if (o == NULL) {
    free(object);
    return GA_MEMORY_ERROR;
  }
  *o = (ga_kept_object){.next = atomic_load(&objects->first), .object = object};
  memcpy(o->key, key, sizeof o->key);
  while (!atomic_compare_exchange_weak(&objects->first, &o->next, o))
    ;
  return GA_NO_ERROR;
}

void ga__objects_free(ga_kept_objects *objects, void (*free)(void *object)) {
  ga_kept_object *next;
  for (ga_kept_object *o = atomic_load(&objects->first); o != NULL; o = next) {
    next = o->next;
    free(o->object);
    ga__free(o);
  }
  ga__free(objects);
}
