/* The mock's NCCL: ranks are threads of one process.
 *
 * A collective is a meeting of all ranks' streams. It takes place when the first of
 * them is waited for, which then waits until the others have queued theirs and runs
 * what is queued before. */
#include "mock_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 8, INVALID_ARGUMENT = 4, REMOTE_ERROR = 6 };

typedef enum kind {
  REDUCE,
  ALL_REDUCE,
  REDUCE_SCATTER,
  BROADCAST,
  ALL_GATHER,
  EXCHANGE /* the messages of a group, which every rank begins */
} kind;

/* What a rank sends to each, and receives. */
typedef struct messages {
  const void *sent[MAX_RANKS];
  void *received[MAX_RANKS];
} messages;

/* What the ranks have queued so far of one collective. */
typedef struct mock_meeting {
  struct mock_meeting *next;
  kind kind;
  int ranks, joined, type, op, root;
  size_t count;
  bool is_over;
  const bool *is_aborted; /* the clique's */
  messages messages[MAX_RANKS];
  const void *from[MAX_RANKS];
  void *to[MAX_RANKS];
  CUstream streams[MAX_RANKS];
  size_t places[MAX_RANKS]; /* of the command in its stream */
} meeting;

typedef struct clique {
  struct clique *next;
  ncclUniqueId id;
  int ranks, joined, left;
  bool is_aborted; /* then it stays, for queues that have its meetings */
  meeting *meetings, **last;
} clique;

struct ga_nccl_comm_ {
  clique *clique;
  int rank;
  meeting **at; /* where this rank's next one is */
};

static clique *cliques;
static unsigned int ids;

const char *ncclGetErrorString(ncclResult result) {
  return result == INVALID_ARGUMENT ? "invalid argument" : "a mock's error";
}

const char *ncclGetLastError(ncclComm comm) {
  return comm ? "the other rank hung up" : "";
}

ncclResult ncclGetUniqueId(ncclUniqueId *id) {
  ncclResult result = mock_begin_anywhere();
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "clique %u", ++ids);
  return mock_end(result);
}

/* ---- ranks ---- */

static clique *find_clique(const ncclUniqueId *id, int ranks) {
  for (clique *c = cliques; c; c = c->next)
    if (memcmp(&c->id, id, sizeof *id) == 0)
      return c;
  clique *made = calloc(1, sizeof *made);
  *made = (clique){.next = cliques, .id = *id, .ranks = ranks};
  made->last = &made->meetings;
  return cliques = made;
}

ncclResult ncclCommInitRank(ncclComm *comm, int ranks, ncclUniqueId id, int rank) {
  ncclResult result = mock_begin();
  if (result == 0 && ranks > MAX_RANKS)
    result = INVALID_ARGUMENT;
  if (result != 0)
    return mock_end(result);
  clique *c = find_clique(&id, ranks);
  c->joined++;
  mock_notify();
  while (c->joined < c->ranks)
    mock_wait();
  *comm = calloc(1, sizeof **comm);
  **comm = (struct ga_nccl_comm_){.clique = c, .rank = rank, .at = &c->meetings};
  mock_state.comms++;
  return mock_end(0);
}

static void free_clique(clique *gone) {
  clique **at = &cliques;
  while (*at != gone)
    at = &(*at)->next;
  *at = gone->next;
  while (gone->meetings) {
    meeting *next = gone->meetings->next;
    free(gone->meetings);
    gone->meetings = next;
  }
  free(gone);
}

ncclResult ncclCommDestroy(ncclComm comm) {
  mock_lock();
  clique *c = comm->clique;
  if (++c->left == c->ranks && !c->is_aborted)
    free_clique(c);
  free(comm);
  mock_state.comms--;
  return mock_end(0);
}

ncclResult ncclCommAbort(ncclComm comm) {
  mock_lock();
  comm->clique->is_aborted = true;
  mock_notify();
  mock_end(0);
  return ncclCommDestroy(comm);
}

