/* Compiled programs: cached in memory and on disk. */
#ifndef GA_C_PROGRAM_H
#define GA_C_PROGRAM_H

#include "c/base/hash.h"
#include "c/device/context.h"

/* Cache key: all that a binary depends on, as one text that ends with the source.
 * Starts zeroed; free it with ga__key_clear. */
typedef struct ga_key {
  ga_strbuf text;
  size_t source_at, body_at; /* offset of the prelude; of the first body */
  unsigned int widths;       /* complex types whose functions are included */
  const char *const *math;   /* CPU math still to be included, or NULL */
} ga_key;

void ga__key_begin(ga_key *key, const gpucontext *ctx);
/* Adds a body with line numbers from 1. Lines that include "cluda.h" (libgpuarray 0.7)
 * are blanked: the prelude has its definitions. */
void ga__key_add(ga_key *key, const char *body);
/* Compilation mode of a body, as a bit mask: functions it needs before it, FMA
 * contraction. Bodies share a program only if equal, so that each compiles as it would
 * alone. */
unsigned int ga__key_manner(const gpucontext *ctx, const char *body);
/* The key of one body; GA_MEMORY_ERROR. */
int ga__key_of(ga_key *key, const gpucontext *ctx, const char *body);
void ga__key_clear(ga_key *key);

typedef struct ga_program {
  struct ga_program *next;
  ga_hash hash;
  char *key;
  size_t key_size;
  void *program;      /* the backend's; NULL until compiled */
  struct ga_job *job; /* the compiling thread, or NULL */
} ga_program;

enum ga_origin { GA_FROM_MEMORY, GA_FROM_DISK, GA_COMPILED };

/* Except for ga__program_count, hold the context's slow_lock. The context owns all
 * programs. */

/* Gets a program, compiling it if needed. `name` is for messages; *err_str, if not
 * NULL, becomes the compiler's log. */
int ga__program_get(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                    const ga_key *key, const char *name, char **err_str);
/* The same, but starts compilation on a thread where one is free; ga__program_wait
 * waits for it. */
int ga__program_begin(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                      const ga_key *key, const char *name);
/* Number of threads free for compilation; 0 where the backend gains nothing by them. */
unsigned int ga__program_threads(gpucontext *ctx);
/* Waits for the compilation. GA_COMPILE_ERROR has no log here: compile it alone for
 * that. */
int ga__program_wait(gpucontext *ctx, ga_program *p);
/* Loads a binary under a key, unless it is in memory; NULL if the vendor refuses it. */
ga_program *ga__program_adopt(gpucontext *ctx, const char *key, size_t key_size,
                              const char *bytes, size_t size);
/* Look-up on disk, then among shipped programs; NULL if missing. */
ga_program *ga__program_stored(gpucontext *ctx, const ga_key *key);
/* Stores a reference from this body's key to the program of its batch. */
void ga__program_refer(gpucontext *ctx, const char *body, const ga_key *batch);
/* Counts `n` kernels by origin. */
void ga__program_count(gpucontext *ctx, enum ga_origin origin, size_t n);

#endif
