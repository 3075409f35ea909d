/* Asynchronous errors of kernels (index out of bounds, failed factorization): an error
 * word on the device, checked at the next wait, and by kernels that must not write
 * while it is set. */
#include "c/device/device_errors.h"

#include <stdio.h>

#include "c/base/label.h"

#define N_SITES 1024 /* the last entry stands for all sites beyond */

typedef struct site {
  const char *operation, *label; /* interned; operation NULL: free */
} site;

enum { COUNT, SITE, INDEX, LENGTH = INDEX + 2, N_WORDS = LENGTH + 2 };

struct ga_reports {
  gpudata word;
  gpudata count; /* alias of the word's first element, for kernels that read it */
  gpudata user;  /* GA_CTX_PROP_ERRBUF; memory NULL until requested */
  pthread_mutex_t lock; /* of sites and of reading the word */
  /* Readers: launches that may report. Writer: whoever clears the word. */
  pthread_rwlock_t launching;
  site sites[N_SITES];
};

/* ---- the error word ---- */

#define USER_SIZE 32 /* bytes */

/* Buffer on memory that lives as long as the context; holds no reference to it. */
static void put_buffer(gpudata *out, gpucontext *ctx, void *memory, size_t size,
                       int flags) {
  atomic_init(&out->references, 1);
  out->memory = memory;
  out->context = ctx;
  out->size = size;
  out->flags = flags;
}

/* The same on newly allocated, zeroed memory. */
static int open_buffer(gpudata *out, gpucontext *ctx, size_t size, int flags) {
  void *memory;
  GA_TRY(ctx->backend->alloc(&memory, ctx->device, size));
  int status = ctx->backend->fill(ctx->device, memory, 0, 0, size);
  if (status == GA_NO_ERROR) /* visible to kernels on any queue */
    status = ctx->backend->wait(ctx->device);
  if (status != GA_NO_ERROR) {
    ctx->backend->free(ctx->device, memory);
    return status;
  }
  put_buffer(out, ctx, memory, size, flags);
  return GA_NO_ERROR;
}

static int open_reports(gpucontext *ctx) {
  ga_reports *r = ga__alloc(1, sizeof *r);
  GA_TRY_MEMORY(r);
  int status = open_buffer(&r->word, ctx, N_WORDS * sizeof(uint32_t), GA_BUFFER_WORD);
  if (status != GA_NO_ERROR) {
    ga__free(r);
    return status;
  }
  put_buffer(&r->count, ctx, r->word.memory, sizeof(uint32_t), GA_BUFFER_COUNT);
  pthread_mutex_init(&r->lock, NULL);
  pthread_rwlock_init(&r->launching, NULL);
  atomic_store(&ctx->errors.reports, r);
  return GA_NO_ERROR;
}

static int get_reports(ga_reports **out, gpucontext *ctx) {
  int status = GA_NO_ERROR;
  *out = atomic_load(&ctx->errors.reports);
  if (*out)
    return GA_NO_ERROR;
  pthread_mutex_lock(&ctx->slow_lock);
  if (atomic_load(&ctx->errors.reports) == NULL)
    status = open_reports(ctx);
  pthread_mutex_unlock(&ctx->slow_lock);
  *out = atomic_load(&ctx->errors.reports);
  return ga__context_status(ctx, status);
}

void ga__reports_close(gpucontext *ctx) {
  ga_reports *r = atomic_load(&ctx->errors.reports);
  if (r == NULL)
    return;
  ctx->backend->free(ctx->device, r->word.memory);
  if (r->user.memory)
    ctx->backend->free(ctx->device, r->user.memory);
  pthread_mutex_destroy(&r->lock);
  pthread_rwlock_destroy(&r->launching);
  ga__free(r);
  atomic_store(&ctx->errors.reports, NULL);
}

int ga__report_user_buffer(gpudata **out, gpucontext *ctx) {
  ga_reports *r;
  int status = GA_NO_ERROR;
  GA_TRY(get_reports(&r, ctx));
  pthread_mutex_lock(&r->lock);
  if (r->user.memory == NULL)
    status = open_buffer(&r->user, ctx, USER_SIZE, 0);
  pthread_mutex_unlock(&r->lock);
  GA_TRY(ga__context_status(ctx, status));
  *out = &r->user;
  return GA_NO_ERROR;
}

int ga__report_count(gpudata **count, gpucontext *ctx) {
  ga_reports *r;
  GA_TRY(get_reports(&r, ctx));
  *count = &r->count;
  return GA_NO_ERROR;
}

/* ---- sites: (operation, label) pairs, numbered for kernels ---- */

/* Number of a site: its index in an open-addressing hash table. */
static unsigned int number_site(ga_reports *r, const char *operation,
                                const char *label) {
  unsigned int at =
      (unsigned int)(((uintptr_t)operation >> 4) * 31 + ((uintptr_t)label >> 4)) %
      (N_SITES - 1);
  unsigned int slot = N_SITES - 1;
  pthread_mutex_lock(&r->lock);
  for (unsigned int i = 0; i < N_SITES - 1; i++) {
    site *s = &r->sites[(at + i) % (N_SITES - 1)];
    if (s->operation == NULL)
      *s = (site){operation, label};
    if (s->operation != operation || s->label != label)
      continue;
    slot = (at + i) % (N_SITES - 1);
    break;
  }
  pthread_mutex_unlock(&r->lock);
  return slot;
}

int ga__report_site(gpudata **word, unsigned int *number, gpucontext *ctx,
                    const char *operation, const char *label) {
  ga_reports *r;
  GA_TRY(get_reports(&r, ctx));
  const char *name = ga__intern(operation), *place = ga__intern(label);
  GA_TRY_MEMORY(name && place);
  *word = &r->word;
  *number = number_site(r, name, place);
  return GA_NO_ERROR;
}

