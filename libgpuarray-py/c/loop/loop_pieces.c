/* The kernel text of a loop on a CPU, in pieces. An iteration goes along the elements
 * in passes: a reduction ends one, and what depends on its result is in the next.
 * Values that all elements share are computed once, between the passes. */
#include "c/loop/loop_text.h"

#include "c/base/counts.h"
#include "c/loop/kernels/loop_pass.inc"

#define PIECE 512         /* most elements of a piece where nothing is reduced */
#define LEAST 32          /* elements of the shortest piece */
#define MOST_BYTES 196608 /* of all arrays of a piece */

typedef struct passes {
  const ga_loop *l;
  ga_text_part *parts;
  bool is_single;
  unsigned int count;         /* of passes */
  unsigned int last;          /* the pass that ends an iteration */
  unsigned int *known;        /* per value: the first pass that can read it */
  bool *is_uniform;           /* per value: the same for all elements */
  bool *is_read;              /* per value and pass */
  ga_strbuf *before, *within; /* per pass: text before it, and for an element */
} passes;

static unsigned int root_of(const passes *p, unsigned int value) {
  return p->l->root[value];
}

static size_t n_ins(const ga_loop_step *step) {
  return step->ge != NULL ? step->ge->n - step->ge->n_out : step->reduction->spec.n;
}

static size_t n_outs(const ga_loop_step *step) {
  return step->ge != NULL ? step->ge->n_out : 1;
}

static int type_of_out(const ga_loop_step *step, unsigned int i) {
  return step->ge != NULL ? step->ge->args[i].typecode
                          : step->reduction->spec.results[0].typecode;
}

/* False: all elements share the operand. */
static bool has_elements(const ga_loop *l, const ga_loop_operand *o) {
  for (unsigned int k = 0; k < l->nd; k++)
    if (!o->lacks[k] || l->n_total > 0)
      return true;
  return false;
}

size_t ga__loop_piece(const ga_loop *l, size_t local_memory) {
  size_t bytes = 1, piece = l->reduces ? GA_LOOP_MOST : PIECE;
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].kind <= GA_LOOP_SAME && has_elements(l, &l->operands[i]))
      bytes += gpuarray_get_elsize(l->operands[i].array->typecode);
  for (unsigned int i = 0; l->reduces && i < l->n_steps; i++)
    for (unsigned int o = 0; o < n_outs(&l->steps[i]); o++)
      bytes += gpuarray_get_elsize(type_of_out(&l->steps[i], o));
  while (piece > LEAST && piece * bytes > ga__smaller(local_memory / 4 * 3, MOST_BYTES))
    piece /= 2;
  return piece;
}

/* ---- passes of values ---- */

static bool is_element(const passes *p, const ga_loop_operand *o) {
  const bool is_result = o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_FINAL;
  return has_elements(p->l, o) || (is_result && !p->is_uniform[root_of(p, o->value)]);
}

static void read_in(const passes *p, unsigned int value, unsigned int pass) {
  p->is_read[(size_t)root_of(p, value) * p->count + pass] = true;
}

static bool is_read(const passes *p, unsigned int value, unsigned int pass) {
  return p->is_read[(size_t)value * p->count + pass];
}

/* True if a pass behind that which computes it reads the value. */
static bool is_kept(const passes *p, unsigned int value) {
  for (unsigned int k = p->known[value] + 1; k < p->count; k++)
    if (is_read(p, value, k))
      return true;
  return false;
}

/* Finds the pass of a step, and what it reads. */
static void place_step(passes *p, const ga_loop_step *step) {
  unsigned int pass = 0;
  bool is_uniform = true;
  for (size_t i = 0; i < n_ins(step); i++) {
    const unsigned int v = root_of(p, step->ins[i]);
    pass = p->known[v] > pass ? p->known[v] : pass;
    is_uniform = is_uniform && p->is_uniform[v];
  }
  const bool in_pass = !is_uniform || step->reduction != NULL;
  for (size_t i = 0; in_pass && i < n_ins(step); i++)
    read_in(p, step->ins[i], pass);
  if (in_pass && pass > p->last)
    p->last = pass;
  for (size_t o = 0; o < n_outs(step); o++) {
    p->known[step->outs[o]] = pass + (step->reduction != NULL);
    p->is_uniform[step->outs[o]] = is_uniform || step->reduction != NULL;
  }
}

