/* The library's generated kernels: cached by source, compiled in batches. */
#include "c/program/kernel.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "c/device/recorder.h"
#include "c/program/kernel_waits.h"
#include "c/system/dump.h"

#define N_BUCKETS 256

typedef struct entry {
  struct entry *next;
  char *body;
  gpukernel kernel;
} entry;

typedef struct table {
  entry *buckets[N_BUCKETS]; /* guarded by lock; written with slow_lock held too */
} table;

/* ---- names ---- */

void ga__kernel_name(char out[GA_KERNEL_NAME], const char *stem, const char *text) {
  char digits[33];
  ga__hash_text(digits, ga__hash(text, strlen(text), (ga_hash){1, 2}));
  snprintf(out, GA_KERNEL_NAME, "%.*s_%s", GA_KERNEL_NAME - 34, stem, digits);
}

bool ga__kernel_is_closed(const char *text) {
  static const char line[] = "GA_SELF_CONTAINED\n";
  return text != NULL && strncmp(text, line, sizeof line - 1) == 0;
}

/* ---- the context's cache of kernels ---- */

static void free_table(gpucontext *ctx, void *object) {
  table *t = object;
  for (unsigned int i = 0; i < N_BUCKETS; i++) {
    entry *e = t->buckets[i];
    while (e) {
      entry *next = e->next;
      if (atomic_load(&e->kernel.is_open))
        ctx->backend->kernel_free(ctx->device, e->kernel.kernel);
      ga__free(e->body);
      ga__free(e);
      e = next;
    }
  }
  ga__free(t);
}

static int open_table(table **out, gpucontext *ctx) {
  void *object;
  GA_TRY(
      ga__context_attach(&object, ctx, GA_ATTACHED_KERNELS, sizeof(table), free_table));
  *out = object;
  return GA_NO_ERROR;
}

static entry **entry_bucket(table *t, const char *name) {
  return &t->buckets[ga__hash(name, strlen(name), (ga_hash){0, 0}).a % N_BUCKETS];
}

gpukernel *ga__kernel_named(gpucontext *ctx, const char *name, const char *body) {
  table *t = ga__context_attached(ctx, GA_ATTACHED_KERNELS, free_table);
  gpukernel *found = NULL;
  pthread_mutex_lock(&ctx->lock);
  entry *e = t ? *entry_bucket(t, name) : NULL;
  for (; e && !found; e = e->next)
    if (strcmp(e->kernel.name, name) == 0 && strcmp(e->body, body) == 0)
      found = &e->kernel;
  pthread_mutex_unlock(&ctx->lock);
  return found;
}

/* Look-up by source; NULL if missing. */
static gpukernel *find_kernel(gpucontext *ctx, const ga_source *source) {
  return ga__kernel_named(ctx, source->name, source->body.text);
}

/* Counts a user's kernel's parameters: a vendor given too few arguments may read beyond
 * them. */
static void count_parameters(gpukernel *k) {
  const ga_backend *backend = k->context->backend;
  if (backend->kernel_parameters == NULL ||
      backend->kernel_parameters(&k->n_parameters, k->context->device, k->kernel) !=
          GA_NO_ERROR)
    k->n_parameters = k->n_args;
}

int ga__kernel_check_parameters(const gpukernel *k) {
  if (k->n_args != k->n_parameters)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "kernel %s: the source has %u parameters, but %u arguments were declared",
        k->name, k->n_parameters, k->n_args);
  return GA_NO_ERROR;
}

void gpukernel_retain(gpukernel *k) {
  if (k)
    atomic_fetch_add_explicit(&k->references, 1, memory_order_relaxed);
}

/* Gets the kernel from its compiled program. slow_lock is held. */
static int open_compiled(gpukernel *k) {
  gpucontext *ctx = k->context;
  void *kernel;
  GA_TRY(ga__context_status(ctx, ctx->backend->kernel(&kernel, ctx->device,
                                                      k->program->program, k->name,
                                                      k->waits)));
  int status = ctx->backend->kernel_threads(&k->threads, ctx->device, kernel);
  if (status != GA_NO_ERROR) {
    ctx->backend->kernel_free(ctx->device, kernel);
    return ga__context_status(ctx, status);
  }
  k->kernel = kernel;
  if (!k->of_context)
    count_parameters(k);
  atomic_store_explicit(&k->is_open, true, memory_order_release);
  return GA_NO_ERROR;
}