void ga__report_names(const char **operation, const char **label, gpucontext *ctx,
                      unsigned int number) {
  ga_reports *r = atomic_load(&ctx->errors.reports);
  pthread_mutex_lock(&r->lock);
  const site *s = &r->sites[number < N_SITES ? number : N_SITES - 1];
  *operation = s->operation ? s->operation : "an operation";
  *label = s->label ? s->label : "";
  pthread_mutex_unlock(&r->lock);
}

int ga__args_report(ga_args *args, gpucontext *ctx, const char *operation) {
  gpudata *word;
  unsigned int number;
  GA_TRY(ga__report_site(&word, &number, ctx, operation, ga__label()));
  ga__args_pointer(args, word, 0, false);
  ga__args_u32(args, number);
  return GA_NO_ERROR;
}

int gpukernel_report_site(gpudata **word, unsigned int *number, gpucontext *ctx,
                          const char *operation) {
  GA_TRY(ga__context_check(ctx));
  if (operation == NULL)
    return ga__fail_null(__func__, "name of the operation");
  if (word == NULL || number == NULL)
    return ga__fail_null(__func__, "pointer for the result");
  return ga__report_site(word, number, ctx, operation, ga__label());
}

/* ---- checks ---- */

static int64_t join(const uint32_t *halves) {
  return (int64_t)((uint64_t)halves[1] << 32 | halves[0]);
}

/* A failed factorization of a matrix in a stack. */
static int fail_matrix(const site *s, const uint32_t *word) {
  char more[64] = "";
  if (word[COUNT] > 1)
    snprintf(more, sizeof more, ", one of %u", word[COUNT]);
  return GA_FAIL(GA_LINALG_ERROR, "%s (matrix %lld of the stack%s)%s%s",
                 s->operation ? s->operation : "a factorization failed",
                 (long long)join(word + INDEX), more, s->label && *s->label ? ": " : "",
                 s->label ? s->label : "");
}

static int fail_report(const ga_reports *r, const uint32_t *word) {
  const site *s = &r->sites[word[SITE] < N_SITES ? word[SITE] : N_SITES - 1];
  char more[64] = "";
  if (join(word + LENGTH) < 0)
    return fail_matrix(s, word);
  if (word[COUNT] > 1)
    snprintf(more, sizeof more, ", the first of %u that were", word[COUNT]);
  return GA_FAIL(GA_INDEX_ERROR,
                 "%s: index %lld is out of bounds for an axis of length %lld%s%s%s%s",
                 s->operation ? s->operation : "an operation",
                 (long long)join(word + INDEX), (long long)join(word + LENGTH), more,
                 s->label && *s->label ? " (" : "", s->label ? s->label : "",
                 s->label && *s->label ? ")" : "");
}

void ga__report_enter(gpucontext *ctx) {
  pthread_rwlock_rdlock(&atomic_load(&ctx->errors.reports)->launching);
}

void ga__report_leave(gpucontext *ctx) {
  pthread_rwlock_unlock(&atomic_load(&ctx->errors.reports)->launching);
}

static int read_word(uint32_t *word, const ga_reports *r, const gpuqueue *q) {
  return q->context->backend->read(q->device, word, r->word.memory, 0,
                                   N_WORDS * sizeof *word);
}

/* Reads and clears the word after the work of all queues; launches that may report are
 * held off. */
static int take_word(uint32_t *word, const ga_reports *r, gpuqueue *q) {
  const ga_backend *backend = q->context->backend;
  GA_TRY(ga__queue_follow_all(q));
  GA_TRY(read_word(word, r, q));
  GA_TRY(backend->fill(q->device, r->word.memory, 0, 0, N_WORDS * sizeof *word));
  return backend->wait(q->device);
}

/* Checks the word after the queue's work. */
static int look(ga_reports *r, gpuqueue *q) {
  uint32_t word[N_WORDS];
  GA_TRY(read_word(word, r, q));
  if (word[COUNT] == 0)
    return GA_NO_ERROR;
  pthread_rwlock_wrlock(&r->launching);
  int status = take_word(word, r, q);
  pthread_rwlock_unlock(&r->launching);
  GA_TRY(status);
  return fail_report(r, word);
}

int ga__report_check(gpuqueue *q) {
  if (!atomic_load_explicit(&q->reports, memory_order_relaxed) ||
      !atomic_exchange(&q->reports, false))
    return GA_NO_ERROR;
  ga_reports *r = atomic_load(&q->context->errors.reports);
  pthread_mutex_lock(&r->lock);
  int status = look(r, q);
  pthread_mutex_unlock(&r->lock);
  const bool is_report = status == GA_INDEX_ERROR || status == GA_LINALG_ERROR;
  if (status != GA_NO_ERROR && !is_report)
    atomic_store(&q->reports, true); /* not consumed: check again next time */
  return is_report ? status : ga__context_status(q->context, status);
}

int ga__report_check_all(gpucontext *ctx) {
  GA_TRY(ga__report_check(&ctx->queues.main));
  for (unsigned int i = 1; i < GPUARRAY_MAX_QUEUES; i++) {
    if (!atomic_load_explicit(&ctx->queues.are_many, memory_order_acquire))
      break;
    gpuqueue *q = ga__queue_take(ctx, i);
    if (q == NULL)
      continue;
    int status = ga__report_check(q);
    gpuqueue_release(q);
    GA_TRY(status);
  }
  return GA_NO_ERROR;
}