static void place_all(passes *p) {
  const ga_loop *l = p->l;
  for (unsigned int i = 0; i < l->n_integers; i++)
    p->is_uniform[l->integers[i].value] =
        !l->integers[i].is_iteration || l->n_total == 0;
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].kind <= GA_LOOP_ROW)
      p->is_uniform[l->operands[i].value] = !is_element(p, &l->operands[i]);
  for (unsigned int i = 0; i < l->n_steps; i++)
    place_step(p, &l->steps[i]);
  for (int finds = 1; finds >= 0; finds--) /* the last pass, then what it reads */
    for (unsigned int i = 0; i < l->n_operands; i++) {
      const ga_loop_operand *o = &l->operands[i];
      const bool is_state = o->kind == GA_LOOP_STATE;
      if ((!is_state && o->kind != GA_LOOP_TRACE) || !is_element(p, o))
        continue;
      const unsigned int v = root_of(p, is_state ? o->next : o->value);
      if (!finds)
        read_in(p, v, p->last);
      else if (p->known[v] > p->last)
        p->last = p->known[v];
    }
}

/* ---- operands ---- */

/* An element of operand i's memory. */
static void add_element(ga_strbuf *sb, const ga_loop *l, unsigned int i) {
  ga__strbuf_addf(sb, "*(ga_i_a%u", i);
  ga__loop_add_term(sb, l, i, l->nd - 1, "(ga_ssize)ga_i_e");
  ga__strbuf_add(sb, ")");
}

/* Elements that a group has: variables of items, or an array. */
static void add_array(const passes *p, const char *type, char letter, unsigned int i) {
  ga__strbuf_addf(&p->parts[LP_LOCALS].text,
                  p->is_single ? "%s ga_i_%c%u;\n" : "LP_MEMORY %s ga_i_%c%u[%zu];\n",
                  type, letter, i, p->l->piece);
}

static const char *place_of(const passes *p) {
  return p->is_single ? "" : "[ga_i_j]";
}

/* The condition of a store of what all elements share. */
#define ONCE "if (ga_i_g == 0 && LID_0 == 0) "

/* A state or constant that all elements share, or that each has. */
static void add_state(const passes *p, unsigned int i) {
  const ga_loop_operand *o = &p->l->operands[i];
  const char *type = ga__loop_type(o), *zero = ga__loop_zero(o->array->typecode);
  if (!is_element(p, o)) {
    char element[GA_LOOP_NAME];
    snprintf(element, sizeof element, "*ga_i_a%u", i);
    ga__strbuf_addf(&p->parts[LP_UNIFORMS].text, "%s ga_i_v%u = %s;\n", type, o->value,
                    o->is_zero ? zero : element);
    return;
  }
  if (o->kind == GA_LOOP_SAME && o->is_zero)
    return;
  ga_strbuf *loads = &p->parts[LP_LOADS].text;
  add_array(p, type, 'b', i);
  ga__strbuf_addf(loads, "{\nconst %s ga_i_z = ", type);
  if (o->is_zero)
    ga__strbuf_add(loads, zero);
  else
    add_element(loads, p->l, i);
  ga__strbuf_addf(loads, ";\nga_i_b%u%s = ga_i_z;\n}\n", i, place_of(p));
}

/* The variable of an operand's element, for a pass that reads it. */
static void add_value(const passes *p, ga_strbuf *sb, unsigned int i) {
  const ga_loop_operand *o = &p->l->operands[i];
  const char *type = ga__loop_type(o), *zero = ga__loop_zero(o->array->typecode);
  if (o->kind == GA_LOOP_ROW) {
    ga__strbuf_addf(sb, "%s ga_i_v%u = %s;\nif (ga_i_in) ga_i_v%u = ", type, o->value,
                    zero, o->value);
    add_element(sb, p->l, i);
    ga__strbuf_add(sb, ";\n");
  } else if (o->kind == GA_LOOP_SAME && o->is_zero) {
    ga__strbuf_addf(sb, "const %s ga_i_v%u = %s;\n", type, o->value, zero);
  } else {
    ga__strbuf_addf(sb, "const %s ga_i_v%u = ga_i_b%u%s;\n", type, o->value, i,
                    place_of(p));
  }
}

