/* Engines of cuDNN for a convolution: those whose numbers are exact enough.
 *
 * The heuristics rank engines by speed, whatever their numbers; of the exact ones for
 * float32 they may list none. So engines can be listed by number too, where those that
 * the device or the graph does not suit do not finalize. */
#include <string.h>

#include "cuda/library/dnn_graph.h"

/* Not mode B: cuDNN 9.19 ends the process in it, for small gradients by filters. */
enum { MODE_FALLBACK = 2, MODE_A = 3 };
enum {
  NOTE_TENSOR_CORE = 0,
  NOTE_DOWN_CONVERT_INPUTS = 1,
  NOTE_REDUCED_PRECISION_REDUCTION = 2,
  NOTE_FFT = 3,
  NOTE_NONDETERMINISTIC = 4,
  NOTE_WINOGRAD = 5,
  NOTE_WINOGRAD_4X4 = 6,
  NOTE_WINOGRAD_6X6 = 7,
  NOTE_WINOGRAD_13X13 = 8
};
enum { NOTES = 32, CONFIGS = GA_DNN_DESCRIPTORS, KNOB_TILE_SIZE = 2 };

/* Engines found so far. */
typedef struct engine_list {
  ga_dnn_engine *list;
  size_t n, room;
} engine_list;

/* Filters that Winograd's small tiles are for: longer ones take tiles of 13 x 13. */
static bool is_short(const ga_dnn_question *q) {
  for (int64_t i = 0; i < q->nd; i++)
    if (q->tensors[1].shape[2 + i] > 3)
      return false;
  return true;
}

/* A transform mixes the numbers of its tile. Small tiles cost a few roundings; those of
 * 13 x 13, which not all engines note that have them, cost float32 half of its digits,
 * and Fourier's tile is the whole image, of which one large number or nan is then in
 * every result. 16-bit types have no digits to spare at all. */
static bool is_allowed(int note, const ga_dnn_question *q) {
  switch (note) {
  case NOTE_TENSOR_CORE:
    return q->typecode != GA_FLOAT || q->is_tf32;
  case NOTE_DOWN_CONVERT_INPUTS:
  case NOTE_REDUCED_PRECISION_REDUCTION:
  case NOTE_FFT:
  case NOTE_WINOGRAD_13X13:
    return false;
  case NOTE_NONDETERMINISTIC:
    return !q->is_deterministic;
  case NOTE_WINOGRAD:
  case NOTE_WINOGRAD_4X4:
  case NOTE_WINOGRAD_6X6:
    return (q->typecode == GA_FLOAT || q->typecode == GA_DOUBLE) && is_short(q);
  default:
    return true;
  }
}

static bool is_exact(cudnnDescriptor engine, const ga_dnn_question *q) {
  int notes[NOTES];
  const size_t n = ga__dnn_get(engine, ENGINE_NOTES, TYPE_NUMERICAL_NOTE, NOTES, notes);
  for (size_t i = 0; i < n; i++)
    if (!is_allowed(notes[i], q))
      return false;
  return n < NOTES;
}

static void add_engine(engine_list *found, const ga_dnn_engine *engine) {
  for (size_t i = 0; i < found->n; i++)
    if (memcmp(&found->list[i], engine, sizeof *engine) == 0)
      return;
  if (found->n < found->room)
    found->list[found->n++] = *engine;
}

/* Makes `count` descriptors to be filled in by ga__dnn_get. */
static bool make_all(ga_dnn_descriptors *d, enum ga_dnn_kind kind, size_t count) {
  d->n = 0;
  while (d->n < count)
    if (ga__dnn_add(d, kind) != GA_NO_ERROR) {
      ga__dnn_destroy(d);
      return false;
    }
  return true;
}

/* ---- by the heuristics ---- */

/* Knobs of a configuration; false if it has more than an engine here. */
static bool read_knobs(ga_dnn_engine *out, cudnnDescriptor config) {
  ga_dnn_descriptors choices;
  cudnnDescriptor filled[GA_DNN_KNOBS];
  if (!make_all(&choices, DNN_KNOB_CHOICE, GA_DNN_KNOBS))
    return false;
  memcpy(filled, choices.list, sizeof filled);
  const size_t n =
      ga__dnn_get(config, CONFIG_KNOB_CHOICES, TYPE_DESCRIPTOR, GA_DNN_KNOBS, filled);
  bool are_read = n < GA_DNN_KNOBS;
  for (size_t i = 0; i < n && are_read; i++) {
    int type = 0;
    are_read =
        ga__dnn_get(filled[i], KNOB_CHOICE_TYPE, TYPE_KNOB, 1, &type) == 1 &&
        ga__dnn_get(filled[i], KNOB_CHOICE_VALUE, TYPE_INT64, 1, &out->knobs[i].value);
    out->knobs[i].type = type;
  }
  out->n_knobs = (int64_t)n;
  ga__dnn_destroy(&choices);
  return are_read;
}

static void add_config(engine_list *found, cudnnDescriptor config,
                       const ga_dnn_question *q) {
  ga_dnn_descriptors engine;
  ga_dnn_engine e;
  memset(&e, 0, sizeof e);
  if (!make_all(&engine, DNN_ENGINE, 1))
    return;
  cudnnDescriptor filled = engine.list[0];
  if (ga__dnn_get(config, CONFIG_ENGINE, TYPE_DESCRIPTOR, 1, (void *)&filled) == 1 &&
      is_exact(filled, q) &&
      ga__dnn_get(filled, ENGINE_NUMBER, TYPE_INT64, 1, &e.number) == 1 &&
      read_knobs(&e, config))
    add_engine(found, &e);
  ga__dnn_destroy(&engine);
}

