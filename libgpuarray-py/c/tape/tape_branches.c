/* Dependency graph of a tape's commands: read after write, write after read or write on
 * overlapping memory. */
#include "c/tape/tape_branches.h"

#include <string.h>

#define LONGEST 1024 /* commands, at most; the search is quadratic */
#define MOST_LANES 4

/* A memory range that a command uses. */
typedef struct span {
  uintptr_t from, to;
  bool writes;
  bool is_word; /* the error word: reports need no order */
} span;

/* State of the search. `before` is a bit matrix, a row per command: its direct and
 * indirect dependencies. */
typedef struct search {
  const ga_tape *tape;
  const ga_binding *bindings;
  span *spans;
  size_t *first_span; /* per command, and the total at the end */
  uint64_t *before;
  size_t words; /* 64-bit words per row */
  size_t n_after, capacity;
  ga_branches *order;
  size_t last[MOST_LANES]; /* 1 + the latest product of each lane, or 0 */
  unsigned int lanes;
} search;

/* ---- memory ranges ---- */

static size_t count_spans(const command *c) {
  return c->kind == LAUNCH ? c->launch.n_args : 4;
}

static void add_span(search *s, size_t *n, const gpudata *buffer, bool writes) {
  if (buffer == NULL)
    return;
  if (buffer->tape != NULL)
    buffer = s->bindings[ga__tape_slot(buffer)].buffer;
  const uintptr_t from = (uintptr_t)buffer->memory;
  const bool is_word = (buffer->flags & GA_BUFFER_WORD) != 0;
  s->spans[(*n)++] = (span){from, from + buffer->size, writes, is_word};
}

static void add_spans(search *s, size_t *n, const command *c) {
  if (c->kind == PRODUCT) {
    add_span(s, n, c->u.product.a.buffer, false);
    add_span(s, n, c->u.product.b.buffer, false);
    add_span(s, n, c->u.product.bias.buffer, false);
    add_span(s, n, c->u.product.c.buffer, true);
  } else if (c->kind == COPY || c->kind == FILL) {
    add_span(s, n, c->u.move.from, false);
    add_span(s, n, c->u.move.to, true);
  }
  for (unsigned int i = 0; c->kind == LAUNCH && i < c->launch.n_args; i++)
    if (c->recorded[i].kind == GA_ARG_MEMORY)
      add_span(s, n, c->recorded[i].buffer, !c->recorded[i].is_read_only);
}

static bool conflict(const search *s, size_t i, size_t j) {
  for (size_t p = s->first_span[i]; p < s->first_span[i + 1]; p++)
    for (size_t q = s->first_span[j]; q < s->first_span[j + 1]; q++) {
      const span *a = &s->spans[p], *b = &s->spans[q];
      if (a->is_word && b->is_word)
        continue;
      if ((a->writes || b->writes) && a->from < b->to && b->from < a->to)
        return true;
    }
  return false;
}

/* ---- dependencies ---- */

static bool depends(const search *s, size_t j, size_t i) {
  return s->before[j * s->words + i / 64] >> i % 64 & 1;
}

/* Adds the dependency of command j on command i; false without memory. */
static bool add_dependency(search *s, size_t j, size_t i) {
  if (s->n_after == s->capacity) {
    const size_t wanted = 2 * s->capacity;
    unsigned int *more = ga__realloc(s->order->after, wanted, sizeof *more);
    if (more == NULL)
      return false;
    s->order->after = more;
    s->capacity = wanted;
  }
  s->order->after[s->n_after++] = (unsigned int)i;
  for (size_t w = 0; w < s->words; w++)
    s->before[j * s->words + w] |= s->before[i * s->words + w];
  s->before[j * s->words + i / 64] |= (uint64_t)1 << i % 64;
  return true;
}

/* Assigns a workspace lane: one that is empty or whose latest product is a dependency
 * anyway, else the first, with one more dependency. Products with a bias share a
 * workspace of their own. */
static bool choose_lane(search *s, size_t j) {
  const bool is_biased = s->tape->commands[j].u.product.epilogue != GA_BLAS_PLAIN;
  unsigned int lane = is_biased ? s->lanes : 0;
  for (unsigned int l = 0; !is_biased && l < s->lanes; l++)
    if (s->last[l] == 0 || depends(s, j, s->last[l] - 1)) {
      lane = l;
      break;
    }
  s->order->lane[j] = is_biased ? 0 : lane;
  if (s->order->lanes <= s->order->lane[j])
    s->order->lanes = s->order->lane[j] + 1;
  const size_t last = s->last[lane];
  s->last[lane] = j + 1;
  return last == 0 || depends(s, j, last - 1) || add_dependency(s, j, last - 1);
}

static bool fill(search *s) {
  for (size_t j = 0; j < s->tape->n_commands; j++) {
    s->order->first[j] = (unsigned int)s->n_after;
    for (size_t i = j; i-- > 0;)
      if (!depends(s, j, i) && conflict(s, i, j) && !add_dependency(s, j, i))
        return false;
    if (s->tape->commands[j].kind == PRODUCT && !choose_lane(s, j))
      return false;
  }
  s->order->first[s->tape->n_commands] = (unsigned int)s->n_after;
  return true;
}

static bool begin(search *s) {
  const size_t n = s->tape->n_commands;
  size_t most = 1, used = 0;
  for (size_t i = 0; i < n; i++)
    most += count_spans(&s->tape->commands[i]);
  s->words = (n + 63) / 64;
  s->capacity = 2 * n;
  s->spans = ga__alloc(most, sizeof *s->spans);
  s->first_span = ga__alloc(n + 1, sizeof *s->first_span);
  s->before = ga__alloc(n * s->words, sizeof *s->before);
  s->order->first = ga__alloc(n + 1, sizeof *s->order->first);
  s->order->after = ga__alloc(s->capacity, sizeof *s->order->after);
  s->order->lane = ga__alloc(n, sizeof *s->order->lane);
  if (s->spans == NULL || s->first_span == NULL || s->before == NULL ||
      s->order->first == NULL || s->order->after == NULL || s->order->lane == NULL)
    return false;
  for (size_t i = 0; i < n; i++) {
    s->first_span[i] = used;
    add_spans(s, &used, &s->tape->commands[i]);
  }
  s->first_span[n] = used;
  return true;
}

void ga__tape_branches(ga_branches *out, const ga_tape *tape,
                       const ga_binding *bindings, unsigned int lanes) {
  search s = {.tape = tape, .bindings = bindings, .order = out};
  s.lanes = lanes < MOST_LANES ? lanes : MOST_LANES - 1;
  memset(out, 0, sizeof *out);
  if (lanes == 0 || tape->n_commands > LONGEST)
    return;
  out->lanes = 1;
  if (!begin(&s) || !fill(&s))
    ga__branches_clear(out);
  ga__free(s.spans);
  ga__free(s.first_span);
  ga__free(s.before);
}

void ga__branches_clear(ga_branches *order) {
  ga__free(order->first);
  ga__free(order->after);
  ga__free(order->lane);
  memset(order, 0, sizeof *order);
}
