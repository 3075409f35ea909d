/* Compiled programs: cached in memory and on disk.
 *
 * A cache file holds a program, or, for a kernel of a batch, the hash of the key of the
 * program that contains it: a reference, since keys are long and batches large. */
#include "c/program/program.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "c/base/complex.h"
#include "c/program/shipped.h"
#include "c/system/cache.h"
#include "c/system/ending.h"

#define N_BUCKETS 256

/* The context's programs; guarded by slow_lock, except n_running. */
typedef struct table {
  ga_program *buckets[N_BUCKETS];
  atomic_uint n_running; /* compilation threads */
} table;

enum {
  STORED_PROGRAM = 'P',
  STORED_HASH = 'H'
}; /* first byte of a cache file: program or reference */

/* ---- keys ---- */

void ga__key_begin(ga_key *k, const gpucontext *ctx) {
  ga__cache_key(&k->text, ctx->backend->name, ctx->info.bin_id);
  k->source_at = k->text.length;
  ga__strbuf_add(&k->text, ctx->backend->prelude);
  k->math = ctx->info.is_cpu ? ctx->backend->math : NULL;
}

/* Length of a line, without its end, if it includes "cluda.h"; else 0. */
static size_t inclusion_length(const char *line) {
  size_t length = strcspn(line, "\n"), at = strspn(line, " \t");
  if (line[at] != '#')
    return 0;
  at += 1 + strspn(line + at + 1, " \t");
  if (strncmp(line + at, "include", 7) != 0)
    return 0;
  const char *name = strstr(line + at, "cluda.h");
  return name && name < line + length ? length : 0;
}

static void add_body(ga_strbuf *out, const char *body) {
  const char *name = strstr(body, "cluda.h");
  while (name) {
    const char *line = name;
    while (line > body && line[-1] != '\n')
      line--;
    ga__strbuf_addn(out, body, (size_t)(line - body));
    body = line + inclusion_length(line);
    name = strstr(body > name ? body : name + 1, "cluda.h");
  }
  ga__strbuf_add(out, body);
}

/* True if a text may call the backend's `math` functions, directly or through complex
 * arithmetic. */
static bool needs_math(const char *body) {
  static const char *const ends[] = {"exp(",  "exp2(", "expm1(", "sinh(",  "cosh(",
                                     "tanh(", "log(",  "log2(",  "log10(", "log1p(",
                                     "sin(",  "cos(",  "tan(",   "atan2(", "pow(",
                                     "cbrt(", "hypot("};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (strstr(body, ends[i]))
      return true;
  return ga__complex_widths(body) != 0;
}

unsigned int ga__key_manner(const gpucontext *ctx, const char *body) {
  enum { HAS_MATH = 4, IS_ROUNDED = 8 };
  static_assert((GA_HAS_CFLOAT | GA_HAS_CDOUBLE) < HAS_MATH, "bits of their own");
  const unsigned int widths = ga__complex_widths(body);
  const bool has_math = ctx->info.is_cpu && ctx->backend->math && needs_math(body);
  return widths | (has_math ? HAS_MATH : 0u) |
         (strstr(body, GA_ROUNDED) ? IS_ROUNDED : 0u);
}

void ga__key_add(ga_key *k, const char *body) {
  unsigned int missing = ga__complex_widths(body) & ~k->widths;
  if (k->math && needs_math(body)) {
    for (const char *const *text = k->math; *text; text++)
      ga__strbuf_add(&k->text, *text);
    k->math = NULL;
  }
  ga__complex_add(&k->text, missing);
  k->widths |= missing;
  ga__strbuf_add(&k->text, "\n#line 1\n");
  if (k->body_at == 0)
    k->body_at = k->text.length;
  add_body(&k->text, body);
}

int ga__key_of(ga_key *k, const gpucontext *ctx, const char *body) {
  ga__key_begin(k, ctx);
  ga__key_add(k, body);
  return ga__strbuf_status(&k->text);
}

void ga__key_clear(ga_key *k) {
  ga__strbuf_clear(&k->text);
}

/* ---- memory cache ---- */

static void free_table(gpucontext *ctx, void *object) {
  table *t = object;
  for (unsigned int i = 0; i < N_BUCKETS; i++) {
    ga_program *p = t->buckets[i];
    while (p) {
      ga_program *next = p->next;
      if (p->job)
        ga__program_wait(ctx, p);
      if (p->program)
        ctx->backend->unload(ctx->device, p->program);
      ga__free(p->key);
      ga__free(p);
      p = next;
    }
  }
  ga__free(t);
}

