/* The mock's cuDNN: descriptors with their attributes, and engines of several kinds. */
#include "mock_dnn.h"
#include "mock_queue.h"

#include <stdlib.h>
#include <string.h>

enum { BAD_PARAM = 2000, UNSUPPORTED = 3000 };
enum { ATTRIBUTES = 16, WORDS = 8 };
enum kind {
  CONVOLUTION = 1,
  ENGINE = 2,
  CONFIG = 3,
  HEURISTICS = 4,
  PLAN = 5,
  KNOB_CHOICE = 7,
  KNOB_INFO = 8,
  GRAPH = 15,
  PACK = 16,
  TENSOR = 17
};

typedef struct attribute {
  int name, type;
  int64_t count;
  union {
    int64_t words[WORDS];
    int ints[2 * WORDS];
    float narrow[2 * WORDS];
    double wide[WORDS];
    void *pointers[WORDS];
    cudnnDescriptor descriptors[WORDS];
    unsigned char bytes[WORDS * 8];
  } u;
} attribute;

struct ga_cudnn_descriptor_ {
  int kind;
  bool is_final;
  int n;
  attribute list[ATTRIBUTES];
};
struct ga_cudnn_handle_ {
  CUstream stream;
};

/* ---- engines ---- */

/* Numerical notes: 0 tensor cores, 1 inputs converted down, 3 Fourier's transform, 4
 * not deterministic, 6 and 8 Winograd's in tiles of 4 x 4 and 13 x 13. */
typedef struct engine {
  int note; /* -1: none */
  bool has_plan;
  int64_t work_size;
  int tiles;
  int time; /* ms; with tiles, more for each away from the last but one */
} engine;

static const engine engines[] = {
    {9, true, 0, 0, 9},                 /* of the last resort */
    {-1, true, 1000, 4, 3},             /* exact */
    {0, true, 0, 0, 1},                 /* fast, but rounds float32 */
    {4, true, 0, 0, 2},                 /* fast, but adds in any order */
    {-1, true, (int64_t)1 << 30, 0, 1}, /* fast, but needs too much */
    {-1, false, 0, 0, 1},               /* not for this device */
    {1, true, 0, 0, 1},                 /* not exact at all */
    {3, true, 0, 0, 1},                 /* fast, but mixes the whole image */
    {8, true, 0, 0, 1},                 /* fast, but mixes large tiles */
    {6, true, 0, 0, 4},                 /* mixes small tiles */
    {-1, true, 0, 0, 1},                /* LOSES_NAN: fast, but wrong */
};
enum { N_ENGINES = sizeof engines / sizeof *engines, LOSES_NAN = N_ENGINES - 1 };

/* Engines that the heuristics A and of the last resort give. */
static const int64_t ranked[] = {2, 6, 5, 4, 3}, last_resort[] = {0};

static int time_of(const engine *e, int64_t tile) {
  const int64_t away = e->tiles > 0 ? tile - (e->tiles - 2) : 0;
  return e->time + (int)(away < 0 ? -away : away);
}

/* ---- attributes ---- */

static attribute *find(cudnnDescriptor d, int name) {
  for (int i = 0; i < d->n; i++)
    if (d->list[i].name == name)
      return &d->list[i];
  return NULL;
}

static int64_t word_of(cudnnDescriptor d, int name) {
  const attribute *a = d ? find(d, name) : NULL;
  return a ? a->u.words[0] : -1;
}

static cudnnDescriptor part_of(cudnnDescriptor d, int name) {
  const attribute *a = d ? find(d, name) : NULL;
  return a ? a->u.descriptors[0] : NULL;
}

static size_t size_of(int type) {
  switch (type) {
  case 1: /* types, modes and notes */
  case 7:
  case 8:
  case 9:
  case 10:
  case 11:
  case 14:
  case 4: /* float */
    return 4;
  case 2: /* truth */
    return 1;
  default:
    return 8;
  }
}