ncclResult ncclCommGetAsyncError(ncclComm comm, ncclResult *result) {
  mock_lock();
  *result = comm->clique->is_aborted ? REMOTE_ERROR : 0;
  return mock_end(0);
}

/* ---- elements ---- */

#define REDUCE_INTO(type)                                                              \
  do {                                                                                 \
    type *a = (type *)into + i;                                                        \
    type b = ((const type *)from)[i];                                                  \
    *a = (type)(op == 0 ? *a + b : op == 1 ? *a * b : (op == 2) == (b > *a) ? b : *a); \
  } while (0)

/* into[i] = op(into[i], from[i]); half and bfloat16 are moved only. */
static void reduce_into(void *into, const void *from, size_t count, int type, int op) {
  for (size_t i = 0; i < count; i++)
    switch (type) {
    case 0:
      REDUCE_INTO(int8_t);
      break;
    case 1:
      REDUCE_INTO(uint8_t);
      break;
    case 2:
      REDUCE_INTO(int32_t);
      break;
    case 3:
      REDUCE_INTO(uint32_t);
      break;
    case 4:
      REDUCE_INTO(int64_t);
      break;
    case 5:
      REDUCE_INTO(uint64_t);
      break;
    case 7:
      REDUCE_INTO(float);
      break;
    default:
      REDUCE_INTO(double);
    }
}

static size_t size_of(int type) {
  static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return sizes[type];
}

static void gather(meeting *m, int rank) {
  size_t part = m->count * size_of(m->type);
  for (int r = 0; r < m->ranks; r++)
    memmove((char *)m->to[rank] + (size_t)r * part, m->from[r], part);
}

static void hold_exchange(meeting *m) {
  const size_t size = m->count * size_of(m->type);
  for (int r = 0; r < m->ranks; r++)
    for (int peer = 0; peer < m->ranks; peer++)
      if (m->messages[r].received[peer])
        memcpy(m->messages[r].received[peer], m->messages[peer].sent[r], size);
  m->is_over = true;
}

/* All that the ranks receive; sources are copied first, for they may be overwritten. */
static void hold(meeting *m) {
  size_t parts = m->kind == REDUCE_SCATTER ? (size_t)m->ranks : 1;
  size_t count = m->count * parts, size = count * size_of(m->type);
  char *all = malloc(size * (size_t)m->ranks + 1), *sum = malloc(size + 1);
  for (int r = 0; r < m->ranks; r++) {
    memcpy(all + (size_t)r * size, m->from[r], size);
    m->from[r] = all + (size_t)r * size;
  }
  if (m->kind <= REDUCE_SCATTER) {
    memcpy(sum, m->from[0], size);
    for (int r = 1; r < m->ranks; r++)
      reduce_into(sum, m->from[r], count, m->type, m->op);
  }
  for (int r = 0; r < m->ranks; r++) {
    if (m->kind == ALL_REDUCE || (m->kind == REDUCE && r == m->root))
      memcpy(m->to[r], sum, size);
    else if (m->kind == REDUCE_SCATTER)
      memcpy(m->to[r], sum + (size_t)r * (size / parts), size / parts);
    else if (m->kind == BROADCAST)
      memcpy(m->to[r], m->from[m->root], size);
    else if (m->kind == ALL_GATHER)
      gather(m, r);
  }
  free(all);
  free(sum);
  m->is_over = true;
}

/* ---- meetings ---- */

static void run_meeting(command *self, CUstream stream) {
  meeting *m = self->meeting;
  while (m->joined < m->ranks && !*m->is_aborted)
    mock_wait();
  if (m->joined < m->ranks)
    return;
  for (int r = 0; r < m->ranks && !m->is_over; r++)
    if (m->streams[r] != stream)
      mock_run_until(m->streams[r], m->places[r]);
  if (!m->is_over && m->kind == EXCHANGE)
    hold_exchange(m);
  if (!m->is_over)
    hold(m);
}

