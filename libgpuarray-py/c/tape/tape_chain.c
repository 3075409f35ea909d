/* Chains: on a processor a launch of one group costs microseconds beside its work. So
 * consecutive ones become calls of one kernel, once the tape has queued so many that
 * compiling it pays. */
#include "c/tape/tape_chain.h"

#include <string.h>

#include "c/device/buffer.h"
#include "c/tape/chain_source.h"

#define LEAST 8       /* launches of a chain */
#define LEAST_AGAIN 3 /* of one that the tape has often: a loop's, between products */
#define OFTEN 16      /* times, and */
#define NEAR 2048     /* commands among which they are looked for */
#define PAYS 32768    /* launches queued one by one: as long as chains compile */
#define FEW_ELEMENTS 256 /* of an elementwise launch: a chain's item has no vectors */
#define SERIAL 4         /* elements that a vector computes in the time of one alone */
#define CALL_WORK 16     /* elements in the time of a call */

/* ---- runs of launches ---- */

static bool is_link(const command *c) {
  size_t groups = 1, items = 1;
  if (c->kind != LAUNCH || c->launch.shared > 0)
    return false;
  for (unsigned int k = 0; k < c->launch.nd; k++) {
    groups *= c->launch.grid[k];
    items *= c->launch.block[k];
  }
  for (unsigned int i = 0; i < c->launch.n_args; i++)
    if (c->recorded[i].kind == GA_ARG_VALUE && c->recorded[i].number == 0)
      return false;
  const size_t elements = c->launch.elements;
  const bool is_serial = items == 1 || (elements > 0 && elements <= FEW_ELEMENTS);
  return groups == 1 && is_serial && ga__chain_takes(c->kernel);
}

/* The kernels and buffers of a chain. Slots of a workspace block are one buffer. */
typedef struct chain {
  gpukernel *kernels[GA_CHAIN_KERNELS];
  const ga_launch *launches[GA_CHAIN_KERNELS];
  unsigned int n_kernels;
  gpudata *buffers[GA_CHAIN_BUFFERS];
  bool is_written[GA_CHAIN_BUFFERS];
  unsigned int n_buffers;
  size_t n_words, text;
} chain;

static bool is_same_memory(const ga_tape *tape, const gpudata *a, const gpudata *b) {
  if (a == b || a->tape == NULL || b->tape == NULL)
    return a == b;
  const unsigned int m = ga__tape_slot(a), n = ga__tape_slot(b);
  const slot *s = tape->slots[m], *t = tape->slots[n];
  const bool are_work = !s->input && !s->kept && !t->input && !t->kept;
  return m == n || (are_work && s->block == t->block);
}

static unsigned int find_kernel(const chain *ch, const gpukernel *k) {
  unsigned int i = 0;
  while (i < ch->n_kernels && ch->kernels[i] != k)
    i++;
  return i;
}

static unsigned int find_buffer(const chain *ch, const ga_tape *tape,
                                const gpudata *buffer) {
  unsigned int i = 0;
  while (i < ch->n_buffers && !is_same_memory(tape, ch->buffers[i], buffer))
    i++;
  return i;
}

static bool add_buffers(chain *ch, const ga_tape *tape, const command *c) {
  for (unsigned int i = 0; i < c->launch.n_args; i++) {
    const ga_arg *arg = &c->recorded[i];
    if (arg->kind != GA_ARG_MEMORY)
      continue;
    const unsigned int b = find_buffer(ch, tape, arg->buffer);
    if (b == GA_CHAIN_BUFFERS)
      return false;
    if (b == ch->n_buffers)
      ch->buffers[ch->n_buffers++] = arg->buffer;
    ch->is_written[b] |= !arg->is_read_only;
  }
  return true;
}