static cudnnStatus store(cudnnDescriptor d, int name, int type, int64_t count,
                         const void *values) {
  attribute *a = find(d, name);
  if (count < 0 || count > WORDS || (a == NULL && d->n == ATTRIBUTES))
    return BAD_PARAM;
  if (a == NULL)
    a = &d->list[d->n++];
  *a = (attribute){.name = name, .type = type, .count = count};
  memcpy(a->u.bytes, values, (size_t)count * size_of(type));
  return 0;
}

size_t cudnnGetVersion(void) {
  return mock_state.dnn_version ? (size_t)mock_state.dnn_version : 91200;
}

size_t cudnnGetCudartVersion(void) {
  return 13000;
}

const char *cudnnGetErrorString(cudnnStatus status) {
  return status == UNSUPPORTED ? "MOCK_NOT_SUPPORTED" : "MOCK_ERROR";
}

void cudnnGetLastErrorString(char *text, size_t size) {
  strncpy(text, "it is a mock", size);
}

cudnnStatus cudnnCreate(cudnnHandle *handle) {
  return mock_make(mock_begin_unrecorded(), handle, sizeof **handle);
}

cudnnStatus cudnnDestroy(cudnnHandle handle) {
  return mock_discard(handle);
}

cudnnStatus cudnnSetStream(cudnnHandle handle, CUstream stream) {
  cudnnStatus result = mock_begin_anywhere();
  if (result == 0)
    handle->stream = stream;
  return mock_end(result);
}

cudnnStatus cudnnBackendCreateDescriptor(int kind, cudnnDescriptor *descriptor) {
  cudnnStatus result =
      mock_make(mock_begin_anywhere(), descriptor, sizeof **descriptor);
  if (result == 0)
    (*descriptor)->kind = kind;
  return result;
}

cudnnStatus cudnnBackendDestroyDescriptor(cudnnDescriptor descriptor) {
  return mock_discard(descriptor);
}

cudnnStatus cudnnBackendSetAttribute(cudnnDescriptor d, int name, int type,
                                     int64_t count, const void *values) {
  cudnnStatus result = mock_begin_anywhere();
  if (result == 0)
    result = d->is_final ? BAD_PARAM : store(d, name, type, count, values);
  return mock_end(result);
}

/* ---- what is asked of a descriptor ---- */

static int64_t tile_of(cudnnDescriptor config) {
  const cudnnDescriptor knob = part_of(config, 302);
  return knob ? word_of(knob, 601) : 0;
}

/* Copies what describes an engine, a configuration or a knob to one that was made. */
static void copy_to(cudnnDescriptor to, cudnnDescriptor from) {
  memcpy(to->list, from->list, sizeof from->list);
  to->n = from->n;
  to->is_final = true;
}

static int64_t give_configs(cudnnDescriptor heuristics, int64_t room,
                            cudnnDescriptor *values) {
  const bool is_a = word_of(heuristics, 200) == 3;
  const int64_t *numbers = is_a ? ranked : last_resort;
  const int64_t n = is_a ? 5 : 1;
  const cudnnDescriptor graph = part_of(heuristics, 201);
  for (int64_t i = 0; i < n && i < room; i++) {
    store(values[i], 1300, 15, 1, (const void *)&graph);
    store(values[i], 1301, 3, 1, &numbers[i]);
    values[i]->is_final = true;
  }
  return n;
}

static int64_t give_tiles(cudnnDescriptor of_engine, cudnnDescriptor *values) {
  const engine *e = &engines[word_of(of_engine, 1301)];
  const int64_t type = 2, least = 0, most = e->tiles - 1;
  if (e->tiles == 0)
    return 0;
  store(values[0], 1200, 9, 1, &type);
  store(values[0], 1201, 3, 1, &most);
  store(values[0], 1202, 3, 1, &least);
  return 1;
}

