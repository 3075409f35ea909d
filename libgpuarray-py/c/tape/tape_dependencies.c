/* Dependencies of commands: each area knows its latest writer and the readers since. */
#include "c/tape/tape_dependencies.h"

#include <string.h>

size_t ga__command_buffers(const command *c) {
  return c->kind == LAUNCH        ? c->launch.n_args
         : c->kind == PRODUCT     ? 4
         : c->kind == CONVOLUTION ? GA_DNN_BUFFERS
                                  : 2;
}

const gpudata *ga__command_buffer(bool *writes, const command *c, size_t i) {
  const ga_blas_call *product = &c->u.product;
  switch (c->kind) {
  case LAUNCH:
    if (c->recorded[i].kind != GA_ARG_MEMORY)
      return NULL;
    *writes = !c->recorded[i].is_read_only;
    return c->recorded[i].buffer;
  case PRODUCT:
    *writes = i == 3;
    return i == 0   ? product->a.buffer
           : i == 1 ? product->b.buffer
           : i == 2 ? product->bias.buffer
                    : product->c.buffer;
  case CONVOLUTION:
    return ga__dnn_buffer(writes, c->u.convolution, (unsigned int)i);
  case COLLECTIVE:
    *writes = c->u.collective->writes[i];
    return c->u.collective->parts[i].data;
  case COPY:
  case FILL:
    *writes = i == 1;
    return i == 1 ? c->u.move.to : c->u.move.from;
  default:
    return NULL;
  }
}

bool ga__depend_open(ga_dependencies *o, size_t n, size_t n_areas, size_t n_uses) {
  *o = (ga_dependencies){0};
  o->before = ga__alloc(n * GA_DEPEND_WORDS + 1, sizeof *o->before);
  o->areas = ga__alloc(n_areas + 1, sizeof *o->areas);
  o->pool = ga__alloc(n_uses + 1, sizeof *o->pool);
  o->found = ga__alloc(2 * n_uses + 1, sizeof *o->found);
  o->witness = ga__alloc(2 * n_uses + 1, sizeof *o->witness);
  return o->before && o->areas && o->pool && o->found && o->witness;
}

void ga__depend_clear(ga_dependencies *o) {
  ga__free(o->before);
  ga__free(o->areas);
  ga__free(o->pool);
  ga__free(o->found);
  ga__free(o->witness);
  memset(o, 0, sizeof *o);
}

/* Adds command i to the sorted list of `n`, the latest first; returns its length. */
static size_t insert(const ga_dependencies *o, size_t n, size_t i, size_t witness) {
  size_t at = n;
  while (at > 0 && o->found[at - 1] < i)
    at--;
  if (at > 0 && o->found[at - 1] == i)
    return n;
  memmove(o->found + at + 1, o->found + at, (n - at) * sizeof *o->found);
  memmove(o->witness + at + 1, o->witness + at, (n - at) * sizeof *o->witness);
  o->found[at] = i;
  o->witness[at] = witness;
  return n + 1;
}

/* What a use waits for; returns the length of the list. The latest reader of an area
 * runs after its writer. */
static size_t collect(const ga_dependencies *o, size_t n, size_t j, ga_area_use use) {
  const area_state *a = &o->areas[use.area];
  const size_t reader = a->readers > 0 ? o->pool[a->readers - 1].command : 0;
  if (a->writer > 0 && a->writer - 1 != j)
    n = insert(o, n, a->writer - 1, reader - 1 == j ? 0 : reader);
  for (size_t at = use.writes ? a->readers : 0; at > 0; at = o->pool[at - 1].next)
    if (o->pool[at - 1].command - 1 != j)
      n = insert(o, n, o->pool[at - 1].command - 1, 0);
  return n;
}

static void note(ga_dependencies *o, size_t j, ga_area_use use) {
  area_state *a = &o->areas[use.area];
  if (use.writes) {
    *a = (area_state){.writer = j + 1};
    return;
  }
  if (a->writer == j + 1 ||
      (a->readers > 0 && o->pool[a->readers - 1].command == j + 1))
    return;
  o->pool[o->n_pool] = (area_user){j + 1, a->readers};
  a->readers = ++o->n_pool;
}

void ga__depend_join(ga_dependencies *o, size_t j, size_t i) {
  const size_t first = ga__depend_first(j), from = ga__depend_first(i);
  uint64_t *row = o->before + j * GA_DEPEND_WORDS;
  const uint64_t *other = o->before + i * GA_DEPEND_WORDS;
  for (size_t w = first; w <= i / 64; w++)
    row[w - first] |= other[w - from];
  if (i / 64 >= first)
    row[i / 64 - first] |= (uint64_t)1 << i % 64;
}

size_t ga__depend_add(ga_dependencies *o, size_t j, size_t n_uses,
                      const ga_area_use *uses) {
  size_t n = 0, n_direct = 0;
  for (size_t u = 0; u < n_uses; u++)
    n = collect(o, n, j, uses[u]);
  for (size_t k = 0; k < n; k++) {
    const size_t i = o->found[k], after = o->witness[k];
    if (ga__depend_has(o, j, i) || (after > 0 && ga__depend_has(o, j, after - 1)))
      continue;
    ga__depend_join(o, j, i);
    o->found[n_direct++] = i;
  }
  for (size_t u = 0; u < n_uses; u++)
    note(o, j, uses[u]);
  return n_direct;
}

bool ga__depend_follows(const ga_dependencies *o, size_t j, unsigned int area) {
  const area_state *a = &o->areas[area];
  if (a->writer > 0 && !ga__depend_has(o, j, a->writer - 1))
    return false;
  for (size_t at = a->readers; at > 0; at = o->pool[at - 1].next)
    if (!ga__depend_has(o, j, o->pool[at - 1].command - 1))
      return false;
  return true;
}
