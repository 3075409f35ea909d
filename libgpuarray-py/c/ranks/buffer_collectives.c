/* Collectives over buffers: what each call is; the backend does the work. */
#include "c/base/dtype.h"
#include "c/ranks/collective.h"

static const ga_collectives *of(const ga_collective *c) {
  return c->comm->context->backend->collectives;
}

static char *at(const ga_part *p) {
  return p->data ? (char *)ga__buffer_memory(p->data) + p->offset : NULL;
}

/* count * ranks; SIZE_MAX, larger than any buffer, on overflow. */
static size_t times_ranks(size_t count, const gpucomm *comm) {
  size_t all = count;
  if (comm && __builtin_mul_overflow(count, (size_t)comm->ranks, &all))
    return SIZE_MAX;
  return all;
}

static ga_part part(gpudata *data, size_t offset, size_t count) {
  return (ga_part){data, offset, count, 0};
}

/* ---- reductions, broadcast, gather to all ---- */

static int queue_reduce(const ga_collective *c, void *device, void *comm) {
  return of(c)->reduce(device, comm, at(&c->parts[0]), at(&c->parts[1]), c->count,
                       c->typecode, c->opcode, c->root);
}

static int queue_all_reduce(const ga_collective *c, void *device, void *comm) {
  return of(c)->all_reduce(device, comm, at(&c->parts[0]), at(&c->parts[1]), c->count,
                           c->typecode, c->opcode);
}

static int queue_reduce_scatter(const ga_collective *c, void *device, void *comm) {
  return of(c)->reduce_scatter(device, comm, at(&c->parts[0]), at(&c->parts[1]),
                               c->count, c->typecode, c->opcode);
}

static int queue_broadcast(const ga_collective *c, void *device, void *comm) {
  return of(c)->broadcast(device, comm, at(&c->parts[0]), c->count, c->typecode,
                          c->root);
}

static int queue_all_gather(const ga_collective *c, void *device, void *comm) {
  return of(c)->all_gather(device, comm, at(&c->parts[0]), at(&c->parts[1]), c->count,
                           c->typecode);
}

int gpucomm_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int opcode, int root, gpucomm *comm) {
  const bool receives = comm && comm->rank == root;
  return ga__collective_call(&(ga_collective){
      .operation = __func__,
      .comm = comm,
      .queue = queue_reduce,
      .parts = {part(src, offsrc, count), part(receives ? dest : NULL, offdest, count)},
      .count = count,
      .typecode = typecode,
      .opcode = opcode,
      .has_opcode = true,
      .root = root,
      .has_root = true,
      .receives = receives,
      .writes = {false, true}});
}

int gpucomm_all_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, int opcode, gpucomm *comm) {
  return ga__collective_call(
      &(ga_collective){.operation = __func__,
                       .comm = comm,
                       .queue = queue_all_reduce,
                       .parts = {part(src, offsrc, count), part(dest, offdest, count)},
                       .count = count,
                       .typecode = typecode,
                       .opcode = opcode,
                       .has_opcode = true,
                       .receives = true,
                       .writes = {false, true}});
}

int gpucomm_reduce_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                           size_t count, int typecode, int opcode, gpucomm *comm) {
  return ga__collective_call(
      &(ga_collective){.operation = __func__,
                       .comm = comm,
                       .queue = queue_reduce_scatter,
                       .parts = {part(src, offsrc, times_ranks(count, comm)),
                                 part(dest, offdest, count)},
                       .count = count,
                       .typecode = typecode,
                       .opcode = opcode,
                       .has_opcode = true,
                       .receives = true,
                       .writes = {false, true}});
}

int gpucomm_broadcast(gpudata *array, size_t offset, size_t count, int typecode,
                      int root, gpucomm *comm) {
  return ga__collective_call(&(ga_collective){.operation = __func__,
                                              .comm = comm,
                                              .queue = queue_broadcast,
                                              .parts = {part(array, offset, count)},
                                              .count = count,
                                              .typecode = typecode,
                                              .root = root,
                                              .has_root = true,
                                              .writes = {comm && comm->rank != root}});
}

