/* Dependencies of a tape's commands on each other, by the memory that they use. */
#ifndef GA_C_TAPE_DEPENDENCIES_H
#define GA_C_TAPE_DEPENDENCIES_H

#include "c/tape/tape_state.h"

#define GA_DEPEND_LONGEST ((size_t)1 << 17) /* commands; the matrix takes 33 MiB */
#define GA_DEPEND_WORDS 33 /* 64-bit words of a row: 2048 commands before, at least */

/* A use of an area: of memory that is used as a whole. */
typedef struct ga_area_use {
  unsigned int area;
  bool writes;
} ga_area_use;

/* Buffers of a command other than a callback or a control mark: their number, at most,
 * and the i-th, or NULL. */
size_t ga__command_buffers(const command *c);
const gpudata *ga__command_buffer(bool *writes, const command *c, size_t i);

typedef struct area_user {
  size_t command; /* 1 + its number */
  size_t next;    /* 1 + the next reader's place in the pool; 0: none */
} area_user;

/* An area's latest writer, 1 + its number, and the readers since. */
typedef struct area_state {
  size_t writer, readers;
} area_state;

/* `before` is a bit matrix, a row per command: which of the commands shortly before it
 * are its direct or indirect dependencies. Of earlier ones nothing is known. */
typedef struct ga_dependencies {
  uint64_t *before;
  area_state *areas;
  area_user *pool;
  size_t n_pool;
  size_t *found;   /* scratch: what a command may depend on directly */
  size_t *witness; /* scratch: 1 + a command that is known to run after that one */
} ga_dependencies;

/* For `n` commands with `n_uses` uses in total of `n_areas` areas. False without
 * memory; clear it also then. */
bool ga__depend_open(ga_dependencies *o, size_t n, size_t n_areas, size_t n_uses);
void ga__depend_clear(ga_dependencies *o);

/* Adds command `j`, the next one: read after write, write after read or write. Returns
 * the number of its direct dependencies that no other one implies, which are then in
 * o->found, the latest first. */
size_t ga__depend_add(ga_dependencies *o, size_t j, size_t n_uses,
                      const ga_area_use *uses);
/* Adds one more dependency of command `j`. */
void ga__depend_join(ga_dependencies *o, size_t j, size_t i);

/* The first of the words of a row, among those of all commands. */
static inline size_t ga__depend_first(size_t j) {
  return j / 64 < GA_DEPEND_WORDS ? 0 : j / 64 - (GA_DEPEND_WORDS - 1);
}
/* True if command `j` is known to run after command `i`. */
static inline bool ga__depend_has(const ga_dependencies *o, size_t j, size_t i) {
  const size_t first = ga__depend_first(j);
  return i / 64 >= first &&
         o->before[j * GA_DEPEND_WORDS + i / 64 - first] >> i % 64 & 1;
}
/* True if command `j` is known to run after all commands that used the area. */
bool ga__depend_follows(const ga_dependencies *o, size_t j, unsigned int area);

#endif