static int64_t give(cudnnDescriptor d, int name, int64_t room, void *values) {
  cudnnDescriptor *descriptors = values;
  if (d->kind == HEURISTICS && name == 202)
    return give_configs(d, room, descriptors);
  if (d->kind == CONFIG && name == 300) {
    copy_to(descriptors[0], d);
    return 1;
  }
  if (d->kind == CONFIG && name == 302)
    return 0;
  if (d->kind == ENGINE && name == 1302)
    return give_tiles(d, descriptors);
  if (d->kind == ENGINE && name == 1303) {
    const int note = engines[word_of(d, 1301)].note;
    *(int *)values = note;
    return note >= 0;
  }
  if (name == 802 || name == 402) {
    const cudnnDescriptor engine_of_plan = part_of(part_of(d, 401), 300);
    *(int64_t *)values =
        name == 802 ? N_ENGINES : engines[word_of(engine_of_plan, 1301)].work_size;
    return 1;
  }
  const attribute *a = find(d, name);
  if (a == NULL)
    return -1;
  memcpy(values, a->u.bytes, size_of(a->type));
  return 1;
}

cudnnStatus cudnnBackendGetAttribute(cudnnDescriptor d, int name, int type,
                                     int64_t room, int64_t *count, void *values) {
  (void)type;
  cudnnStatus result = mock_begin_anywhere();
  if (result == 0)
    *count = give(d, name, room, values);
  return mock_end(result == 0 && *count < 0 ? BAD_PARAM : result);
}

/* ---- checks of what is complete ---- */

static bool is_tensor(cudnnDescriptor d) {
  const attribute *shape = find(d, 902), *strides = find(d, 903);
  if (shape == NULL || strides == NULL || shape->count != strides->count ||
      find(d, 901) == NULL || find(d, 906) == NULL || word_of(d, 900) < 1)
    return false;
  for (int64_t i = 0; i < shape->count; i++)
    if (shape->u.words[i] < 1 || strides->u.words[i] < 1)
      return false;
  return true;
}

static cudnnStatus complete(cudnnDescriptor d) {
  switch (d->kind) {
  case TENSOR:
    return is_tensor(d) ? 0 : BAD_PARAM;
  case CONVOLUTION:
    return d->n == 7 ? 0 : BAD_PARAM;
  case FORWARD:
  case BY_FILTERS:
  case BY_IMAGE:
    return d->n == 6 ? 0 : BAD_PARAM;
  case GRAPH:
    return find(d, 800) && part_of(d, 801) ? 0 : BAD_PARAM;
  case HEURISTICS:
    return word_of(d, 200) == 1 ? UNSUPPORTED : 0;
  case ENGINE:
    return word_of(d, 1301) < N_ENGINES && part_of(d, 1300) ? 0 : UNSUPPORTED;
  case PLAN:
    mock_state.dnn_plans++;
    return engines[word_of(part_of(part_of(d, 401), 300), 1301)].has_plan ? 0
                                                                          : UNSUPPORTED;
  default:
    return 0;
  }
}

cudnnStatus cudnnBackendFinalize(cudnnDescriptor d) {
  cudnnStatus result = mock_begin_anywhere();
  if (result == 0)
    result = complete(d);
  d->is_final = result == 0;
  return mock_end(result);
}

/* ---- convolutions ---- */

/* All that were executed: a graph may run one again. */
static convolution **executed;
static size_t n_executed;

static tensor read_tensor(cudnnDescriptor d, void *address) {
  const attribute *shape = find(d, 902), *strides = find(d, 903);
  tensor t = {.type = find(d, 901)->u.ints[0], .address = address};
  for (int i = 0; i < MOST_AXES; i++) {
    const int missing = MOST_AXES - (int)shape->count;
    const int from = i < 2 ? i : i - missing;
    const bool is_there = i < 2 || from >= 2;
    t.shape[i] = is_there ? shape->u.words[from] : 1;
    t.strides[i] = is_there ? strides->u.words[from] : 0;
  }
  return t;
}