int ga__kernel_open(gpukernel *k, gpucontext *ctx, ga_program *p, const char *name) {
  k->shown = ga__intern(name);
  GA_TRY_MEMORY(k->shown);
  k->context = ctx;
  k->program = p;
  atomic_init(&k->references, 1);
  atomic_init(&k->is_open, false);
  snprintf(k->name, sizeof k->name, "%s", name);
  return p->program ? open_compiled(k) : GA_NO_ERROR;
}

/* Compiles a kernel alone, after its batch failed: another kernel may be the culprit,
 * else the error is raised now. */
static int compile_alone(gpukernel *k) {
  ga_key key = {0};
  enum ga_origin origin;
  const char *body = ga__kernel_body(k);
  if (body == NULL)
    return GA_FAIL(GA_COMPILE_ERROR, "kernel %s does not compile", k->name);
  ga_program *p = NULL;
  int status = ga__key_of(&key, k->context, body);
  GA_THEN(status, ga__program_get(&p, &origin, k->context, &key, k->name, NULL));
  ga__key_clear(&key);
  if (status == GA_NO_ERROR)
    k->program = p;
  return status;
}

static int ready_slowly(gpukernel *k) {
  if (atomic_load(&k->is_open))
    return GA_NO_ERROR;
  if (k->original) {
    GA_TRY(ready_slowly(k->original));
    k->program = k->original->program;
    GA_TRY(open_compiled(k));
    return ga__kernel_check_parameters(k);
  }
  int status = ga__program_wait(k->context, k->program);
  if (status == GA_COMPILE_ERROR)
    status = compile_alone(k);
  return status == GA_NO_ERROR ? open_compiled(k) : status;
}

int ga__kernel_ready(gpukernel *k) {
  if (atomic_load_explicit(&k->is_open, memory_order_acquire))
    return GA_NO_ERROR;
  pthread_mutex_lock(&k->context->slow_lock);
  int status = ready_slowly(k);
  pthread_mutex_unlock(&k->context->slow_lock);
  return status;
}

/* ---- adding and compiling kernels ---- */

/* Display name: stem, short hash and title of the source. Without memory the plain name
 * stays. */
static void show_title(gpukernel *k, const ga_source *source) {
  enum { SHORT_HASH = 6 };
  char text[GA_KERNEL_NAME + sizeof source->title];
  const char *hash = strrchr(source->name, '_');
  if (source->title[0] == '\0' || hash == NULL)
    return;
  snprintf(text, sizeof text, "%.*s: %s", (int)(hash - source->name) + 1 + SHORT_HASH,
           source->name, source->title);
  const char *shown = ga__intern(text);
  if (shown)
    k->shown = shown;
}

/* Adds the kernel of `source`, contained in `p`, to the cache. slow_lock is held. */
static int add_entry(gpukernel **out, gpucontext *ctx, const ga_source *source,
                     ga_program *p) {
  table *t;
  GA_TRY(open_table(&t, ctx));
  entry *e = ga__alloc(1, sizeof *e);
  GA_TRY_MEMORY(e);
  e->body = ga__strdup(source->body.text);
  e->kernel.of_context = true;
  e->kernel.is_closed = source->is_closed;
  e->kernel.waits = ga__kernel_waits(source->body.text);
  int status =
      e->body ? ga__kernel_open(&e->kernel, ctx, p, source->name) : GA_MEMORY_ERROR;
  if (status != GA_NO_ERROR) {
    ga__free(e->body);
    ga__free(e);
    return status;
  }
  show_title(&e->kernel, source);
  pthread_mutex_lock(&ctx->lock);
  entry **bucket = entry_bucket(t, source->name);
  e->next = *bucket;
  *bucket = e;
  pthread_mutex_unlock(&ctx->lock);
  *out = &e->kernel;
  return GA_NO_ERROR;
}

/* ga__kernel_get with slow_lock held; `waits` for the compilation. */
static int get_slowly(gpukernel **out, gpucontext *ctx, const ga_source *source,
                      bool waits) {
  *out = find_kernel(ctx, source);
  if (*out)
    return waits ? ready_slowly(*out) : GA_NO_ERROR;
  GA_TRY(ga__dump_source(source->body.text));
  ga_key k = {0};
  ga_program *p;
  enum ga_origin origin;
  int status = ga__key_of(&k, ctx, source->body.text);
  GA_THEN(status, waits ? ga__program_get(&p, &origin, ctx, &k, source->name, NULL)
                        : ga__program_begin(&p, &origin, ctx, &k, source->name));
  GA_THEN(status, add_entry(out, ctx, source, p));
  if (status == GA_NO_ERROR)
    ga__program_count(ctx, origin, 1);
  ga__key_clear(&k);
  return status;
}