static void add_operands(const passes *p) {
  const ga_loop *l = p->l;
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    const bool is_state = o->kind == GA_LOOP_STATE || o->kind == GA_LOOP_SAME;
    if (is_state)
      add_state(p, i);
    else if (o->kind == GA_LOOP_ROW && !is_element(p, o))
      ga__strbuf_addf(&p->before[0], "const %s ga_i_v%u = *ga_i_a%u;\n",
                      ga__loop_type(o), o->value, i);
    for (unsigned int k = 0; k <= p->last; k++)
      if (o->kind <= GA_LOOP_ROW && is_element(p, o) && is_read(p, o->value, k))
        add_value(p, &p->within[k], i);
    if (ga__loop_has_rows(o))
      ga__strbuf_addf(&p->parts[LP_ADVANCE].text, "ga_i_a%u += ga_i_w%u;\n", i, i);
  }
}

/* ---- steps ---- */

static void add_integers(const passes *p) {
  for (unsigned int i = 0; i < p->l->n_integers; i++) {
    const unsigned int v = p->l->integers[i].value;
    if (!p->l->integers[i].is_iteration)
      continue;
    const bool is_uniform = p->is_uniform[v];
    for (unsigned int k = 0; k <= (is_uniform ? 0 : p->last); k++)
      if (is_uniform || is_read(p, v, k))
        ga__strbuf_addf(is_uniform ? &p->before[k] : &p->within[k],
                        "const ga_long ga_i_v%u = LP_FIRST + ga_i_t;\n", v);
  }
}

/* A value that later passes read is kept, and they begin with it. */
static void keep_value(const passes *p, unsigned int v, const char *type) {
  add_array(p, type, 'm', v);
  ga__strbuf_addf(&p->within[p->known[v]], "ga_i_m%u%s = ga_i_v%u;\n", v, place_of(p),
                  v);
  for (unsigned int k = p->known[v] + 1; k <= p->last; k++)
    if (is_read(p, v, k))
      ga__strbuf_addf(&p->within[k], "const %s ga_i_v%u = ga_i_m%u%s;\n", type, v, v,
                      place_of(p));
}

/* An element's accumulator joins that of its item, the lane of a vector; one item alone
 * keeps them all, for its compiler to make vectors of. */
static void add_reduced(const passes *p, const ga_loop_step *step) {
  const unsigned int out = step->outs[0], pass = p->known[out] - 1;
  const char *type = ga__loop_accumulator(step);
  ga_strbuf *locals = &p->parts[LP_LOCALS].text, *within = &p->within[pass];
  char own[GA_LOOP_NAME], element[GA_LOOP_NAME];
  snprintf(own, sizeof own, "ga_i_l%u", out);
  snprintf(element, sizeof element, "ga_i_y%u", out);
  ga__strbuf_addf(locals,
                  "#if GA_WARP_SIZE > 1\nLOCAL_MEM %s ga_i_h%u[GA_WARP_SIZE];\n#else\n",
                  type, out);
  add_array(p, type, 'l', out);
  ga__strbuf_add(locals, "#endif\n");
  ga__strbuf_addf(within, "%s %s;\n", type, element);
  ga__loop_add_map(within, p->l, step, element, "ga_i_in");
  ga__loop_add_own(&p->before[pass], within, step, own, place_of(p));
  ga__loop_add_combination(&p->before[pass + 1], step, own);
}

static void add_steps(const passes *p) {
  for (unsigned int i = 0; i < p->l->n_steps; i++) {
    const ga_loop_step *step = &p->l->steps[i];
    if (step->reduction != NULL) {
      add_reduced(p, step);
      continue;
    }
    const unsigned int first = step->outs[0], pass = p->known[first];
    const bool is_uniform = p->is_uniform[first];
    ga__loop_add_step(is_uniform ? &p->before[pass] : &p->within[pass], p->l, step);
    for (unsigned int o = 0; !is_uniform && o < n_outs(step); o++)
      if (is_kept(p, step->outs[o]))
        keep_value(p, step->outs[o], ga__dtype_ctype(type_of_out(step, o)));
  }
}

