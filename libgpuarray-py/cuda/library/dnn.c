/* Convolutions by cuDNN's graph interface.
 *
 * Each queue has a handle and an LRU cache of plans, as finalizing a plan takes far
 * longer than a small convolution; the choices that the plans are made from are kept by
 * the device, for all of its queues. A plan that a captured graph has run stays: before
 * cuDNN 9.28 its kernels go with it. */
#include "cuda/library/dnn.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/library/dnn_choice.h"
#include "cuda/library/dnn_tensor.h"

enum { NO_ENGINE = -1 };
enum { PLANS = 256 }; /* cached; those of graphs do not count */

typedef struct dnn_plan {
  ga_dnn_question asked;
  ga_dnn_descriptors graph, plan;
  ga_dnn_descriptors pack;           /* arguments of the latest execution, or empty */
  void *addresses[GA_DNN_ADDRESSES]; /* in `pack` */
  size_t work_size;
  int64_t cost;  /* of the choice */
  uint64_t used; /* time of last use */
  bool is_captured;
} dnn_plan;

/* A choice without a plan yet. */
typedef struct choice {
  ga_dnn_question asked;
  ga_dnn_engine engine;
} choice;

struct ga_cuda_dnn {
  cudnnHandle handle;
  bool is_unusable; /* no handle can be made on this device */
  CUstream stream;  /* of the handle */
  dnn_plan **plans;
  size_t n_plans, plan_capacity;
  uint64_t clock;
  choice *choices; /* of a device, for its queues too */
  size_t n_choices, choice_capacity;
};

/* ---- handle ---- */

/* The functions below are called with the lock held and the device current. */

static int need_state(struct ga_cuda_dnn **out, ga_cuda_device *d) {
  if (d->dnn == NULL)
    d->dnn = ga__alloc(1, sizeof *d->dnn);
  *out = d->dnn;
  return d->dnn ? GA_NO_ERROR : GA_MEMORY_ERROR;
}

static int need_handle(struct ga_cuda_dnn **out, ga_cuda_device *d) {
  GA_TRY(need_state(out, d));
  if ((*out)->handle)
    return GA_NO_ERROR;
  if (ga__cuda_stream(d) != d->stream)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "cudnnCreate: no handle is made while a graph is recorded");
  if ((*out)->is_unusable)
    return GA_FAIL(GA_LOAD_ERROR, "cuDNN does not start on this device");
  const cudnnStatus result = ga__cuda.cudnnCreate(&(*out)->handle);
  if (result == 0)
    return GA_NO_ERROR;
  (*out)->handle = NULL;
  const int status = ga__dnn_fail(result, "cudnnCreate");
  (*out)->is_unusable = status != GA_MEMORY_ERROR;
  return status;
}

static void drop_plan(dnn_plan *p) {
  ga__dnn_destroy(&p->pack);
  ga__dnn_destroy(&p->plan);
  ga__dnn_destroy(&p->graph);
  ga__free(p);
}

void ga__cuda_dnn_close(ga_cuda_device *d) {
  struct ga_cuda_dnn *s = d->dnn;
  if (s == NULL)
    return;
  for (size_t i = 0; i < s->n_plans; i++)
    drop_plan(s->plans[i]);
  if (s->handle)
    ga__cuda.cudnnDestroy(s->handle);
  ga__free((void *)s->plans);
  ga__free(s->choices);
  ga__free(s);
  d->dnn = NULL;
}

/* ---- choices ---- */

/* The device that a queue belongs to; its lock guards the choices. */
static ga_cuda_device *root_of(ga_cuda_device *d) {
  return d->owner ? d->owner : d;
}

/* The choice for the same question, or NULL. */
static const choice *look_up(const struct ga_cuda_dnn *s, const ga_dnn_question *q) {
  for (size_t i = 0; s != NULL && i < s->n_choices; i++)
    if (memcmp(&s->choices[i].asked, q, sizeof *q) == 0)
      return &s->choices[i];
  return NULL;
}

static bool find_choice(ga_dnn_engine *out, ga_cuda_device *d,
                        const ga_dnn_question *q) {
  ga_cuda_device *root = root_of(d);
  if (root != d)
    pthread_mutex_lock(&root->blas_lock);
  const choice *known = look_up(root->dnn, q);
  if (known)
    *out = known->engine;
  if (root != d)
    pthread_mutex_unlock(&root->blas_lock);
  return known != NULL;
}

static int add_choice(struct ga_cuda_dnn *s, ga_dnn_engine *engine,
                      const ga_dnn_question *q) {
  const choice *known = look_up(s, q);
  if (known) { /* another queue was faster */
    *engine = known->engine;
    return GA_NO_ERROR;
  }
  GA_TRY(GA_GROW(s->choices, s->choice_capacity, s->n_choices));
  s->choices[s->n_choices++] = (choice){*q, *engine};
  return GA_NO_ERROR;
}