static int open_table(gpucontext *ctx) {
  void *object;
  return ga__context_attach(&object, ctx, GA_ATTACHED_PROGRAMS, sizeof(table),
                            free_table);
}

/* Only after open_table. */
static table *table_of(gpucontext *ctx) {
  return ga__context_attached(ctx, GA_ATTACHED_PROGRAMS, free_table);
}

static void count(gpucontext *ctx, size_t *counter, size_t n) {
  pthread_mutex_lock(&ctx->lock);
  *counter += n;
  pthread_mutex_unlock(&ctx->lock);
}

void ga__program_count(gpucontext *ctx, enum ga_origin origin, size_t n) {
  gpucontext_cache *c = &ctx->cache.counters;
  count(ctx,
        origin == GA_FROM_MEMORY ? &c->memory_hits
        : origin == GA_FROM_DISK ? &c->disk_hits
                                 : &c->compiled,
        n);
}

/* Compilation failed; the entry stays for the kernels of its batch. */
static bool has_failed(const ga_program *p) {
  return p->program == NULL && p->job == NULL;
}

/* Look-up by hash, from `p` on in its bucket. */
static ga_program *next_hashed(ga_program *p, ga_hash hash) {
  while (p && (p->hash.a != hash.a || p->hash.b != hash.b || has_failed(p)))
    p = p->next;
  return p;
}

static ga_program *find_hashed(gpucontext *ctx, ga_hash hash) {
  return next_hashed(table_of(ctx)->buckets[hash.a % N_BUCKETS], hash);
}

static ga_program *find_program(gpucontext *ctx, const char *text, size_t size) {
  ga_hash hash = ga__hash(text, size, (ga_hash){0, 0});
  ga_program *p = find_hashed(ctx, hash);
  while (p && (p->key_size != size || memcmp(p->key, text, size) != 0))
    p = next_hashed(p->next, hash);
  return p;
}

/* Adds a program; takes ownership of `compiled`, NULL while it is compiling. */
static int add_program(ga_program **out, gpucontext *ctx, const char *text, size_t size,
                       void *compiled) {
  ga_program *p = ga__alloc(1, sizeof *p);
  char *copy = ga__alloc(size + 1, 1);
  if (p == NULL || copy == NULL) {
    ga__free(p);
    ga__free(copy);
    if (compiled)
      ctx->backend->unload(ctx->device, compiled);
    return GA_MEMORY_ERROR;
  }
  memcpy(copy, text, size);
  ga_hash hash = ga__hash(text, size, (ga_hash){0, 0});
  ga_program **bucket = &table_of(ctx)->buckets[hash.a % N_BUCKETS];
  *p = (ga_program){*bucket, hash, copy, size, compiled, NULL};
  *bucket = *out = p;
  return GA_NO_ERROR;
}

/* ---- disk cache ---- */

/* Splits off the first byte, the kind of entry; false on a miss. */
static bool take_kind(char *what, gpucontext *ctx, enum ga_cache_answer answer,
                      char *bytes, size_t *size) {
  if (answer == GA_CACHE_DAMAGED)
    count(ctx, &ctx->cache.counters.damaged, 1);
  if (answer != GA_CACHE_HIT || *size == 0)
    return false;
  *what = bytes[0];
  memmove(bytes, bytes + 1, --*size);
  return true;
}

static void write_stored(gpucontext *ctx, const ga_strbuf *under, char what,
                         const void *bytes, size_t size) {
  if (ctx->cache.folder == NULL)
    return;
  ga_strbuf stored = {0};
  ga__strbuf_addn(&stored, &what, 1);
  ga__strbuf_addn(&stored, bytes, size);
  if (stored.failed || !ga__cache_write(ctx->cache.folder, under->text, under->length,
                                        stored.text, stored.length))
    count(ctx, &ctx->cache.counters.unwritable, 1);
  ga__strbuf_clear(&stored);
}

static void store_program(gpucontext *ctx, const ga_strbuf *under, void *compiled) {
  void *bytes;
  size_t size;
  if (ctx->cache.folder == NULL)
    return;
  if (ctx->backend->binary(&bytes, &size, ctx->device, compiled) != GA_NO_ERROR) {
    count(ctx, &ctx->cache.counters.unwritable, 1);
    return;
  }
  write_stored(ctx, under, STORED_PROGRAM, bytes, size);
  ga__free(bytes);
}