/* Adds a launch; false if the chain has no room for it, and is then as before. */
static bool add_link(chain *ch, const ga_tape *tape, const command *c) {
  const chain before = *ch;
  const unsigned int k = find_kernel(ch, c->kernel);
  bool fits = k < GA_CHAIN_KERNELS;
  if (fits && k == ch->n_kernels) {
    ch->kernels[ch->n_kernels] = c->kernel;
    ch->launches[ch->n_kernels++] = &c->launch;
    ch->text += strlen(ga__kernel_body(c->kernel));
    fits = ch->text <= GA_CHAIN_TEXT;
  }
  fits = fits && add_buffers(ch, tape, c);
  ch->n_words += 1 + c->launch.n_args;
  if (!fits)
    *ch = before;
  return fits;
}

/* The chain that begins with command `at`; returns the number of its commands. */
static size_t find_chain(chain *ch, const ga_tape *tape, size_t at) {
  size_t n = 0;
  memset(ch, 0, sizeof *ch);
  while (at + n < tape->n_commands && is_link(&tape->commands[at + n]) &&
         add_link(ch, tape, &tape->commands[at + n]))
    n++;
  return n;
}

/* True if the launches at `a` and `b` are of the same kernels. */
static bool is_same_run(const ga_tape *tape, size_t a, size_t b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const command *c = &tape->commands[a + i], *d = &tape->commands[b + i];
    if (d->kind != LAUNCH || c->kernel != d->kernel)
      return false;
  }
  return true;
}

/* True if a chain of the n launches at `at` pays: its text is compiled once, however
 * often the tape has it. */
static bool is_worth(const ga_tape *tape, size_t at, size_t n) {
  if (n >= LEAST || n < LEAST_AGAIN)
    return n >= LEAST;
  const size_t first = at > NEAR ? at - NEAR : 0;
  size_t times = 0;
  for (size_t i = first; times < OFTEN && i + n <= tape->n_commands && i <= at + NEAR;)
    if (is_same_run(tape, at, i, n)) {
      times++;
      i += n;
    } else
      i++;
  return times == OFTEN;
}

/* ---- the launch of a chain ---- */

static void write_words(uint64_t *word, const chain *ch, const ga_tape *tape,
                        const command *c, size_t n) {
  for (; n > 0; n--, c++) {
    *word++ = find_kernel(ch, c->kernel);
    for (unsigned int i = 0; i < c->launch.n_args; i++, word++) {
      const ga_arg *arg = &c->recorded[i];
      if (arg->kind == GA_ARG_MEMORY)
        *word = find_buffer(ch, tape, arg->buffer);
      else
        memcpy(word, arg->value.bytes, arg->size);
    }
  }
}

/* The table of the calls, on the device. */
static int make_table(gpudata **out, const chain *ch, const ga_tape *tape,
                      const command *c, size_t n) {
  uint64_t *words = ga__alloc(ch->n_words, sizeof *words);
  GA_TRY_MEMORY(words);
  write_words(words, ch, tape, c, n);
  int status = ga__buffer_new(out, tape->head.context, ch->n_words * sizeof *words);
  if (status == GA_NO_ERROR) {
    status = gpudata_write(*out, 0, words, ch->n_words * sizeof *words);
    if (status != GA_NO_ERROR)
      gpudata_release(*out);
  }
  ga__free(words);
  return status;
}

static int get_kernel(gpukernel **out, const ga_tape *tape, const chain *ch) {
  ga_source source = {0};
  GA_TRY(ga__chain_source(&source, ch->n_kernels, ch->kernels, ch->launches,
                          ch->n_buffers));
  const int status = ga__kernel_get(out, tape->head.context, &source);
  ga__strbuf_clear(&source.body);
  return status;
}

/* The work of n launches by one item; 0 if that of one is not known. */
static size_t work_of(const command *first, size_t n) {
  size_t work = 0;
  for (size_t i = 0; i < n; i++) {
    if (first[i].launch.work == 0)
      return 0;
    work += SERIAL * first[i].launch.work + CALL_WORK;
  }
  return work;
}