int gpucomm_all_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm) {
  return ga__collective_call(
      &(ga_collective){.operation = __func__,
                       .comm = comm,
                       .queue = queue_all_gather,
                       .parts = {part(src, offsrc, count),
                                 part(dest, offdest, times_ranks(count, comm))},
                       .count = count,
                       .typecode = typecode,
                       .receives = true,
                       .writes = {false, true}});
}

/* ---- exchanges ---- */

/* The first operand is what is sent, or on ranks that only receive what is
 * received. */
static int queue_exchange(const ga_collective *c, void *device, void *comm) {
  ga_exchange x = c->exchange;
  const bool sends = x.last_target > x.first_target;
  if (sends)
    x.from = at(&c->parts[0]);
  if (x.last_source > x.first_source)
    x.to = at(&c->parts[sends ? 1 : 0]);
  return of(c)->exchange(device, comm, &x);
}

/* Messages of `count` elements. */
static int call_exchange(ga_collective c, size_t count, ga_exchange x) {
  c.queue = queue_exchange;
  c.exchange = x;
  c.exchange.count = count;
  c.exchange.typecode = c.typecode;
  return ga__collective_call(&c);
}

static ga_collective message(const char *operation, gpucomm *comm, ga_part array,
                             int typecode, int peer, bool receives) {
  return (ga_collective){.operation = operation,
                         .comm = comm,
                         .parts = {array},
                         .typecode = typecode,
                         .root = peer,
                         .has_root = true,
                         .writes = {receives}};
}

int gpucomm_send(gpudata *array, size_t offset, size_t count, int typecode, int peer,
                 gpucomm *comm) {
  return call_exchange(
      message(__func__, comm, part(array, offset, count), typecode, peer, false), count,
      (ga_exchange){.first_target = peer, .last_target = peer + 1});
}

int gpucomm_receive(gpudata *array, size_t offset, size_t count, int typecode, int peer,
                    gpucomm *comm) {
  return call_exchange(
      message(__func__, comm, part(array, offset, count), typecode, peer, true), count,
      (ga_exchange){.first_source = peer, .last_source = peer + 1});
}

int gpucomm_all_to_all(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm) {
  const size_t all = times_ranks(count, comm);
  const size_t step = count * gpuarray_get_elsize(typecode);
  const int ranks = comm ? comm->ranks : 0;
  return call_exchange(
      (ga_collective){.operation = __func__,
                      .comm = comm,
                      .parts = {part(src, offsrc, all), part(dest, offdest, all)},
                      .typecode = typecode,
                      .receives = true,
                      .is_apart = true,
                      .writes = {false, true}},
      count,
      (ga_exchange){.from_step = step,
                    .to_step = step,
                    .last_target = ranks,
                    .last_source = ranks});
}

int gpucomm_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int root, gpucomm *comm) {
  const bool receives = comm && comm->rank == root;
  return call_exchange((ga_collective){.operation = __func__,
                                       .comm = comm,
                                       .parts = {part(src, offsrc, count),
                                                 part(receives ? dest : NULL, offdest,
                                                      times_ranks(count, comm))},
                                       .typecode = typecode,
                                       .root = root,
                                       .has_root = true,
                                       .receives = receives,
                                       .writes = {false, true}},
                       count,
                       (ga_exchange){.to_step = count * gpuarray_get_elsize(typecode),
                                     .first_target = root,
                                     .last_target = root + 1,
                                     .last_source = receives ? comm->ranks : 0});
}

int gpucomm_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                    size_t count, int typecode, int root, gpucomm *comm) {
  const bool sends = comm && comm->rank == root;
  ga_collective c = {.operation = __func__,
                     .comm = comm,
                     .parts = {part(dest, offdest, count)},
                     .typecode = typecode,
                     .root = root,
                     .has_root = true,
                     .writes = {true}};
  if (sends) {
    c.parts[0] = part(src, offsrc, times_ranks(count, comm));
    c.parts[1] = part(dest, offdest, count);
    c.receives = true;
    c.writes[0] = false;
    c.writes[1] = true;
  }
  return call_exchange(c, count,
                       (ga_exchange){.from_step = count * gpuarray_get_elsize(typecode),
                                     .last_target = sends ? comm->ranks : 0,
                                     .first_source = root,
                                     .last_source = root + 1});
}
