/* Serialized kernels of a plan.
 *
 * The section: the common prefix of the device's cache keys; programs, each the rest of
 * its key and its binary; kernels, each the program's number, the name, the name shown,
 * and the source by which it is found (none for a user's kernel). */
#include <string.h>

#include "c/plan/stages_state.h"
#include "c/saving/plan_file.h"
#include "c/tape/tape_state.h"

gpukernel *ga__kernel_saved(gpukernel *k) {
  return k->original ? k->original : k;
}

static int add_kernel(ga_saved_kernels *kernels, gpukernel *given) {
  gpukernel *k = ga__kernel_saved(given);
  for (unsigned int i = 0; i < kernels->n; i++)
    if (kernels->list[i] == k)
      return GA_NO_ERROR;
  GA_TRY(GA_GROW(kernels->list, kernels->capacity, kernels->n));
  kernels->list[kernels->n++] = k;
  return GA_NO_ERROR;
}

/* Kernels that the plan's bindings launch. */
static int collect_bound(ga_saved_kernels *kernels, const GpuPlan *p) {
  for (const ga_bound *b = p->bindings.latest; b != NULL; b = b->next)
    for (size_t i = 0; i < b->tape->n_commands; i++)
      if (b->tape->commands[i].kind == LAUNCH)
        GA_TRY(add_kernel(kernels, b->tape->commands[i].kernel));
  return GA_NO_ERROR;
}

int ga__kernels_collect(ga_saved_kernels *kernels, const GpuPlan *p,
                        unsigned int place) {
  ga_source *sources;
  unsigned int n;
  GA_TRY(ga__plan_sources(&sources, &n, p, place));
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < n; i++) {
    gpukernel *k = ga__kernel_known(ga__plan_context(p, place), &sources[i]);
    if (k)
      status = add_kernel(kernels, k);
  }
  ga__plan_free_sources(sources, n);
  if (place == 0)
    GA_THEN(status, collect_bound(kernels, p));
  unsigned int i = 0;
  for (const GpuPlan *stage; status == GA_NO_ERROR && (stage = ga__stages_next(p, &i));)
    if (p->stages->list[i - 1].place == place)
      status = collect_bound(kernels, stage);
  i = 0;
  for (const GpuPlan *body; status == GA_NO_ERROR && (body = ga__loops_next(p, &i));) {
    const unsigned int there = ga__plan_find_place(body, ga__plan_context(p, place));
    if (there < ga__plan_places(body))
      status = ga__kernels_collect(kernels, body, there);
  }
  return status;
}

/* ---- writing ---- */

/* The index of the kernel's program among `n`, to which it is added if need be. */
static unsigned int program_place(const ga_program **programs, unsigned int *n,
                                  const gpukernel *k) {
  unsigned int place = 0;
  while (place < *n && programs[place] != k->program)
    place++;
  if (place == *n)
    programs[(*n)++] = k->program;
  return place;
}

static int put_program(ga_strbuf *out, gpucontext *ctx, const ga_program *p,
                       size_t head) {
  void *bytes;
  size_t size;
  GA_TRY(ctx->backend->binary(&bytes, &size, ctx->device, p->program));
  ga__put_bytes(out, p->key + head, p->key_size - head);
  ga__put_bytes(out, bytes, size);
  ga__free(bytes);
  return GA_NO_ERROR;
}

static int put_kernels(ga_strbuf *out, const ga_saved_kernels *kernels, gpucontext *ctx,
                       const ga_program **programs, size_t head) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < kernels->n; i++) {
    GA_TRY(ga__kernel_ready(kernels->list[i]));
    program_place(programs, &n, kernels->list[i]);
  }
  ga__put_int(out, n);
  for (unsigned int i = 0; i < n; i++)
    GA_TRY(put_program(out, ctx, programs[i], head));
  ga__put_int(out, kernels->n);
  for (unsigned int i = 0; i < kernels->n; i++) {
    const gpukernel *k = kernels->list[i];
    ga__put_int(out, program_place(programs, &n, k));
    ga__put_text(out, k->name);
    ga__put_text(out, k->shown);
    ga__put_text(out, ga__kernel_body(k));
  }
  return ga__strbuf_status(out);
}

int ga__kernels_put(ga_strbuf *out, const ga_saved_kernels *kernels, gpucontext *ctx) {
  ga_key head = {0};
  ga__key_begin(&head, ctx);
  const ga_program **programs = ga__alloc(kernels->n + 1, sizeof(ga_program *));
  int status = programs ? ga__strbuf_status(&head.text) : GA_MEMORY_ERROR;
  ga__put_bytes(out, head.text.text, head.text.length);
  GA_THEN(status, put_kernels(out, kernels, ctx, programs, head.text.length));
  ga__free((void *)programs);
  ga__key_clear(&head);
  return status;
}

