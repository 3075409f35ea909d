/* Ring buffer of the latest launches, to name the suspects of an asynchronous
 * failure. */
#include "c/device/launches.h"

#include "c/device/context.h"

#define MOST_NAMED 4 /* suspects in a message */
/* Launches between progress marks: for a graph, which costs the host as much as a mark,
 * a few times its launches; but few enough that the ring covers them. */
#define LEAST_PER_MARK 32
#define TIMES_PER_MARK 8
#define MOST_PER_MARK (GA_RING / 2)

void ga__launches_add_all(ga_launches *ring, unsigned int n,
                          const ga_named_launch *launches, unsigned int queue) {
  const char *own = ga__label();
  const unsigned long before =
      atomic_fetch_add_explicit(&ring->count, n, memory_order_relaxed);
  for (unsigned int i = n > GA_RING ? n - GA_RING : 0; i < n; i++) {
    const unsigned long number = before + i + 1;
    const ga_named_launch *l = &launches[i];
    ga_launch_note *note = &ring->notes[number % GA_RING];
    atomic_store_explicit(&note->number, 0, memory_order_relaxed);
    atomic_store_explicit(&note->kernel, l->kernel, memory_order_release);
    atomic_store_explicit(&note->label, *l->label ? l->label : own,
                          memory_order_release);
    atomic_store_explicit(&note->queue, queue, memory_order_release);
    atomic_store_explicit(&note->number, number, memory_order_release);
  }
}

int ga__launches_mark(gpuqueue *q, unsigned int n) {
  gpucontext *ctx = q->context;
  if (ctx->backend->mark == NULL)
    return GA_NO_ERROR;
  const unsigned long wanted = (unsigned long)n * TIMES_PER_MARK;
  const unsigned long due = wanted < LEAST_PER_MARK  ? LEAST_PER_MARK
                            : wanted > MOST_PER_MARK ? MOST_PER_MARK
                                                     : wanted;
  const unsigned long now =
      atomic_load_explicit(&ctx->errors.launches.count, memory_order_relaxed);
  const unsigned long last = atomic_load_explicit(&q->marked, memory_order_relaxed);
  if (now - last < due || (uint32_t)now == 0)
    return GA_NO_ERROR;
  atomic_store_explicit(&q->marked, now, memory_order_relaxed);
  return ctx->backend->mark(q->device, (uint32_t)now);
}

/* Reads an entry of the ring; false if it is overwritten meanwhile or gone. */
static bool read_note(gpulaunch *out, const ga_launches *ring, unsigned long number) {
  const ga_launch_note *note = &ring->notes[number % GA_RING];
  if (atomic_load(&note->number) != number)
    return false;
  *out = (gpulaunch){.number = number,
                     .kernel = atomic_load(&note->kernel),
                     .label = atomic_load(&note->label),
                     .queue = atomic_load(&note->queue)};
  return atomic_load(&note->number) == number && out->kernel && out->label;
}

/* For each queue the number of the latest launch known to be done. */
static void read_progress(unsigned long *done, gpucontext *ctx) {
  pthread_mutex_lock(&ctx->queues.lock);
  for (unsigned int i = 0; i < GPUARRAY_MAX_QUEUES; i++) {
    const gpuqueue *q = ctx->queues.list[i];
    uint32_t marked;
    done[i] = q ? atomic_load(&q->waited) : (unsigned long)-1;
    if (q == NULL || ctx->backend->progress == NULL)
      continue;
    /* A mark is the low 32 bits of a launch's number. */
    ctx->backend->progress(&marked, q->device);
    unsigned long now = atomic_load(&ctx->errors.launches.count);
    unsigned long reached = now - (uint32_t)((uint32_t)now - marked);
    if (marked != 0 && reached <= now && reached > done[i])
      done[i] = reached;
  }
  pthread_mutex_unlock(&ctx->queues.lock);
}

int gpucontext_launches(gpucontext *ctx, unsigned int capacity, gpulaunch *list,
                        unsigned int *count) {
  if (ctx == NULL)
    return ga__fail_null(__func__, "context");
  if (count == NULL || (list == NULL && capacity > 0))
    return ga__fail_null(__func__, "pointer for the result");
  unsigned long done[GPUARRAY_MAX_QUEUES];
  unsigned long newest = atomic_load(&ctx->errors.launches.count);
  read_progress(done, ctx);
  *count = 0;
  for (unsigned long i = 0; i < GPUARRAY_LAUNCHES && i < newest && *count < capacity;
       i++) {
    gpulaunch *l = &list[*count];
    if (!read_note(l, &ctx->errors.launches, newest - i))
      continue;
    l->is_done = l->number <= done[l->queue];
    ++*count;
  }
  return GA_NO_ERROR;
}

/* Adds a launch that stands for `times` equal ones. */
static void add_launch(ga_strbuf *out, const gpulaunch *l, unsigned int times) {
  ga__strbuf_addf(out, "%s%s", out->length ? ", " : "", l->kernel);
  if (*l->label)
    ga__strbuf_addf(out, " (%s)", l->label);
  if (times > 1)
    ga__strbuf_addf(out, " %u times", times);
}

/* Lists launches not known to be done, newest first, equal neighbours as one; returns
 * their number. */
static unsigned int list_suspects(ga_strbuf *out, gpucontext *ctx) {
  unsigned long done[GPUARRAY_MAX_QUEUES];
  unsigned long newest = atomic_load(&ctx->errors.launches.count);
  gpulaunch named = {0}, l;
  unsigned int n = 0, n_named = 0, times = 0;
  read_progress(done, ctx);
  for (unsigned long i = 0; i < GA_RING && i < newest; i++) {
    if (!read_note(&l, &ctx->errors.launches, newest - i) || l.number <= done[l.queue])
      continue;
    n++;
    if (times > 0 && l.kernel == named.kernel && l.label == named.label) {
      times++;
      continue;
    }
    if (times > 0 && n_named++ < MOST_NAMED)
      add_launch(out, &named, times);
    named = l;
    times = 1;
  }
  if (times > 0 && n_named++ < MOST_NAMED)
    add_launch(out, &named, times);
  if (n_named > MOST_NAMED)
    ga__strbuf_add(out, " and others");
  return n;
}

int ga__launches_blame(gpucontext *ctx, int status) {
  ga_strbuf cause = {0}, suspects = {0};
  ga__strbuf_add(&cause, gpuarray_error_text());
  unsigned int n = list_suspects(&suspects, ctx);
  if (cause.failed || suspects.failed)
    n = 0;
  if (n == 1 && suspects.text)
    ga__fail(status, "%s; the only launch that can have caused it is %s", cause.text,
             suspects.text);
  else if (n > 1 && suspects.text)
    ga__fail(status,
             "%s; one of the %u pending launches caused it, "
             "newest first: %s; with GPUARRAY_LAUNCH_BLOCKING=1 in the environment "
             "each launch waits, and one is named",
             cause.text, n, suspects.text);
  ga__strbuf_clear(&cause);
  ga__strbuf_clear(&suspects);
  return status;
}