/* ---- ends of iterations ---- */

static void add_traces(const passes *p) {
  char name[GA_LOOP_NAME];
  for (unsigned int i = 0; i < p->l->n_operands; i++) {
    const ga_loop_operand *o = &p->l->operands[i];
    if (o->kind != GA_LOOP_TRACE)
      continue;
    ga__loop_variable(name, p->l, o->value);
    if (!is_element(p, o)) {
      ga__strbuf_addf(&p->before[p->count], ONCE "*ga_i_a%u = %s;\n", i, name);
      continue;
    }
    ga_strbuf *sb = &p->within[p->last];
    ga__loop_add_condition(sb, p->l, o, "ga_i_in", "(ga_i_from + (ga_size)ga_i_e)");
    add_element(sb, p->l, i);
    ga__strbuf_addf(sb, " = %s;\n", name);
  }
}

/* States take their next values all at once: one may be another's. */
static void add_carry(const passes *p, bool is_masked) {
  char name[GA_LOOP_NAME];
  for (int stores = 0; stores < 2; stores++)
    for (unsigned int i = 0; i < p->l->n_operands; i++) {
      const ga_loop_operand *o = &p->l->operands[i];
      if (o->kind != GA_LOOP_STATE)
        continue;
      const bool each = is_element(p, o);
      ga_strbuf *sb = each ? &p->within[p->last] : &p->before[p->count];
      if (!stores)
        ga__strbuf_addf(sb, "const %s ga_i_n%u = %s;\n", ga__loop_type(o), i,
                        ga__loop_variable(name, p->l, o->next));
      else if (each)
        ga__strbuf_addf(sb, "%sga_i_b%u%s = ga_i_n%u;\n",
                        is_masked ? "if (ga_i_in) " : "", i, place_of(p), i);
      else
        ga__strbuf_addf(sb, "ga_i_v%u = ga_i_n%u;\n", o->value, i);
    }
}

/* The operand that is a state of this value. */
static unsigned int state_of(const ga_loop *l, unsigned int value) {
  unsigned int i = 0;
  while (l->operands[i].kind != GA_LOOP_STATE || l->operands[i].value != value)
    i++;
  return i;
}

static void add_finals(const passes *p) {
  for (unsigned int i = 0; i < p->l->n_operands; i++) {
    const ga_loop_operand *o = &p->l->operands[i];
    if (o->kind != GA_LOOP_FINAL)
      continue;
    const unsigned int state = state_of(p->l, o->value);
    if (!is_element(p, &p->l->operands[state])) {
      ga__strbuf_addf(&p->parts[LP_LASTS].text, ONCE "*ga_i_a%u = ga_i_v%u;\n", i,
                      o->value);
      continue;
    }
    ga_strbuf *sb = &p->parts[LP_FINALS].text;
    ga__loop_add_condition(sb, p->l, o, NULL, "(ga_i_from + (ga_size)ga_i_e)");
    add_element(sb, p->l, i);
    ga__strbuf_addf(sb, " = ga_i_b%u%s;\n", state, place_of(p));
  }
}

static void add_stop(const passes *p) {
  const int stop = p->l->stop;
  if (stop < 0)
    return;
  const unsigned int state = state_of(p->l, (unsigned int)stop);
  const bool each = is_element(p, &p->l->operands[state]);
  ga__strbuf_addf(&p->parts[LP_STOP].text,
                  each && !p->is_single ? "if (ga_i_%c%u[0]) break;"
                                        : "if (ga_i_%c%u) break;",
                  each ? 'b' : 'v', each ? state : (unsigned int)stop);
}

/* ---- the text ---- */

/* The words of the iterations of a chunk: LP_END is their number, LP_FIRST the number
 * of the first. Where a piece is of chunks, LP_MANY are those that still run. */
