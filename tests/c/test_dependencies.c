/* Dependencies of commands by areas, against the closure of all conflicts. */
#include "check.h"

#include <stdlib.h>

#include "c/tape/tape_dependencies.h"

enum { COMMANDS = 6000, AREAS = 40, USES = 3 };

static uint64_t state = 88172645463325252u;

static unsigned int drawn(unsigned int n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned int)(state % n);
}

static ga_area_use uses[COMMANDS][USES];

static bool conflict(size_t i, size_t j) {
  for (int a = 0; a < USES; a++)
    for (int b = 0; b < USES; b++)
      if (uses[i][a].area == uses[j][b].area &&
          (uses[i][a].writes || uses[j][b].writes))
        return true;
  return false;
}

/* Rows of all bits: what runs before a command by these edges alone. */
typedef struct closure {
  uint64_t *bits;
  size_t words;
} closure;

static bool runs_before(const closure *c, size_t i, size_t j) {
  return c->bits[j * c->words + i / 64] >> i % 64 & 1;
}

static void add_edge(closure *c, size_t i, size_t j) {
  for (size_t w = 0; w < c->words; w++)
    c->bits[j * c->words + w] |= c->bits[i * c->words + w];
  c->bits[j * c->words + i / 64] |= (uint64_t)1 << i % 64;
}

/* `share`: of `share` areas most commands use those of their own part, so that there
 * are branches that never meet. */
static void draw(size_t n, unsigned int share) {
  for (size_t j = 0; j < n; j++)
    for (int u = 0; u < USES; u++) {
      const unsigned int branch = (unsigned int)j % share;
      const unsigned int area = drawn(AREAS / share) * share + branch;
      uses[j][u] = (ga_area_use){drawn(200) == 0 ? drawn(AREAS) : area, drawn(3) == 0};
    }
}

static void test_drawn(size_t n, unsigned int share) {
  ga_dependencies o;
  closure c = {.words = (n + 63) / 64};
  size_t n_edges = 0, n_missing = 0, n_wrong = 0;
  draw(n, share);
  c.bits = calloc(n * c.words, sizeof *c.bits);
  CHECK(ga__depend_open(&o, n, AREAS, n * USES));
  for (size_t j = 0; j < n; j++) {
    const size_t direct = ga__depend_add(&o, j, USES, uses[j]);
    for (size_t k = 0; k < direct; k++) {
      n_wrong += !conflict(o.found[k], j); /* no edge without a reason */
      add_edge(&c, o.found[k], j);
    }
    n_edges += direct;
    for (size_t i = 0; i < j; i++) {
      n_missing += conflict(i, j) && !runs_before(&c, i, j);
      n_wrong += ga__depend_has(&o, j, i) && !runs_before(&c, i, j);
    }
  }
  CHECK(n_missing == 0);
  CHECK(n_wrong == 0);
  CHECK(n_edges > n / 2 && n_edges < n * AREAS);
  ga__depend_clear(&o);
  free(c.bits);
}

/* Each command of a chain reads what the first one made: one edge, however long. */
static void test_a_chain_has_one_edge_each(void) {
  ga_dependencies o;
  const ga_area_use first = {0, true};
  size_t n_edges = 0;
  CHECK(ga__depend_open(&o, COMMANDS, 2, COMMANDS * USES));
  CHECK(ga__depend_add(&o, 0, 1, &first) == 0);
  for (size_t j = 1; j < COMMANDS; j++)
    n_edges +=
        ga__depend_add(&o, j, 3, (ga_area_use[]){{0, false}, {1, false}, {1, true}});
  CHECK(n_edges == COMMANDS - 1);
  CHECK(ga__depend_has(&o, COMMANDS - 1, COMMANDS - 2));
  CHECK(!ga__depend_has(&o, COMMANDS - 1, 0)); /* too old to know */
  CHECK(!ga__depend_follows(&o, COMMANDS - 1, 0));
  ga__depend_clear(&o);
}

int main(int argc, char **argv) {
  (void)argc;
  test_drawn(300, 1);
  test_drawn(3000, 1);
  test_drawn(COMMANDS, 8);
  test_a_chain_has_one_edge_each();
  return check_result(argv[0]);
}