/* Asks one heuristic; those that do not know the graph give nothing. */
static int ask(ga_dnn_descriptors *heuristic, const ga_dnn_descriptors *graph,
               int mode) {
  const cudnnDescriptor of_graph = ga__dnn_last(graph);
  GA_TRY(ga__dnn_set(heuristic, HEURISTICS_GRAPH, TYPE_DESCRIPTOR, 1, &of_graph));
  GA_TRY(ga__dnn_set_word(heuristic, HEURISTICS_MODE, TYPE_HEURISTIC_MODE, mode));
  return ga__dnn_finalize(heuristic);
}

static void add_ranked(engine_list *found, const ga_dnn_descriptors *graph, int mode,
                       const ga_dnn_question *q) {
  ga_dnn_descriptors heuristic, configs;
  cudnnDescriptor filled[CONFIGS];
  if (!make_all(&heuristic, DNN_HEURISTICS, 1))
    return;
  if (ask(&heuristic, graph, mode) == GA_NO_ERROR &&
      make_all(&configs, DNN_CONFIG, CONFIGS)) {
    memcpy(filled, configs.list, sizeof filled);
    const size_t n = ga__dnn_get(heuristic.list[0], HEURISTICS_RESULTS, TYPE_DESCRIPTOR,
                                 CONFIGS, (void *)filled);
    for (size_t i = 0; i < n; i++)
      add_config(found, filled[i], q);
    ga__dnn_destroy(&configs);
  }
  ga__dnn_destroy(&heuristic);
}

/* ---- by number ---- */

/* The engine with that number; false if it does not suit. */
static bool find_engine(ga_dnn_descriptors *engine, const ga_dnn_descriptors *graph,
                        int64_t number) {
  const cudnnDescriptor of_graph = ga__dnn_last(graph);
  if (!make_all(engine, DNN_ENGINE, 1))
    return false;
  if (ga__dnn_set(engine, ENGINE_GRAPH, TYPE_DESCRIPTOR, 1, &of_graph) == GA_NO_ERROR &&
      ga__dnn_set_int(engine, ENGINE_NUMBER, number) == GA_NO_ERROR &&
      ga__dnn_finalize(engine) == GA_NO_ERROR)
    return true;
  ga__dnn_destroy(engine);
  return false;
}

static void add_numbered(engine_list *found, const ga_dnn_descriptors *graph,
                         const ga_dnn_question *q) {
  ga_dnn_descriptors engine;
  int64_t count = 0;
  ga__dnn_get(ga__dnn_last(graph), GRAPH_ENGINE_COUNT, TYPE_INT64, 1, &count);
  for (int64_t number = 0; number < count; number++) {
    ga_dnn_engine e;
    if (!find_engine(&engine, graph, number))
      continue;
    memset(&e, 0, sizeof e);
    e.number = number;
    if (is_exact(engine.list[0], q))
      add_engine(found, &e);
    ga__dnn_destroy(&engine);
  }
}

size_t ga__dnn_engines(ga_dnn_engine *list, size_t room, size_t *n_ranked,
                       const ga_dnn_descriptors *graph, const ga_dnn_question *q,
                       bool all) {
  engine_list found = {.list = list, .room = room};
  add_ranked(&found, graph, MODE_A, q);
  *n_ranked = found.n;
  add_ranked(&found, graph, MODE_FALLBACK, q);
  if (all)
    add_numbered(&found, graph, q);
  return found.n;
}

/* ---- tile sizes ---- */

static bool read_tiles(int64_t *least, int64_t *most, cudnnDescriptor engine) {
  ga_dnn_descriptors infos;
  cudnnDescriptor filled[GA_DNN_KNOBS];
  bool is_found = false;
  if (!make_all(&infos, DNN_KNOB_INFO, GA_DNN_KNOBS))
    return false;
  memcpy(filled, infos.list, sizeof filled);
  const size_t n =
      ga__dnn_get(engine, ENGINE_KNOBS, TYPE_DESCRIPTOR, GA_DNN_KNOBS, filled);
  for (size_t i = 0; i < n && !is_found; i++) {
    int type = -1;
    is_found = ga__dnn_get(filled[i], KNOB_INFO_TYPE, TYPE_KNOB, 1, &type) == 1 &&
               type == KNOB_TILE_SIZE &&
               ga__dnn_get(filled[i], KNOB_INFO_LEAST, TYPE_INT64, 1, least) == 1 &&
               ga__dnn_get(filled[i], KNOB_INFO_MOST, TYPE_INT64, 1, most) == 1;
  }
  ga__dnn_destroy(&infos);
  return is_found;
}

bool ga__dnn_tiles(int64_t *least, int64_t *most, const ga_dnn_descriptors *graph,
                   int64_t number) {
  ga_dnn_descriptors engine;
  if (!find_engine(&engine, graph, number))
    return false;
  const bool is_found = read_tiles(least, most, engine.list[0]);
  ga__dnn_destroy(&engine);
  return is_found;
}

bool ga__dnn_set_tile(ga_dnn_engine *engine, int64_t tile) {
  int64_t i = 0;
  while (i < engine->n_knobs && engine->knobs[i].type != KNOB_TILE_SIZE)
    i++;
  if (i == GA_DNN_KNOBS)
    return false;
  engine->knobs[i] = (ga_dnn_knob){KNOB_TILE_SIZE, tile};
  if (i == engine->n_knobs)
    engine->n_knobs++;
  return true;
}