/* The command that calls the kernels of `n` commands from `first` on. */
static int make_link(command *out, ga_tape *tape, const chain *ch, const command *first,
                     size_t n) {
  tape_chains *t = &tape->chains;
  ga_args list = {0};
  GA_TRY(GA_GROW(t->tables, t->table_capacity, t->n_tables));
  GA_TRY(make_table(&t->tables[t->n_tables], ch, tape, first, n));
  gpudata *table = t->tables[t->n_tables++];
  ga__args_input(&list, table);
  ga__args_u64(&list, n);
  for (unsigned int b = 0; b < ch->n_buffers; b++)
    ga__args_pointer(&list, ch->buffers[b], 0, !ch->is_written[b]);
  *out = (command){.kind = LAUNCH, .label = first->label, .step = first->step};
  const size_t bytes = list.n * sizeof *list.list;
  ga_arg *args = ga__alloc(2 * (size_t)list.n, sizeof *args);
  GA_TRY_MEMORY(args);
  memcpy(args, list.list, bytes);
  memcpy(args + list.n, list.list, bytes);
  out->recorded = args;
  out->launch = (ga_launch){.nd = 1,
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .work = work_of(first, n),
                            .n_args = list.n,
                            .args = args + list.n};
  out->is_chain = true;
  return get_kernel(&out->kernel, tape, ch);
}

/* ---- the tape's chains ---- */

bool ga__tape_may_chain(const ga_tape *tape) {
  const gpucontext *ctx = tape->head.context;
  return ctx->info.is_cpu && ctx->backend->graph_begin == NULL;
}

/* The commands with chains in place of runs of launches. */
static int make_list(ga_tape *tape) {
  tape_chains *t = &tape->chains;
  chain *ch = ga__alloc(1, sizeof *ch);
  size_t *places = ga__alloc(tape->n_commands + 1, sizeof *places);
  t->list = ga__alloc(tape->n_commands + 1, sizeof *t->list);
  int status = ch && places && t->list ? GA_NO_ERROR : GA_MEMORY_ERROR;
  for (size_t i = 0; i < tape->n_commands && status == GA_NO_ERROR;) {
    const size_t n = find_chain(ch, tape, i);
    const bool is_chain = is_worth(tape, i, n);
    places[i] = t->n;
    command *c = &t->list[t->n++];
    if (is_chain)
      status = make_link(c, tape, ch, &tape->commands[i], n);
    else
      *c = tape->commands[i];
    i += is_chain ? n : 1;
  }
  for (size_t i = 0; i < t->n && status == GA_NO_ERROR; i++)
    if (t->list[i].kind == IF || t->list[i].kind == ELSE)
      t->list[i].u.choice.end = places[t->list[i].u.choice.end];
  ga__free(ch);
  ga__free(places);
  return status;
}

static size_t count_links(const ga_tape *tape) {
  size_t n = 0;
  for (size_t i = 0; i < tape->n_commands; i++)
    n += is_link(&tape->commands[i]);
  return n;
}

/* True once the links are as many that compiling pays; they are counted when all
 * launches are. */
static bool pays(tape_chains *t, const ga_tape *tape) {
  t->n_replays++;
  if (t->n_replays * tape->n_commands < PAYS)
    return false;
  if (t->n_links == 0) {
    t->n_links = count_links(tape);
    t->is_off = t->n_links < LEAST;
  }
  return !t->is_off && t->n_replays * t->n_links >= PAYS;
}

command *ga__tape_chained(ga_tape *tape, size_t *n) {
  tape_chains *t = &tape->chains;
  if (t->list == NULL && !t->is_off && pays(t, tape))
    t->is_off = make_list(tape) != GA_NO_ERROR;
  if (t->is_off || t->list == NULL)
    return NULL;
  *n = t->n;
  return t->list;
}

void ga__tape_free_chains(ga_tape *tape) {
  tape_chains *t = &tape->chains;
  for (size_t i = 0; i < t->n; i++)
    if (t->list[i].is_chain)
      ga__free(t->list[i].recorded); /* launch.args is its second half */
  for (size_t i = 0; i < t->n_tables; i++)
    gpudata_release(t->tables[i]);
  ga__free(t->tables);
  ga__free(t->list);
}