/* Loads a program from its binary; NULL if the vendor refuses it. */
static ga_program *load_program(gpucontext *ctx, const char *text, size_t text_size,
                                const char *bytes, size_t size) {
  void *compiled;
  ga_program *p;
  if (ctx->backend->load(&compiled, ctx->device, bytes, size) != GA_NO_ERROR) {
    count(ctx, &ctx->cache.counters.damaged, 1);
    return NULL;
  }
  return add_program(&p, ctx, text, text_size, compiled) == GA_NO_ERROR ? p : NULL;
}

ga_program *ga__program_adopt(gpucontext *ctx, const char *key, size_t key_size,
                              const char *bytes, size_t size) {
  if (open_table(ctx) != GA_NO_ERROR)
    return NULL;
  ga_program *p = find_program(ctx, key, key_size);
  return p ? p : load_program(ctx, key, key_size, bytes, size);
}

/* Follows a reference: the program whose key has this hash, from memory or disk, or
 * NULL. */
static ga_program *hashed_program(gpucontext *ctx, const char *bytes, size_t size) {
  ga_hash hash;
  void *stored = NULL;
  char *key = NULL, what;
  size_t stored_size = 0, key_size = 0;
  if (size != sizeof hash)
    return NULL;
  memcpy(&hash, bytes, sizeof hash);
  ga_program *p = find_hashed(ctx, hash);
  if (p)
    return p;
  enum ga_cache_answer answer = ga__cache_read_hashed(
      &stored, &stored_size, &key, &key_size, ctx->cache.folder, hash);
  if (take_kind(&what, ctx, answer, stored, &stored_size) && what == STORED_PROGRAM)
    p = load_program(ctx, key, key_size, stored, stored_size);
  ga__free(stored);
  ga__free(key);
  return p;
}

/* A program shipped with the library, or NULL. */
static ga_program *shipped_program(gpucontext *ctx, const ga_key *k) {
  size_t size;
  if (ctx->info.arch[0] == '\0')
    return NULL;
  void *bytes = ga__shipped_program(&size, ctx->backend->name, ctx->info.arch,
                                    k->text.text + k->source_at);
  if (bytes == NULL)
    return NULL;
  ga_program *p = load_program(ctx, k->text.text, k->text.length, bytes, size);
  ga__free(bytes);
  return p;
}

ga_program *ga__program_stored(gpucontext *ctx, const ga_key *k) {
  void *stored = NULL;
  size_t size = 0;
  char what;
  ga_program *p = NULL;
  if (open_table(ctx) != GA_NO_ERROR)
    return NULL;
  enum ga_cache_answer answer =
      ga__cache_read(&stored, &size, ctx->cache.folder, k->text.text, k->text.length);
  if (take_kind(&what, ctx, answer, stored, &size))
    p = what == STORED_PROGRAM
            ? load_program(ctx, k->text.text, k->text.length, stored, size)
            : hashed_program(ctx, stored, size);
  ga__free(stored);
  return p ? p : shipped_program(ctx, k);
}

void ga__program_refer(gpucontext *ctx, const char *body, const ga_key *batch) {
  ga_key k = {0};
  if (ctx->cache.folder == NULL)
    return;
  /* A batch of one has the body's own key: the program itself is stored under it. */
  if (ga__key_of(&k, ctx, body) == GA_NO_ERROR &&
      strcmp(k.text.text, batch->text.text) != 0) {
    ga_hash hash = ga__hash(batch->text.text, batch->text.length, (ga_hash){0, 0});
    write_stored(ctx, &k.text, STORED_HASH, &hash, sizeof hash);
  }
  ga__key_clear(&k);
}

/* ---- compilation ---- */

/* Sets the error message (log and numbered source); also copied to *err_str, if not
 * NULL. */
static int compile_failed(gpucontext *ctx, const char *name, const char *log,
                          const char *body, char **err_str) {
  ga_strbuf text = {0};
  ga__strbuf_addf(&text, "%s does not compile for %s (%s):\n%s\n", name, ctx->name,
                  ctx->info.name, log ? log : gpuarray_error_text());
  ga__strbuf_add_lines(&text, body);
  ga__fail(GA_COMPILE_ERROR, "%s", text.failed ? "no memory for the log" : text.text);
  if (err_str && !text.failed)
    *err_str = text.text;
  else
    ga__strbuf_clear(&text);
  return GA_COMPILE_ERROR;
}

static int compile(ga_program **out, gpucontext *ctx, const ga_key *k, const char *name,
                   char **err_str) {
  void *compiled;
  ga_strbuf log = {0};
  const char *source = k->text.text + k->source_at;
  int status = ctx->backend->compile(&compiled, ctx->device, source, &log);
  if (status == GA_COMPILE_ERROR) {
    compile_failed(ctx, name, log.text, k->text.text + k->body_at, err_str);
  }
  ga__strbuf_clear(&log);
  GA_TRY(ga__context_status(ctx, status));
  store_program(ctx, &k->text, compiled);
  return add_program(out, ctx, k->text.text, k->text.length, compiled);
}

