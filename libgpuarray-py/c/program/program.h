/* Compiled programs: found in memory, then on disk, then compiled. */
#ifndef GA_C_PROGRAM_H
#define GA_C_PROGRAM_H

#include "c/base/hash.h"
#include "c/device/context.h"

/* What a compiled program depends on, all in one text that ends with the source. Starts
 * zeroed; ga__key_clear frees it. */
typedef struct ga_key {
  ga_strbuf text;
  size_t source_at, body_at; /* the prelude, the first body */
  unsigned int widths;       /* of complex numbers, whose functions are in it */
  const char *const *math;   /* the backend's, until they are in the text; or NULL */
} ga_key;

void ga__key_begin(ga_key *key, const gpucontext *ctx);
/* Adds a body, whose lines count from 1 in the vendor's messages. A line that includes
 * "cluda.h", as libgpuarray 0.7 wants it, is left empty: the words are there already.
 */
void ga__key_add(ga_key *key, const char *body);
/* What a body is compiled behind, and how: bodies share a program only where this is
 * the same, so that each of them is what it would be alone. */
unsigned int ga__key_manner(const gpucontext *ctx, const char *body);
/* The key of one body; GA_MEMORY_ERROR. */
int ga__key_of(ga_key *key, const gpucontext *ctx, const char *body);
void ga__key_clear(ga_key *key);

typedef struct ga_program {
  struct ga_program *next;
  ga_hash hash;
  char *key;
  size_t key_size;
  void *program;      /* the backend's; NULL until it is compiled */
  struct ga_job *job; /* the thread that compiles it, or NULL */
} ga_program;

enum ga_origin { GA_FROM_MEMORY, GA_FROM_DISK, GA_COMPILED };

/* The rest is called with the context's slow_lock held, but for ga__program_count. The
 * context owns every program. */

/* `name` is for messages; *err_str, if wanted, gets the text of a failed compilation.
 */
int ga__program_get(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                    const ga_key *key, const char *name, char **err_str);
/* The same, but that what must be compiled is on a thread of its own, if one can be had
 * for it: ga__program_wait waits for that. */
int ga__program_begin(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                      const ga_key *key, const char *name);
/* How many threads could begin to compile now; 0 where the backend gains nothing. */
unsigned int ga__program_threads(gpucontext *ctx);
/* Waits until a program is compiled. GA_COMPILE_ERROR leaves no log: compiled once more
 * it tells more. */
int ga__program_wait(gpucontext *ctx, ga_program *p);
/* The program of a key from compiled bytes, unless memory has it; NULL where the vendor
 * refuses them. */
ga_program *ga__program_adopt(gpucontext *ctx, const char *key, size_t key_size,
                              const char *bytes, size_t size);
/* The program that the disk has for this key, or NULL. */
ga_program *ga__program_stored(gpucontext *ctx, const ga_key *key);
/* Notes on disk that the program of `batch` has this body's kernel. */
void ga__program_refer(gpucontext *ctx, const char *body, const ga_key *batch);
/* Counts `n` kernels by where they came from. */
void ga__program_count(gpucontext *ctx, enum ga_origin origin, size_t n);

#endif