static void add_chunk_words(ga_strbuf *words, const ga_loop *l, bool in_piece) {
  if (in_piece)
    ga__strbuf_add(words, "#define LP_FIRST "
                          "((ga_uint)(ga_i_from + (ga_size)ga_i_j) * ga_i_turns)\n");
  else if (l->n_total > 0)
    ga__strbuf_addf(words, "#define LP_FIRST ((ga_uint)ga_i_x%u * ga_i_turns)\n",
                    l->chunk_axis);
  else
    ga__strbuf_add(words, "#define LP_FIRST 0u\n");
  ga__strbuf_addf(words, "#define LP_END %s\n",
                  l->n_total > 0 && !in_piece
                      ? "(ga_i_total - LP_FIRST < ga_i_turns ? ga_i_total - LP_FIRST "
                        ": ga_i_turns)"
                      : "ga_i_turns");
  ga__strbuf_addf(words, "#define LP_MANY %s\n",
                  in_piece ? "(ga_i_from + (ga_size)ga_i_many == ga_i_row && ga_i_t "
                             ">= ga_i_total - (ga_uint)(ga_i_row - 1) * ga_i_turns ? "
                             "ga_i_many - 1 : ga_i_many)"
                           : "ga_i_many");
}

static void add_words(ga_strbuf *words, const passes *p, bool in_piece) {
  bool is_padded = !in_piece;
  for (unsigned int i = 0; i < p->l->n_operands; i++)
    if (ga__loop_has_rows(&p->l->operands[i]) && is_element(p, &p->l->operands[i]))
      is_padded = false;
  ga__strbuf_addf(words,
                  "#define LP_SINGLE %d\n#define LP_PADDED %d\n#define LP_REDUCES %d\n",
                  p->is_single, is_padded, p->l->reduces);
  add_chunk_words(words, p->l, in_piece);
}

static void add_splits(const passes *p) {
  ga_strbuf *sb = &p->parts[LP_SPLIT].text;
  const unsigned int nd = p->l->nd;
  ga__loop_add_split(sb, nd >= 2 ? nd - 2 : 0);
  if (nd > 1)
    ga__strbuf_add(sb, "const ga_ssize ga_i_x0 = (ga_ssize)ga_i_r;\n");
  ga__strbuf_addf(sb, "const ga_ssize ga_i_x%u = (ga_ssize)ga_i_from;\n", nd - 1);
}

/* All passes, in order, with what is between them. */
static void add_passes(const passes *p) {
  ga_strbuf *sb = &p->parts[LP_PASSES].text;
  for (unsigned int k = 0; k <= p->count; k++) {
    ga__strbuf_move(sb, &p->before[k]);
    if (k == p->count || p->within[k].length == 0)
      continue;
    ga_text_part body = {.name = "LP_BODY"};
    ga__strbuf_move(&body.text, &p->within[k]);
    ga__text_add_parts(sb, loop_pass_text, &body, 1);
  }
}

static int open_passes(passes *p) {
  const size_t n = (size_t)p->l->n_values + 1;
  p->count = 1;
  for (unsigned int i = 0; i < p->l->n_steps; i++)
    p->count += p->l->steps[i].reduction != NULL;
  p->known = ga__alloc(n, sizeof *p->known);
  p->is_uniform = ga__alloc(n, sizeof *p->is_uniform);
  p->is_read = ga__alloc(n * p->count, sizeof *p->is_read);
  p->before = ga__alloc((size_t)p->count + 1, sizeof *p->before);
  p->within = ga__alloc(p->count, sizeof *p->within);
  GA_TRY_MEMORY(p->known && p->is_uniform && p->is_read && p->before && p->within);
  return GA_NO_ERROR;
}

static void close_passes(const passes *p) {
  ga__free(p->known);
  ga__free(p->is_uniform);
  ga__free(p->is_read);
  ga__free(p->before);
  ga__free(p->within);
}

int ga__loop_add_pieces(ga_text_part *parts, ga_strbuf *words, const ga_loop *l) {
  passes p = {.l = l, .parts = parts, .is_single = l->form == GA_LOOP_IN_VECTORS};
  const bool in_piece = ga__loop_is_chunk_axis(l, l->nd - 1);
  const int status = open_passes(&p);
  if (status == GA_NO_ERROR) {
    place_all(&p);
    add_words(words, &p, in_piece);
    add_splits(&p);
    add_operands(&p);
    add_integers(&p);
    add_steps(&p);
    add_traces(&p);
    add_carry(&p, in_piece);
    add_finals(&p);
    add_stop(&p);
    add_passes(&p);
  }
  close_passes(&p);
  return status;
}