static void read_axes(int64_t out[3], cudnnDescriptor convolution_of, int name,
                      int64_t missing) {
  const attribute *a = find(convolution_of, name);
  for (int i = 0; i < 3; i++)
    out[i] = i >= 3 - a->count ? a->u.words[i - (3 - a->count)] : missing;
}

static void run_convolution(command *self, CUstream stream) {
  (void)stream;
  mock_convolve(self->from);
}

static void run_nothing(command *self, CUstream stream) {
  (void)self, (void)stream;
}

static convolution *read_convolution(cudnnDescriptor operation, cudnnDescriptor pack) {
  static const int names[3][4] = {
      {704, 703, 705, 702}, {716, 715, 717, 714}, {710, 709, 711, 708}};
  const int *name = names[operation->kind - FORWARD];
  void *const *addresses = find(pack, 1001)->u.pointers;
  const cudnnDescriptor d = part_of(operation, name[3]);
  convolution *c = calloc(1, sizeof *c);
  c->kind = operation->kind;
  c->is_flipped = find(d, 101)->u.ints[0] == 0;
  c->image = read_tensor(part_of(operation, name[0]), addresses[0]);
  c->filters = read_tensor(part_of(operation, name[1]), addresses[1]);
  c->result = read_tensor(part_of(operation, name[2]), addresses[2]);
  c->groups = c->image.shape[1] / c->filters.shape[1];
  read_axes(c->dilation, d, 102, 1);
  read_axes(c->stride, d, 103, 1);
  read_axes(c->before, d, 105, 0);
  return c;
}

/* The address that the pack gives a tensor. */
static void *address_of(cudnnDescriptor t, cudnnDescriptor pack) {
  const attribute *ids = find(pack, 1000);
  for (int64_t i = 0; i < ids->count; i++)
    if (ids->u.words[i] == word_of(t, 906))
      return find(pack, 1001)->u.pointers[i];
  return NULL;
}

static void read_rest(convolution *c, const attribute *operations,
                      cudnnDescriptor pack) {
  for (int64_t i = 1; i < operations->count; i++) {
    const cudnnDescriptor o = operations->u.descriptors[i], b = part_of(o, 752);
    c->applied[c->n_applied].is_relu = find(part_of(o, 750), 0)->u.ints[0] == 100;
    if (b)
      c->applied[c->n_applied].b = read_tensor(b, address_of(b, pack));
    c->n_applied++;
  }
}

cudnnStatus cudnnBackendExecute(cudnnHandle handle, cudnnDescriptor plan,
                                cudnnDescriptor pack) {
  const cudnnDescriptor config = part_of(plan, 401), chosen = part_of(config, 300);
  const cudnnDescriptor operation = part_of(part_of(chosen, 1300), 801);
  const engine *e = &engines[word_of(chosen, 1301)];
  void *workspace = find(pack, 1003)->u.pointers[0];
  mock_lock();
  convolution *c = read_convolution(operation, pack);
  read_rest(c, find(part_of(chosen, 1300), 801), pack);
  c->loses_nan = e == &engines[LOSES_NAN];
  executed = realloc(executed, (n_executed + 1) * sizeof(convolution *));
  executed[n_executed++] = c;
  mock_state.convolutions++;
  mock_state.dnn_engine = word_of(chosen, 1301);
  mock_state.dnn_tile = tile_of(config);
  mock_end(0);
  if (e->work_size > 0 && workspace == NULL)
    return BAD_PARAM;
  for (int i = 1; i < time_of(e, tile_of(config)); i++) {
    const CUresult result = mock_push(handle->stream, &(command){.run = run_nothing});
    if (result != 0)
      return result;
  }
  return mock_push(
      handle->stream,
      &(command){.run = run_convolution, .from = c, .workspace = workspace});
}