/* Checks that the source was written and is not empty. */
static int check_source(const ga_source *source) {
  GA_TRY(ga__strbuf_status(&source->body));
  if (source->body.text == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the kernel has no source", source->name);
  return GA_NO_ERROR;
}

int ga__kernel_get(gpukernel **out, gpucontext *ctx, const ga_source *source) {
  GA_TRY(ga__context_check(ctx));
  GA_TRY(check_source(source));
  const bool waits =
      !ctx->backend->compiles_at_once || ga__recording_current(ctx) == NULL;
  gpukernel *found = find_kernel(ctx, source);
  if (found &&
      (!waits || atomic_load_explicit(&found->is_open, memory_order_acquire))) {
    ga__program_count(ctx, GA_FROM_MEMORY, 1);
    *out = found;
    return GA_NO_ERROR;
  }
  pthread_mutex_lock(&ctx->slow_lock);
  int status = get_slowly(&found, ctx, source, waits);
  pthread_mutex_unlock(&ctx->slow_lock);
  if (status == GA_NO_ERROR)
    *out = found;
  return status;
}

gpukernel *ga__kernel_known(gpucontext *ctx, const ga_source *source) {
  return check_source(source) == GA_NO_ERROR ? find_kernel(ctx, source) : NULL;
}

const char *ga__kernel_body(const gpukernel *k) {
  if (!k->of_context)
    return NULL;
  return ((const entry *)(const void *)((const char *)k - offsetof(entry, kernel)))
      ->body;
}

int ga__kernel_adopt(gpukernel **out, gpucontext *ctx, ga_program *program,
                     const char *name, const char *shown, const char *body) {
  ga_source source = {0};
  gpukernel *k;
  snprintf(source.name, sizeof source.name, "%s", name);
  source.is_closed = ga__kernel_is_closed(body);
  ga__strbuf_add(&source.body, body);
  int status = ga__strbuf_status(&source.body);
  k = status == GA_NO_ERROR ? find_kernel(ctx, &source) : NULL;
  if (status == GA_NO_ERROR && k == NULL) {
    status = add_entry(&k, ctx, &source, program);
    const char *interned = status == GA_NO_ERROR ? ga__intern(shown) : NULL;
    if (interned)
      k->shown = interned;
  }
  ga__strbuf_clear(&source.body);
  if (status == GA_NO_ERROR) {
    gpukernel_retain(k);
    *out = k;
  }
  return status;
}

/* Adds a source to the batch unless memory, disk or the batch has it. */
static int add_missing(const ga_source **missing, unsigned int *n, gpucontext *ctx,
                       const ga_source *source) {
  gpukernel *kernel;
  GA_TRY(check_source(source));
  if (find_kernel(ctx, source))
    return GA_NO_ERROR;
  for (unsigned int i = 0; i < *n; i++)
    if (strcmp(missing[i]->name, source->name) == 0 &&
        strcmp(missing[i]->body.text, source->body.text) == 0)
      return GA_NO_ERROR;
  GA_TRY(ga__dump_source(source->body.text));
  ga_key k = {0};
  int status = ga__key_of(&k, ctx, source->body.text);
  ga_program *p = NULL;
  if (status == GA_NO_ERROR)
    p = ga__program_stored(ctx, &k);
  if (p) {
    status = add_entry(&kernel, ctx, source, p);
    if (status == GA_NO_ERROR)
      ga__program_count(ctx, GA_FROM_DISK, 1);
  } else if (status == GA_NO_ERROR) {
    missing[(*n)++] = source;
  }
  ga__key_clear(&k);
  return status;
}

/* A program of a batch, with what its sources have in common. */
typedef struct group {
  ga_key key;
  const char *name; /* in messages */
  unsigned int manner;
  bool is_closed;
  ga_program *program;
  enum ga_origin origin;
} group;

typedef struct batch {
  unsigned int n;
  group *groups;
  unsigned int *group_of; /* index, per source */
} batch;

/* The program for a source: if closed, the shortest of up to `most` compatible ones,
 * else a new one. */
static group *group_for(batch *b, const gpucontext *ctx, const ga_source *source,
                        unsigned int most) {
  const unsigned int manner = ga__key_manner(ctx, source->body.text);
  group *shortest = NULL;
  unsigned int n_shared = 0;
  for (group *g = b->groups; source->is_closed && g < b->groups + b->n; g++) {
    if (!g->is_closed || g->manner != manner)
      continue;
    n_shared++;
    if (shortest == NULL || g->key.text.length < shortest->key.text.length)
      shortest = g;
  }
  if (n_shared >= most) {
    shortest->name = "a plan";
    return shortest;
  }
  group *added = &b->groups[b->n++];
  added->name = source->name;
  added->manner = manner;
  added->is_closed = source->is_closed;
  ga__key_begin(&added->key, ctx);
  return added;
}

/* Programs of a batch at most: NVRTC parses a program sequentially, so several run in
 * parallel. */
#define MOST_SHARED 4

static int share_out(batch *b, gpucontext *ctx, unsigned int n,
                     const ga_source *const *sources) {
  const unsigned int threads = ga__program_threads(ctx);
  const unsigned int most = threads < 1             ? 1
                            : threads > MOST_SHARED ? MOST_SHARED
                                                    : threads;
  for (unsigned int i = 0; i < n; i++) {
    group *g = group_for(b, ctx, sources[i], most);
    ga__key_add(&g->key, sources[i]->body.text);
    GA_TRY(ga__strbuf_status(&g->key.text));
    b->group_of[i] = (unsigned int)(g - b->groups);
  }
  return GA_NO_ERROR;
}

static int begin_batch(batch *b, gpucontext *ctx, unsigned int n,
                       const ga_source *const *sources) {
  gpukernel *kernel;
  GA_TRY(share_out(b, ctx, n, sources));
  for (group *g = b->groups; g < b->groups + b->n; g++)
    GA_TRY(ga__program_begin(&g->program, &g->origin, ctx, &g->key, g->name));
  for (unsigned int i = 0; i < n; i++) {
    const group *g = &b->groups[b->group_of[i]];
    GA_TRY(add_entry(&kernel, ctx, sources[i], g->program));
    ga__program_refer(ctx, sources[i]->body.text, &g->key);
    ga__program_count(ctx, g->origin, 1);
  }
  return GA_NO_ERROR;
}

/* Compiles sources in few programs, in parallel where the backend can. */
static int compile_batch(gpucontext *ctx, unsigned int n,
                         const ga_source *const *sources) {
  batch b = {.groups = ga__alloc(n, sizeof *b.groups),
             .group_of = ga__alloc(n, sizeof *b.group_of)};
  int status =
      b.groups && b.group_of ? begin_batch(&b, ctx, n, sources) : GA_MEMORY_ERROR;
  for (unsigned int i = 0; i < b.n; i++)
    ga__key_clear(&b.groups[i].key);
  ga__free(b.groups);
  ga__free(b.group_of);
  return status;
}

static int prepare_slowly(gpucontext *ctx, unsigned int n,
                          const ga_source *const *sources, const ga_source **missing) {
  unsigned int n_missing = 0;
  gpukernel *kernel;
  for (unsigned int i = 0; i < n; i++)
    GA_TRY(add_missing(missing, &n_missing, ctx, sources[i]));
  if (n_missing > 1 || (n_missing == 1 && ga__program_threads(ctx) > 0)) {
    int status = compile_batch(ctx, n_missing, missing);
    if (status != GA_COMPILE_ERROR)
      return status;
  }
  /* A single source; or one by one after a failed batch, to raise the culprit's error,
   * and to compile apart what cannot share a program. */
  for (unsigned int i = 0; i < n_missing; i++)
    GA_TRY(get_slowly(&kernel, ctx, missing[i], true));
  return GA_NO_ERROR;
}

int ga__kernel_prepare(gpucontext *ctx, unsigned int n, const ga_source *const *sources,
                       bool waits) {
  gpukernel *kernel;
  GA_TRY(ga__context_check(ctx));
  const ga_source **missing = ga__alloc(n, sizeof(const ga_source *));
  GA_TRY_MEMORY(missing);
  pthread_mutex_lock(&ctx->slow_lock);
  int status = prepare_slowly(ctx, n, sources, missing);
  for (unsigned int i = 0; i < n && waits && status == GA_NO_ERROR; i++)
    status = get_slowly(&kernel, ctx, sources[i], true);
  pthread_mutex_unlock(&ctx->slow_lock);
  ga__free((void *)missing);
  return status;
}