/* Keeps a choice for all queues of the device; *engine becomes that of another queue
 * that chose before. */
static int keep_choice(ga_cuda_device *d, ga_dnn_engine *engine,
                       const ga_dnn_question *q) {
  ga_cuda_device *root = root_of(d);
  struct ga_cuda_dnn *s;
  if (root != d)
    pthread_mutex_lock(&root->blas_lock);
  int status = need_state(&s, root);
  GA_THEN(status, add_choice(s, engine, q));
  if (root != d)
    pthread_mutex_unlock(&root->blas_lock);
  return status;
}

/* A choice from memory, from disk, by timing, or by the heuristics alone. */
static int choose(ga_dnn_engine *engine, ga_cuda_device *d, const ga_dnn_chooser *c,
                  const char *folder) {
  if (find_choice(engine, d, c->question))
    return GA_NO_ERROR;
  if (!ga__dnn_recall(engine, c, folder)) {
    int status = ga__dnn_time(engine, c);
    if (status == GA_DEVSUP_ERROR && ga__dnn_has_epilogue(c->question)) {
      *engine = (ga_dnn_engine){.number = NO_ENGINE}; /* not asked for again */
      status = GA_NO_ERROR;
    }
    if (status == GA_NO_ERROR)
      ga__dnn_remember(engine, c, folder);
    else if (status == GA_MEMORY_ERROR)
      status = ga__dnn_guess(engine, c);
    GA_TRY(status);
  }
  return keep_choice(d, engine, c->question);
}

/* ---- plans ---- */

/* Room for one more plan: drops the least recently used one, once the stream is idle,
 * if there are many. */
static int make_room(struct ga_cuda_dnn *s, CUstream stream) {
  size_t oldest = s->n_plans, n = 0;
  for (size_t i = 0; i < s->n_plans; i++) {
    if (s->plans[i]->is_captured)
      continue;
    n++;
    if (oldest == s->n_plans || s->plans[i]->used < s->plans[oldest]->used)
      oldest = i;
  }
  if (n < PLANS)
    return ga__grow((void **)&s->plans, &s->plan_capacity, s->n_plans,
                    sizeof(dnn_plan *));
  CUDA_TRY(cuStreamSynchronize, stream);
  drop_plan(s->plans[oldest]);
  s->plans[oldest] = s->plans[--s->n_plans];
  return GA_NO_ERROR;
}

static dnn_plan *find_plan(const struct ga_cuda_dnn *s, const ga_dnn_question *q,
                           size_t most_work) {
  for (size_t i = 0; i < s->n_plans; i++)
    if (s->plans[i]->work_size <= most_work &&
        memcmp(&s->plans[i]->asked, q, sizeof *q) == 0)
      return s->plans[i];
  return NULL;
}

/* Makes a plan from the graph. `folder`: as of workspace; with `is_bound` the workspace
 * is taken already, so that no more than its size may be needed. */
static int make_plan(dnn_plan *p, ga_cuda_device *d, const ga_dnn_chooser *c,
                     const char *folder, bool is_bound) {
  ga_dnn_engine engine;
  if (!is_bound || find_choice(&engine, d, c->question)) {
    GA_TRY(choose(&engine, d, c, folder));
    if (engine.number == NO_ENGINE)
      return GA_FAIL(GA_DEVSUP_ERROR, "cuDNN has no engine for this epilogue");
    p->cost = engine.cost;
    int status = ga__dnn_plan(&p->plan, &p->work_size, c->handle, c->graph, &engine);
    if (status != GA_NO_ERROR || !is_bound || p->work_size <= c->most_work)
      return status;
    ga__dnn_destroy(&p->plan);
  }
  GA_TRY(ga__dnn_guess(&engine, c));
  return ga__dnn_plan(&p->plan, &p->work_size, c->handle, c->graph, &engine);
}

static int new_plan(dnn_plan **out, ga_cuda_device *d, const ga_dnn_question *q,
                    size_t most_work, const char *folder, bool is_bound) {
  struct ga_cuda_dnn *s = d->dnn;
  dnn_plan *p = ga__alloc(1, sizeof *p);
  GA_TRY_MEMORY(p);
  p->asked = *q;
  const ga_dnn_chooser c = {.device = d,
                            .handle = s->handle,
                            .graph = &p->graph,
                            .question = q,
                            .most_work = most_work};
  int status = ga__dnn_graph(&p->graph, s->handle, q);
  GA_THEN(status, make_plan(p, d, &c, folder, is_bound));
  GA_THEN(status, make_room(s, d->stream));
  if (status != GA_NO_ERROR) {
    drop_plan(p);
    return status;
  }
  s->plans[s->n_plans++] = p;
  *out = p;
  return GA_NO_ERROR;
}