/* ---- reading ---- */

/* The programs; one that the driver refuses is NULL. slow_lock is held. */
static int get_programs(ga_program ***out, unsigned int *n, gpucontext *ctx,
                        const ga_key *head, ga_reader *r) {
  unsigned int count = ga__get_uint(r, UINT32_MAX);
  ga_program **list =
      count > r->left ? NULL : ga__alloc(count + 1, sizeof(ga_program *));
  int status = list              ? GA_NO_ERROR
               : count > r->left ? ga__plan_malformed()
                                 : GA_MEMORY_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < count; i++) {
    ga_reader key = ga__get_bytes(r), bytes = ga__get_bytes(r);
    ga_strbuf text = {0};
    ga__strbuf_addn(&text, head->text.text, head->text.length);
    if (!r->failed)
      ga__strbuf_addn(&text, key.at, key.left);
    status = r->failed ? ga__plan_malformed() : ga__strbuf_status(&text);
    if (status == GA_NO_ERROR)
      list[i] = ga__program_adopt(ctx, text.text, text.length, bytes.at, bytes.left);
    ga__strbuf_clear(&text);
  }
  *out = list;
  *n = count;
  return status;
}

static int get_kernel(ga_saved_kernels *kernels, gpucontext *ctx,
                      ga_program *const *programs, unsigned int n, ga_reader *r) {
  ga_texts owned = {0};
  gpukernel *k = NULL;
  unsigned int place = ga__get_uint(r, UINT32_MAX);
  const char *name = ga__get_text(r, &owned), *shown = ga__get_text(r, &owned),
             *body = ga__get_text(r, &owned);
  int status = r->failed || place >= n || name == NULL || shown == NULL ||
                       strlen(name) >= GA_KERNEL_NAME
                   ? ga__plan_malformed()
                   : GA_NO_ERROR;
  if (status == GA_NO_ERROR && programs[place])
    status = body ? ga__kernel_adopt(&k, ctx, programs[place], name, shown, body)
                  : ga__user_kernel_adopt(&k, ctx, programs[place], name);
  ga__texts_clear(&owned);
  if (status == GA_NO_ERROR)
    kernels->list[kernels->n++] = k; /* NULL for a refused program */
  return status;
}

static int get_kernels(ga_saved_kernels *kernels, gpucontext *ctx, const ga_key *head,
                       ga_reader *r) {
  ga_program **programs = NULL;
  unsigned int n = 0;
  int status = get_programs(&programs, &n, ctx, head, r);
  unsigned int count = ga__get_uint(r, UINT32_MAX);
  if (status == GA_NO_ERROR && (r->failed || count > r->left))
    status = ga__plan_malformed();
  if (status == GA_NO_ERROR) {
    kernels->list = ga__alloc(count + 1, sizeof(gpukernel *));
    status = kernels->list ? GA_NO_ERROR : GA_MEMORY_ERROR;
  }
  for (unsigned int i = 0; status == GA_NO_ERROR && i < count; i++)
    status = get_kernel(kernels, ctx, programs, n, r);
  ga__free(programs);
  return status;
}

int ga__kernels_get(ga_saved_kernels *kernels, gpucontext *ctx, ga_reader *r) {
  ga_key head = {0};
  ga__key_begin(&head, ctx);
  int status = ga__strbuf_status(&head.text);
  ga_reader stored = ga__get_bytes(r);
  if (status == GA_NO_ERROR && stored.failed)
    status = ga__plan_malformed();
  if (status == GA_NO_ERROR && stored.left == head.text.length &&
      memcmp(stored.at, head.text.text, stored.left) == 0) {
    kernels->is_ours = true;
    pthread_mutex_lock(&ctx->slow_lock);
    status = get_kernels(kernels, ctx, &head, r);
    pthread_mutex_unlock(&ctx->slow_lock);
  }
  ga__key_clear(&head);
  if (status != GA_NO_ERROR)
    ga__kernels_clear(kernels);
  return status;
}

int ga__kernels_keep(GpuPlan *p, const ga_saved_kernels *kernels) {
  for (unsigned int i = 0; i < kernels->n; i++) {
    const gpukernel *k = kernels->list[i];
    const char *body = k ? ga__kernel_body(k) : NULL;
    if (body)
      GA_TRY(GpuPlan_needs_kernel(p, body, k->name));
  }
  return GA_NO_ERROR;
}

void ga__kernels_clear(ga_saved_kernels *kernels) {
  for (unsigned int i = 0; i < kernels->n; i++) {
    gpukernel *k = kernels->list[i];
    if (k)
      gpukernel_release(k);
  }
  ga__free(kernels->list);
  *kernels = (ga_saved_kernels){0};
}
