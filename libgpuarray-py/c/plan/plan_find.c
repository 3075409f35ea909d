/* Cache of a plan's bindings: look-up by signature, LRU eviction. */
#include <string.h>

#include "c/plan/stages_state.h"

static size_t signature_bytes(const GpuPlan *p) {
  return p->signature.length * sizeof *p->signature.words;
}

static uint64_t hash_of(const uint64_t *words, size_t n) {
  uint64_t h = n;
  for (size_t i = 0; i < n; i++) {
    h = (h ^ words[i]) * 0x9e3779b97f4a7c15u; /* odd multiplier, golden ratio */
    h ^= h >> 29;
  }
  return h;
}

static ga_bound **bucket_of(const GpuPlan *p, uint64_t hash) {
  return &p->bindings.buckets[hash & (p->bindings.n_buckets - 1)];
}

/* ---- LRU list ---- */

/* GpuPlan_hold: only the most recent binding keeps its memory. */
static void put_first(GpuPlan *p, ga_bound *bound) {
  if (p->settings.holds && p->bindings.latest != NULL)
    ga__tape_hold(p->bindings.latest->tape, false);
  if (p->settings.holds)
    ga__tape_hold(bound->tape, true);
  bound->previous = NULL;
  bound->next = p->bindings.latest;
  if (p->bindings.latest != NULL)
    p->bindings.latest->previous = bound;
  else
    p->bindings.oldest = bound;
  p->bindings.latest = bound;
}

static void take_out(GpuPlan *p, ga_bound *bound) {
  *(bound->previous ? &bound->previous->next : &p->bindings.latest) = bound->next;
  *(bound->next ? &bound->next->previous : &p->bindings.oldest) = bound->previous;
}

/* ---- hash table ---- */

static void chain(GpuPlan *p, ga_bound *bound) {
  ga_bound **place = bucket_of(p, bound->hash);
  bound->chain = *place;
  *place = bound;
}

static void unchain(GpuPlan *p, const ga_bound *bound) {
  ga_bound **link = bucket_of(p, bound->hash);
  while (*link != bound)
    link = &(*link)->chain;
  *link = bound->chain;
}

/* Grows the hash table if it is full. */
static int grow(GpuPlan *p) {
  if (p->info.n_bindings < p->bindings.n_buckets)
    return GA_NO_ERROR;
  unsigned int n = p->bindings.n_buckets ? 2 * p->bindings.n_buckets : 16;
  ga_bound **buckets = ga__alloc(n, sizeof(ga_bound *));
  GA_TRY_MEMORY(buckets);
  ga__free((void *)p->bindings.buckets);
  p->bindings.buckets = buckets;
  p->bindings.n_buckets = n;
  for (ga_bound *b = p->bindings.latest; b != NULL; b = b->next)
    chain(p, b);
  return GA_NO_ERROR;
}

static void drop_surplus(GpuPlan *p) {
  while (p->info.n_bindings > p->bindings.most) {
    ga_bound *bound = p->bindings.oldest;
    unchain(p, bound);
    take_out(p, bound);
    ga__bound_free(bound);
    p->info.n_bindings--;
  }
}

void ga__bound_note_fixed(GpuPlan *p, const ga_bound *bound) {
  for (unsigned int i = 0; i < p->graph.n_inputs + p->views.n; i++)
    p->bindings.fixed[i] |= ga__tape_fixed(bound->tape, i);
}

int ga__bound_add(GpuPlan *p, ga_bound *bound) {
  ga__plan_at_free(p, ga__bound_clear);
  int status = grow(p);
  if (status != GA_NO_ERROR) {
    ga__bound_free(bound);
    return status;
  }
  bound->hash = hash_of(bound->signature, p->signature.length);
  ga__bound_note_fixed(p, bound);
  chain(p, bound);
  put_first(p, bound);
  p->info.n_bindings++;
  drop_surplus(p);
  return GA_NO_ERROR;
}

ga_bound *ga__bound_find(GpuPlan *p) {
  ga_bound *bound = p->bindings.latest;
  if (bound == NULL ||
      memcmp(bound->signature, p->signature.words, signature_bytes(p)) == 0)
    return bound;
  uint64_t hash = hash_of(p->signature.words, p->signature.length);
  bound = *bucket_of(p, hash);
  while (bound != NULL &&
         (bound->hash != hash ||
          memcmp(bound->signature, p->signature.words, signature_bytes(p)) != 0))
    bound = bound->chain;
  if (bound != NULL) {
    take_out(p, bound);
    put_first(p, bound);
  }
  return bound;
}

void ga__bound_clear(GpuPlan *p) {
  while (p->bindings.latest != NULL) {
    ga_bound *next = p->bindings.latest->next;
    ga__bound_free(p->bindings.latest);
    p->bindings.latest = next;
  }
  ga__free((void *)p->bindings.buckets);
  p->bindings.oldest = NULL;
  p->bindings.buckets = NULL;
  p->bindings.n_buckets = 0;
}

/* ---- settings ---- */

static void set_most(GpuPlan *p, unsigned int n) {
  p->bindings.most = n;
  drop_surplus(p);
}

typedef void setter(GpuPlan *p, unsigned int value);

/* Sets a plan, its stages and the bodies of its loops by the host. */
static void set_whole(GpuPlan *p, setter *set, unsigned int value) {
  GpuPlan *part;
  set(p, value);
  for (unsigned int i = 0; (part = ga__stages_next(p, &i)) != NULL;)
    set(part, value);
  for (unsigned int i = 0; (part = ga__loops_next(p, &i)) != NULL;)
    set_whole(part, set, value);
}

static int set_all(GpuPlan *p, const char *operation, setter *set, unsigned int value) {
  if (p == NULL)
    return ga__fail_null(operation, "plan");
  GA_TRY(ga__turn_take(&p->turn, operation, p->name));
  set_whole(p, set, value);
  ga__turn_end(&p->turn);
  return GA_NO_ERROR;
}

int GpuPlan_keep(GpuPlan *p, unsigned int n) {
  if (p != NULL && n == 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, keep: 0 signatures; a plan keeps at least the one it ran",
                   p->name);
  return set_all(p, "plan keep", set_most, n);
}

static void set_holds(GpuPlan *p, unsigned int on) {
  p->settings.holds = on;
}

int GpuPlan_hold(GpuPlan *p, int on) {
  return set_all(p, "plan hold", set_holds, on != 0);
}

static void set_protects(GpuPlan *p, unsigned int on) {
  p->settings.protects = on;
}

int GpuPlan_protect(GpuPlan *p, int on) {
  return set_all(p, "plan protect", set_protects, on != 0);
}

static void set_lacks_bodies(GpuPlan *p, unsigned int on) {
  p->settings.lacks_bodies = on;
}

int GpuPlan_use_bodies(GpuPlan *p, int on) {
  return set_all(p, "plan use bodies", set_lacks_bodies, on == 0);
}