static int get_plan(dnn_plan **out, ga_cuda_device *d, const ga_dnn_call *call,
                    size_t most_work, const char *folder, bool is_bound) {
  const ga_dnn_question q = ga__dnn_question_of(call);
  struct ga_cuda_dnn *s;
  GA_TRY(need_handle(&s, d));
  if (s->stream != ga__cuda_stream(d)) {
    DNN_TRY(cudnnSetStream, s->handle, ga__cuda_stream(d));
    s->stream = ga__cuda_stream(d);
  }
  *out = find_plan(s, &q, most_work);
  if (*out == NULL)
    GA_TRY(new_plan(out, d, &q, most_work, folder, is_bound));
  (*out)->used = ++s->clock;
  return GA_NO_ERROR;
}

/* ---- execution ---- */

static void *address_of(const ga_dnn_operand *o) {
  if (o->buffer == NULL)
    return NULL;
  return (char *)ga__buffer_memory(o->buffer) + o->offset;
}

static int execute(ga_cuda_device *d, const ga_dnn_call *call) {
  void *const addresses[GA_DNN_ADDRESSES] = {
      address_of(&call->image),    address_of(&call->filters),
      address_of(&call->result),   address_of(&call->bias),
      address_of(&call->residual), call->work ? ga__buffer_memory(call->work) : NULL};
  dnn_plan *p;
  GA_TRY(get_plan(&p, d, call, call->work_size, NULL, true));
  if (p->pack.n == 0 || memcmp(p->addresses, addresses, sizeof addresses) != 0) {
    ga__dnn_destroy(&p->pack);
    GA_TRY(ga__dnn_pack(&p->pack, &p->asked, addresses));
    memcpy(p->addresses, addresses, sizeof addresses);
  }
  p->is_captured |= ga__cuda_stream(d) != d->stream;
  DNN_TRY(cudnnBackendExecute, d->dnn->handle, ga__dnn_last(&p->plan),
          ga__dnn_last(&p->pack));
  return GA_NO_ERROR;
}

/* ---- backend table ---- */

static int dnn_open(void *device) {
  ga_cuda_device *d = device;
  struct ga_cuda_dnn *s;
  CUcontext previous;
  GA_TRY(ga__cuda_need_cudnn());
  GA_TRY(ga__cuda_enter(&previous, d));
  ga__cuda_lock_handles(d);
  int status = need_handle(&s, d);
  ga__cuda_unlock_handles(d);
  ga__cuda_leave(d, previous);
  /* A cuDNN that fails to initialize on the device counts as missing. */
  if (status == GA_IMPL_ERROR || status == GA_DEVSUP_ERROR)
    return GA_FAIL(GA_LOAD_ERROR, "%s", gpuarray_error_text());
  return status;
}

static int dnn_version(size_t *out) {
  GA_TRY(ga__cuda_need_cudnn());
  *out = ga__cuda.cudnnGetVersion();
  return GA_NO_ERROR;
}

/* Not in double: cuDNN 9.19 ends the process in some engine of 2 x 6 x 11 x 13 by 5
 * filters of 4 x 3 on an H200, and ours are at its speed. */
static bool dnn_serves(void *device, const ga_dnn_call *call) {
  const ga_cuda_device *d = device;
  if (call->typecode == GA_DOUBLE)
    return false;
  if (call->typecode == GA_BFLOAT16 && d->capability < 80)
    return false;
  return ga__dnn_fits(call);
}

static int dnn_workspace(size_t *out, int64_t *cost, void *device,
                         const ga_dnn_call *call, const char *folder) {
  ga_cuda_device *d = device;
  dnn_plan *p = NULL;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  ga__cuda_lock_handles(d);
  int status = get_plan(&p, d, call, ga__dnn_most_work(), folder, false);
  if (status == GA_NO_ERROR)
    *out = p->work_size;
  if (status == GA_NO_ERROR && cost != NULL)
    *cost = p->cost;
  ga__cuda_unlock_handles(d);
  ga__cuda_leave(d, previous);
  return status;
}

static int dnn_call(void *device, const ga_dnn_call *call) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  ga__cuda_lock_handles(d);
  int status = execute(d, call);
  ga__cuda_unlock_handles(d);
  ga__cuda_leave(d, previous);
  return status;
}

const ga_dnn ga__cuda_dnn = {.open = dnn_open,
                             .version = dnn_version,
                             .serves = dnn_serves,
                             .workspace = dnn_workspace,
                             .call = dnn_call};
