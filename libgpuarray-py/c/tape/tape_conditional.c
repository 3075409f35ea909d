/* Conditional commands.
 *
 * Each command has a path of branches. Where the path differs from the previous
 * command's, control marks (IF, ELSE, END) close and open branches. So a tape stays a
 * linear list, and lifetimes are intervals of it, whichever branches run. */
#include "c/tape/tape_state.h"

#include <string.h>

bool ga__tape_chooses(const gpucontext *ctx) {
  return ctx->backend->graph_chooses != NULL &&
         ctx->backend->graph_chooses(ctx->device);
}

/* ---- recording ---- */

static int add_mark(ga_tape *tape, enum command_kind kind, unsigned int asked) {
  command *c = NULL;
  GA_TRY(ga__tape_command(&c, tape, kind));
  c->u.choice.condition = asked;
  tape->n_commands++;
  tape->conditionals.n_marks++;
  return GA_NO_ERROR;
}

int ga__tape_condition(unsigned int *number, ga_tape *tape, gpudata *buffer,
                       size_t offset, size_t size) {
  GA_TRY(ga__tape_keep(tape, buffer));
  tape_conditionals *c = &tape->conditionals;
  GA_TRY(GA_GROW(c->list, c->capacity, c->n));
  *number = (unsigned int)tape->conditionals.n;
  GA_TRY(ga__tape_follow(tape));
  GA_TRY(add_mark(tape, FIND, *number));
  tape->conditionals.list[tape->conditionals.n++] =
      (condition){buffer, offset, size, false};
  return GA_NO_ERROR;
}

void ga__tape_under(ga_tape *tape, unsigned int n, const ga_choice *path) {
  tape->conditionals.under.n = n;
  for (unsigned int i = 0; i < n; i++)
    tape->conditionals.under.list[i] = path[i];
}

unsigned int ga__tape_path(ga_choice path[GA_CHOICES], const ga_tape *tape) {
  const choice_path *under = &tape->conditionals.under;
  for (unsigned int i = 0; i < under->n; i++)
    path[i] = under->list[i];
  return under->n;
}

/* Sets the jump target of the innermost open IF or ELSE to the next command. */
static void end_mark(ga_tape *tape) {
  command *c =
      &tape->commands[tape->conditionals.opened[tape->conditionals.open.n - 1]];
  c->u.choice.end = tape->n_commands;
}

static int end_choice(ga_tape *tape) {
  end_mark(tape);
  GA_TRY(
      add_mark(tape, END,
               tape->conditionals.open.list[tape->conditionals.open.n - 1].condition));
  tape->conditionals.open.n--;
  return GA_NO_ERROR;
}

static int go_to_else(ga_tape *tape) {
  ga_choice *last = &tape->conditionals.open.list[tape->conditionals.open.n - 1];
  end_mark(tape);
  tape->conditionals.opened[tape->conditionals.open.n - 1] = tape->n_commands;
  last->wanted = false;
  return add_mark(tape, ELSE, last->condition);
}

static int open_choice(ga_tape *tape, ga_choice choice) {
  tape->conditionals.opened[tape->conditionals.open.n] = tape->n_commands;
  GA_TRY(add_mark(tape, IF, choice.condition));
  tape->conditionals.open.list[tape->conditionals.open.n++] =
      (ga_choice){choice.condition, true};
  return choice.wanted ? GA_NO_ERROR : go_to_else(tape);
}

static bool are_same(ga_choice a, ga_choice b) {
  return a.condition == b.condition && a.wanted == b.wanted;
}

int ga__tape_follow(ga_tape *tape) {
  const choice_path *to = &tape->conditionals.under;
  choice_path *open = &tape->conditionals.open;
  unsigned int common = 0;
  while (common < open->n && common < to->n &&
         are_same(open->list[common], to->list[common]))
    common++;
  const bool turns = common < open->n && common < to->n && open->list[common].wanted &&
                     open->list[common].condition == to->list[common].condition;
  while (open->n > common + turns)
    GA_TRY(end_choice(tape));
  if (turns)
    GA_TRY(go_to_else(tape));
  while (open->n < to->n)
    GA_TRY(open_choice(tape, to->list[open->n]));
  return GA_NO_ERROR;
}

/* ---- memory ---- */

static bool is_under(const choice_path *p, ga_choice choice) {
  for (unsigned int i = 0; i < p->n; i++)
    if (are_same(p->list[i], choice))
      return true;
  return false;
}

bool ga__tape_is_under(const gpudata *stand_in, ga_choice choice) {
  const slot *s = (const slot *)stand_in;
  return !s->input && is_under(&s->under, choice);
}

/* True for mutually exclusive branches. */
static bool exclude(const choice_path *a, const choice_path *b) {
  for (unsigned int i = 0; i < a->n; i++)
    if (is_under(b, (ga_choice){a->list[i].condition, !a->list[i].wanted}))
      return true;
  return false;
}

/* True if all uses of the two slots are in mutually exclusive branches. */
static bool exclude_all(const ga_tape *tape, unsigned int one, unsigned int other) {
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *a = tape->slots[i];
    if (a->number != one)
      continue;
    for (unsigned int k = 0; k < tape->n_slots; k++) {
      const slot *b = tape->slots[k];
      if (b->number == other && !exclude(&a->under, &b->under))
        return false;
    }
  }
  return true;
}

bool ga__tape_unite(ga_tape *tape, gpudata *a, gpudata *b) {
  const unsigned int one = ga__tape_slot(a), other = ga__tape_slot(b);
  if (!exclude_all(tape, one, other))
    return false;
  for (unsigned int i = 0; i < tape->n_slots; i++)
    if (tape->slots[i]->number == other)
      tape->slots[i]->number = one;
  return true;
}

bool ga__tape_widen(ga_tape *tape, gpudata *stand_in) {
  const unsigned int number = ga__tape_slot(stand_in);
  unsigned int n = 0;
  for (unsigned int i = 0; i < tape->n_slots; i++)
    n += tape->slots[i]->number == number;
  if (n != 1)
    return false;
  choice_path *under = &tape->slots[number]->under;
  const choice_path before = *under;
  under->n = 0;
  for (unsigned int i = 0; i < before.n; i++)
    if (is_under(&tape->conditionals.under, before.list[i]))
      under->list[under->n++] = before.list[i];
  return true;
}

/* A shared slot has the union of the lifetimes, and the largest size. */
static void join_lifetimes(ga_tape *tape) {
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *s = tape->slots[i];
    slot *whole = tape->slots[s->number];
    if (s->born < whole->born)
      whole->born = s->born;
    if (s->died > whole->died)
      whole->died = s->died;
    if (s->buffer.size > whole->buffer.size)
      whole->buffer.size = s->buffer.size;
  }
}

int ga__tape_end_choices(ga_tape *tape) {
  tape->conditionals.under.n = 0;
  GA_TRY(ga__tape_follow(tape));
  join_lifetimes(tape);
  return GA_NO_ERROR;
}