/* Cache look-up; *origin tells where it was found, or that it must be compiled. */
static bool find_cached(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                        const ga_key *k) {
  *origin = GA_FROM_MEMORY;
  *out = find_program(ctx, k->text.text, k->text.length);
  if (*out)
    return true;
  *origin = GA_FROM_DISK;
  *out = ga__program_stored(ctx, k);
  if (*out)
    return true;
  *origin = GA_COMPILED;
  return false;
}

int ga__program_get(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                    const ga_key *k, const char *name, char **err_str) {
  GA_TRY(open_table(ctx));
  if (find_cached(out, origin, ctx, k)) {
    const int status = ga__program_wait(ctx, *out);
    if (status != GA_COMPILE_ERROR)
      return status;
  }
  return compile(out, ctx, k, name, err_str);
}

/* ---- parallel compilation ---- */

/* A thread that compiles and stores a program. */
struct ga_job {
  gpucontext *ctx;
  atomic_uint *n_running; /* the context's */
  ga_strbuf key;          /* borrowed from the program */
  size_t source_at;
  void *compiled;
  int status;
  char text[512]; /* error message */
  pthread_t thread;
  bool has_thread;
};

static int run_slowly(struct ga_job *job) {
  ga_strbuf log = {0};
  int status = job->ctx->backend->compile(&job->compiled, job->ctx->device,
                                          job->key.text + job->source_at, &log);
  if (status == GA_NO_ERROR)
    store_program(job->ctx, &job->key, job->compiled);
  ga__strbuf_clear(&log);
  return status;
}

/* Between enter and leave, so that exit waits for it. */
static void *run_job(void *argument) {
  struct ga_job *job = argument;
  job->status = ga__vendor_enter();
  if (job->status == GA_NO_ERROR) {
    job->status = run_slowly(job);
    ga__vendor_leave();
  }
  if (job->status != GA_NO_ERROR)
    snprintf(job->text, sizeof job->text, "%s", gpuarray_error_text());
  atomic_fetch_sub(job->n_running, 1);
  return NULL;
}

/* NVRTC parses one program at a time: of two threads a processor, one may wait for its
 * turn, and who asks for a kernel is not kept by compiling it. */
#define THREADS_PER_PROCESSOR 2

unsigned int ga__program_threads(gpucontext *ctx) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  const unsigned int all =
      THREADS_PER_PROCESSOR * (processors > 0 ? (unsigned int)processors : 1);
  table *t = table_of(ctx);
  const unsigned int running = t ? atomic_load(&t->n_running) : 0;
  return ctx->backend->compiles_at_once && running < all ? all - running : 0;
}

int ga__program_begin(ga_program **out, enum ga_origin *origin, gpucontext *ctx,
                      const ga_key *k, const char *name) {
  GA_TRY(open_table(ctx));
  if (find_cached(out, origin, ctx, k))
    return GA_NO_ERROR;
  bool may_wait = ga__program_threads(ctx) > 0 && ga__ending_is_seen();
  struct ga_job *job = may_wait ? ga__alloc(1, sizeof *job) : NULL;
  if (job == NULL)
    return compile(out, ctx, k, name, NULL);
  int status = add_program(out, ctx, k->text.text, k->text.length, NULL);
  if (status != GA_NO_ERROR) {
    ga__free(job);
    return status;
  }
  job->ctx = ctx;
  job->n_running = &table_of(ctx)->n_running;
  job->key = (ga_strbuf){.text = (*out)->key, .length = (*out)->key_size};
  job->source_at = k->source_at;
  (*out)->job = job;
  atomic_fetch_add(job->n_running, 1);
  job->has_thread = pthread_create(&job->thread, NULL, run_job, job) == 0;
  if (!job->has_thread)
    run_job(job);
  return GA_NO_ERROR;
}

int ga__program_wait(gpucontext *ctx, ga_program *p) {
  struct ga_job *job = p->job;
  if (job == NULL)
    return p->program ? GA_NO_ERROR
                      : GA_FAIL(GA_COMPILE_ERROR, "the program did not compile");
  if (job->has_thread)
    pthread_join(job->thread, NULL);
  p->job = NULL;
  int status = job->status;
  if (status == GA_NO_ERROR)
    p->program = job->compiled;
  else
    status = ga__context_status(ctx, GA_FAIL(status, "%s", job->text));
  ga__free(job);
  return status;
}
