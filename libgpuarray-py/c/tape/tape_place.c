/* Memory planning at the end of a recording: workspace blocks shared by lifetime. */
#include "c/tape/tape_dependencies.h"

/* Extra workspace, at most, for commands that need not wait for memory: these bytes, or
 * this part of the device's memory; nor more than what is needed anyway, which grows as
 * the user expects it to. */
#define SPARE_SIZE ((size_t)32 << 20)
#define SPARE_PART 256

/* With `before` a block is free for a slot only if sharing it makes no command wait for
 * long: if the command that first uses the slot runs after all that used the block, or
 * if `window` commands lie between. */
typedef struct placing {
  tape_memory *m;
  const ga_dependencies *before; /* or NULL */
  const size_t *first;           /* per slot: 1 + the command that first uses it */
  size_t window;
  size_t size, most; /* bytes of the blocks */
} placing;

static bool is_free(const placing *p, const block *b, const slot *s) {
  return b->free_at <= s->born &&
         (p->before == NULL || p->first[s->number] == 0 ||
          s->born - b->free_at >= p->window ||
          ga__depend_follows(p->before, p->first[s->number] - 1, b->slot));
}

/* Best fit among the blocks free when `s` is born: the smallest large enough, else the
 * largest, which grows; n_blocks if none is free. */
static unsigned int find_block(const placing *p, const slot *s) {
  const tape_memory *m = p->m;
  unsigned int best = m->n_blocks;
  for (unsigned int i = 0; i < m->n_blocks; i++) {
    const block *b = &m->blocks[i];
    if (!is_free(p, b, s))
      continue;
    if (best == m->n_blocks) {
      best = i;
      continue;
    }
    size_t have = m->blocks[best].size, want = s->buffer.size;
    bool better = have >= want ? b->size >= want && b->size < have : b->size > have;
    if (better)
      best = i;
  }
  return best;
}

/* Assigns a block for the slot's lifetime. */
static void assign_block(placing *p, slot *s) {
  tape_memory *m = p->m;
  s->block = find_block(p, s);
  block *b = &m->blocks[s->block];
  if (s->block == m->n_blocks)
    m->n_blocks++;
  if (b->size < s->buffer.size) {
    p->size += s->buffer.size - b->size;
    b->size = s->buffer.size;
  }
  b->free_at = s->died;
  b->slot = s->number;
}

static bool needs_block(const ga_tape *tape, unsigned int i) {
  const slot *s = tape->slots[i];
  return s->number == i && !s->input && !s->kept;
}

/* False if the blocks would be larger than p->most. */
static bool place(placing *p, const ga_tape *tape) {
  for (unsigned int i = 0; i < p->m->n_blocks; i++)
    p->m->blocks[i] = (block){0};
  p->m->n_blocks = 0;
  p->size = 0;
  for (unsigned int i = 0; i < tape->n_slots && p->size <= p->most; i++)
    if (needs_block(tape, i))
      assign_block(p, tape->slots[i]);
  p->m->workspace_size = p->size;
  return p->size <= p->most;
}

/* ---- order of the commands, by slots ---- */

/* True if the device may run commands side by side, and there may be such. */
static bool may_overlap(const ga_tape *tape) {
  return tape->head.context->backend->graph_lanes > 0 && tape->conditionals.n == 0 &&
         !tape->traits.defers && tape->n_commands > 2 &&
         tape->n_commands <= GA_DEPEND_LONGEST && tape->memory.n_blocks > 0;
}

static void add_command(ga_dependencies *o, size_t *first, ga_area_use *uses,
                        const ga_tape *tape, size_t j) {
  const command *c = &tape->commands[j];
  size_t n = 0;
  for (size_t i = 0; i < ga__command_buffers(c); i++) {
    bool writes = false;
    const gpudata *buffer = ga__command_buffer(&writes, c, i);
    if (buffer == NULL || buffer->tape != tape)
      continue;
    const unsigned int number = tape->slots[ga__tape_slot(buffer)]->number;
    uses[n++] = (ga_area_use){number, writes};
    if (first[number] == 0)
      first[number] = j + 1;
  }
  ga__depend_add(o, j, n, uses);
}

static size_t spare_size(const ga_tape *tape, size_t least) {
  const size_t used = least + tape->memory.kept_size;
  const size_t share = tape->head.context->info.total_memory / SPARE_PART;
  size_t spare = share > SPARE_SIZE ? share : SPARE_SIZE;
  if (used <= HELD_SIZE)
    spare = HELD_SIZE - used;
  return spare < least ? spare : least;
}

/* Places with the widest window, of powers of two, that the memory allows; else as
 * before. */
static void place_widest(placing *p, const ga_tape *tape) {
  const size_t least = p->size;
  size_t window = 1;
  while (window < tape->n_commands)
    window *= 2;
  p->most = least + spare_size(tape, least);
  for (p->window = window; p->window > 1; p->window /= 2)
    if (place(p, tape))
      return;
  p->before = NULL;
  p->most = SIZE_MAX;
  place(p, tape);
}

/* Places again with more memory, so that fewer commands wait for each other. */
static void place_apart(placing *p, const ga_tape *tape) {
  ga_dependencies before;
  size_t n_uses = 1;
  for (size_t j = 0; j < tape->n_commands; j++)
    n_uses += ga__command_buffers(&tape->commands[j]);
  size_t *first = ga__alloc((size_t)tape->n_slots + 1, sizeof *first);
  ga_area_use *uses = ga__alloc(n_uses, sizeof *uses);
  const bool is_open =
      ga__depend_open(&before, tape->n_commands, tape->n_slots, n_uses);
  if (is_open && first != NULL && uses != NULL) {
    for (size_t j = 0; j < tape->n_commands; j++)
      add_command(&before, first, uses, tape, j);
    p->before = &before;
    p->first = first;
    place_widest(p, tape);
  }
  ga__depend_clear(&before);
  ga__free(first);
  ga__free(uses);
}

/* ---- placing ---- */

static int make_lists(tape_memory *m, size_t n_slots) {
  m->blocks = ga__alloc(n_slots + 1, sizeof *m->blocks);
  m->workspace = ga__alloc(n_slots + 1, sizeof *m->workspace);
  m->kept = ga__alloc(n_slots + 1, sizeof *m->kept);
  m->moves = ga__alloc(n_slots + 1, sizeof *m->moves);
  return m->blocks && m->workspace && m->kept && m->moves ? GA_NO_ERROR
                                                          : GA_MEMORY_ERROR;
}

int ga__tape_place_slots(ga_tape *tape, const bool *kept) {
  tape_memory *m = &tape->memory;
  placing p = {.m = m, .most = SIZE_MAX};
  GA_TRY(make_lists(m, tape->n_slots));
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    slot *s = tape->slots[i];
    if (s->number != i)
      continue;
    s->kept = kept[i] && !s->input;
    if (s->input || s->kept)
      m->moves[m->n_moves++] = i;
    if (s->kept) {
      m->kept[m->n_kept++] = i;
      m->kept_size += s->buffer.size;
    }
  }
  place(&p, tape);
  if (may_overlap(tape))
    place_apart(&p, tape);
  ga__tape_hold(tape, false);
  return GA_NO_ERROR;
}
