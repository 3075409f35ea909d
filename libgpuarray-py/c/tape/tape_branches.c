/* Dependency graph of a tape's commands, by the addresses that they use. */
#include "c/tape/tape_branches.h"

#include <stdlib.h>
#include <string.h>

#include "c/tape/tape_dependencies.h"

#define MOST_LANES 4

/* A memory range that a command uses. */
typedef struct span {
  uintptr_t from, to;
  size_t use; /* its place in search.uses */
} span;

/* State of the search. Ranges that overlap are one area. */
typedef struct search {
  const command *list;
  size_t n; /* commands */
  const ga_binding *bindings;
  span *spans;
  ga_area_use *uses;
  size_t *first_use; /* per command, and the total at the end */
  size_t n_areas;
  ga_dependencies commands;
  size_t n_after, capacity;
  ga_branches *order;
  size_t last[MOST_LANES]; /* 1 + the latest product of each lane, or 0 */
  unsigned int lanes;
} search;

/* ---- memory ranges ---- */

/* Reports need no order among themselves, but what reads their count waits for them:
 * they are readers of the error word, and it is a writer. */
static void add_span(search *s, size_t *n, const gpudata *buffer, bool writes) {
  if (buffer == NULL)
    return;
  if (buffer->tape != NULL)
    buffer = s->bindings[ga__tape_slot(buffer)].buffer;
  if (buffer->size == 0)
    return;
  const uintptr_t from = (uintptr_t)buffer->memory;
  s->spans[*n] = (span){from, from + buffer->size, *n};
  if (buffer->flags & (GA_BUFFER_WORD | GA_BUFFER_COUNT))
    writes = (buffer->flags & GA_BUFFER_COUNT) != 0;
  s->uses[(*n)++].writes = writes;
}

static void add_spans(search *s, size_t *n, const command *c) {
  for (size_t i = 0; i < ga__command_buffers(c); i++) {
    bool writes = false;
    const gpudata *buffer = ga__command_buffer(&writes, c, i);
    add_span(s, n, buffer, writes);
  }
}

static int by_start(const void *a, const void *b) {
  const span *x = a, *y = b;
  return x->from < y->from ? -1 : x->from > y->from;
}

/* Numbers the areas. */
static void find_areas(search *s, size_t n) {
  uintptr_t end = 0;
  qsort(s->spans, n, sizeof *s->spans, by_start);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || s->spans[i].from >= end)
      s->n_areas++;
    if (s->spans[i].to > end)
      end = s->spans[i].to;
    s->uses[s->spans[i].use].area = (unsigned int)(s->n_areas - 1);
  }
}

/* ---- dependencies ---- */

/* Lists the dependency of the latest command on command i; false without memory. */
static bool list_dependency(search *s, size_t i) {
  if (s->n_after == s->capacity) {
    const size_t wanted = 2 * s->capacity;
    unsigned int *more = ga__realloc(s->order->after, wanted, sizeof *more);
    if (more == NULL)
      return false;
    s->order->after = more;
    s->capacity = wanted;
  }
  s->order->after[s->n_after++] = (unsigned int)i;
  return true;
}

/* The lane whose latest product is the latest that command j waits for anyway; else an
 * empty one; else the one whose latest product is the oldest, and likely done. */
static unsigned int find_lane(const search *s, size_t j) {
  unsigned int waited = s->lanes, oldest = 0;
  for (unsigned int l = 0; l < s->lanes; l++) {
    const size_t last = s->last[l];
    if (last > 0 && ga__depend_has(&s->commands, j, last - 1) &&
        (waited == s->lanes || last > s->last[waited]))
      waited = l;
    if (last < s->last[oldest])
      oldest = l;
  }
  return waited < s->lanes ? waited : oldest;
}

/* Assigns a workspace lane, if need be with one more dependency. Products with a bias
 * share a workspace of their own. */
static bool choose_lane(search *s, size_t j) {
  const bool is_biased = s->list[j].u.product.epilogue != GA_BLAS_PLAIN;
  const unsigned int lane = is_biased ? s->lanes : find_lane(s, j);
  s->order->lane[j] = is_biased ? 0 : lane;
  if (s->order->lanes <= s->order->lane[j])
    s->order->lanes = s->order->lane[j] + 1;
  const size_t last = s->last[lane];
  s->last[lane] = j + 1;
  if (last == 0 || ga__depend_has(&s->commands, j, last - 1))
    return true;
  ga__depend_join(&s->commands, j, last - 1);
  return list_dependency(s, last - 1);
}

static bool fill(search *s) {
  for (size_t j = 0; j < s->n; j++) {
    const size_t first = s->first_use[j];
    s->order->first[j] = (unsigned int)s->n_after;
    const size_t n =
        ga__depend_add(&s->commands, j, s->first_use[j + 1] - first, s->uses + first);
    for (size_t i = 0; i < n; i++)
      if (!list_dependency(s, s->commands.found[i]))
        return false;
    if (s->list[j].kind == PRODUCT && !choose_lane(s, j))
      return false;
  }
  s->order->first[s->n] = (unsigned int)s->n_after;
  return true;
}

static bool begin(search *s) {
  const size_t n = s->n;
  size_t most = 1, used = 0;
  for (size_t i = 0; i < n; i++)
    most += ga__command_buffers(&s->list[i]);
  s->capacity = 2 * n;
  s->spans = ga__alloc(most, sizeof *s->spans);
  s->uses = ga__alloc(most, sizeof *s->uses);
  s->first_use = ga__alloc(n + 1, sizeof *s->first_use);
  s->order->first = ga__alloc(n + 1, sizeof *s->order->first);
  s->order->after = ga__alloc(s->capacity, sizeof *s->order->after);
  s->order->lane = ga__alloc(n, sizeof *s->order->lane);
  if (s->spans == NULL || s->uses == NULL || s->first_use == NULL ||
      s->order->first == NULL || s->order->after == NULL || s->order->lane == NULL)
    return false;
  for (size_t i = 0; i < n; i++) {
    s->first_use[i] = used;
    add_spans(s, &used, &s->list[i]);
  }
  s->first_use[n] = used;
  find_areas(s, used);
  return ga__depend_open(&s->commands, n, s->n_areas, used);
}

void ga__tape_branches(ga_branches *out, const ga_tape *tape, const part *p,
                       const ga_binding *bindings, unsigned int lanes) {
  search s = {.list = tape->commands + p->first,
              .n = p->end - p->first,
              .bindings = bindings,
              .order = out};
  s.lanes = lanes < MOST_LANES ? lanes : MOST_LANES - 1;
  memset(out, 0, sizeof *out);
  if (lanes == 0 || s.n > GA_DEPEND_LONGEST)
    return;
  out->lanes = 1;
  if (!begin(&s) || !fill(&s))
    ga__branches_clear(out);
  ga__free(s.spans);
  ga__free(s.uses);
  ga__free(s.first_use);
  ga__depend_clear(&s.commands);
}

void ga__branches_clear(ga_branches *order) {
  ga__free(order->first);
  ga__free(order->after);
  ga__free(order->lane);
  memset(order, 0, sizeof *order);
}