/* Queues this rank's part of its next collective. */
static ncclResult meet(ncclComm comm, CUstream stream, const void *from, void *to,
                       const meeting *what) {
  ncclResult result = mock_begin();
  clique *c = comm->clique;
  if (result == 0 && (what->kind <= REDUCE_SCATTER) &&
      (what->type == 6 || what->type == 9))
    result = INVALID_ARGUMENT;
  if (result != 0)
    return mock_end(result);
  meeting *m = *comm->at;
  if (m == NULL) {
    m = calloc(1, sizeof *m);
    *m = *what;
    m->ranks = c->ranks;
    m->is_aborted = &c->is_aborted;
    *c->last = m;
    c->last = &m->next;
  }
  comm->at = &m->next;
  m->messages[comm->rank] = what->messages[comm->rank];
  m->from[comm->rank] = from;
  m->to[comm->rank] = to;
  m->streams[comm->rank] = stream;
  m->places[comm->rank] = stream->commands.n;
  m->joined++;
  mock_append(&stream->commands, &(command){.run = run_meeting, .meeting = m});
  mock_notify();
  return mock_end(0);
}

ncclResult ncclReduce(const void *from, void *to, size_t count, int type, int op,
                      int root, ncclComm comm, CUstream stream) {
  return meet(
      comm, stream, from, to,
      &(meeting){.kind = REDUCE, .count = count, .type = type, .op = op, .root = root});
}

ncclResult ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                         ncclComm comm, CUstream stream) {
  return meet(comm, stream, from, to,
              &(meeting){.kind = ALL_REDUCE, .count = count, .type = type, .op = op});
}

ncclResult ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
                             ncclComm comm, CUstream stream) {
  return meet(
      comm, stream, from, to,
      &(meeting){.kind = REDUCE_SCATTER, .count = count, .type = type, .op = op});
}

ncclResult ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                         ncclComm comm, CUstream stream) {
  return meet(
      comm, stream, from, to,
      &(meeting){.kind = BROADCAST, .count = count, .type = type, .root = root});
}

ncclResult ncclAllGather(const void *from, void *to, size_t count, int type,
                         ncclComm comm, CUstream stream) {
  return meet(comm, stream, from, to,
              &(meeting){.kind = ALL_GATHER, .count = count, .type = type});
}

/* ---- messages ---- */

/* The group that this thread has begun. */
static _Thread_local struct {
  bool is_open;
  ncclComm comm;
  CUstream stream;
  meeting what;
} group;

ncclResult ncclGroupStart(void) {
  ncclResult result = mock_begin();
  group.is_open = result == 0;
  group.comm = NULL;
  group.what = (meeting){.kind = EXCHANGE};
  return mock_end(result);
}

static ncclResult add_message(const void *from, void *to, size_t count, int type,
                              int peer, ncclComm comm, CUstream stream) {
  ncclResult result = mock_begin();
  if (result == 0 && !group.is_open)
    result = INVALID_ARGUMENT;
  if (result != 0)
    return mock_end(result);
  group.comm = comm;
  group.stream = stream;
  group.what.count = count;
  group.what.type = type;
  messages *mine = &group.what.messages[comm->rank];
  if (from)
    mine->sent[peer] = from;
  else
    mine->received[peer] = to;
  return mock_end(0);
}

ncclResult ncclSend(const void *from, size_t count, int type, int rank, ncclComm comm,
                    CUstream stream) {
  return add_message(from, NULL, count, type, rank, comm, stream);
}

ncclResult ncclRecv(void *to, size_t count, int type, int rank, ncclComm comm,
                    CUstream stream) {
  return add_message(NULL, to, count, type, rank, comm, stream);
}

ncclResult ncclGroupEnd(void) {
  group.is_open = false;
  return group.comm ? meet(group.comm, group.stream, NULL, NULL, &group.what) : 0;
}
