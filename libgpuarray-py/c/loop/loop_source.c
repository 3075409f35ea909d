/* The kernel texts of a loop: what the words (LP_...) of the files in kernels/ stand
 * for. */
#include "c/loop/loop_text.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/elemwise/elemwise_text.h"
#include "c/loop/kernels/loop_cpu.inc"
#include "c/loop/kernels/loop_gpu.inc"
#include "c/loop/kernels/loop_group.inc"

#define CLOSED "GA_SELF_CONTAINED\n" /* first line of a preamble, see ga_source */

/* The parts of a text. */
enum {
  PARAMETERS,
  LOCALS,
  STARTS,
  SPLIT,
  PLACES,
  LOADS,
  NEXT,
  VALUES,
  STEPS,
  TRACES,
  CARRY,
  ADVANCE,
  STOP,
  FINALS,
  PARTS
};

static bool has_rows(const ga_loop_operand *o) {
  return o->kind == GA_LOOP_ROW || o->kind == GA_LOOP_TRACE;
}

static const char *type_of(const ga_loop_operand *o) {
  return ga__dtype_ctype(o->array->typecode);
}

/* Zero, of a number or of the fields of a type. */
static const char *zero_of(const ga_loop_operand *o) {
  return ga__dtype_kind(o->array->typecode) == 'c' ? "{0, 0}" : "{0}";
}

/* ---- parameters and places ---- */

/* The stride along axis k where the text has it: 0 or 1. Compilers gather elements of a
 * stride that they do not know. Else -1. */
static int known_stride(const ga_loop *l, unsigned int i, unsigned int k) {
  const ga_loop_operand *o = &l->operands[i];
  const ssize_t size = (ssize_t)gpuarray_get_elsize(o->array->typecode);
  if (o->strides[k] == 0)
    return 0;
  return k + 1 == l->nd && o->strides[k] == size ? 1 : -1;
}

bool ga__loop_has_stride(const ga_loop *l, unsigned int i, unsigned int k) {
  return known_stride(l, i, k) < 0;
}

/* Adds " + position * stride" along axis k of operand i. */
static void add_term(ga_strbuf *sb, const ga_loop *l, unsigned int i, unsigned int k,
                     const char *position) {
  const int known = known_stride(l, i, k);
  if (known < 0)
    ga__strbuf_addf(sb, " + %s * ga_i_t%u_%u", position, i, k);
  else if (known == 1)
    ga__strbuf_addf(sb, " + %s", position);
}

static void add_parameters(ga_text_part *parts, const ga_loop *l) {
  ga_strbuf *sb = &parts[PARAMETERS].text;
  for (unsigned int k = 1; k < l->nd; k++)
    ga__strbuf_addf(sb, ", ga_size ga_i_d%u", k);
  if (l->n_total > 0)
    ga__strbuf_add(sb, ", ga_uint ga_i_total");
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (!l->integers[i].is_iteration)
      ga__strbuf_addf(sb, ", ga_long ga_i_v%u", l->integers[i].value);
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    ga__strbuf_addf(sb, ", GLOBAL_MEM %s *ga_i_%u, ga_size ga_i_o%u", type_of(o), i, i);
    if (has_rows(o))
      ga__strbuf_addf(sb, ", ga_ssize ga_i_w%u", i);
    for (unsigned int k = 0; k < l->nd; k++)
      if (ga__loop_has_stride(l, i, k))
        ga__strbuf_addf(sb, ", ga_ssize ga_i_t%u_%u", i, k);
    ga__strbuf_addf(
        &parts[STARTS].text,
        "ga_i_%u = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)ga_i_%u + ga_i_o%u);\n", i,
        type_of(o), i, i);
  }
}

/* Positions along axes `from` to 1 of what ga_i_r counts. */
static void add_split(ga_strbuf *sb, unsigned int from) {
  for (unsigned int k = from; k >= 1; k--)
    ga__strbuf_addf(sb,
                    "const ga_ssize ga_i_x%u = (ga_ssize)(ga_i_r %% ga_i_d%u);\n"
                    "ga_i_r /= ga_i_d%u;\n",
                    k, k, k);
}

/* The place of the thread's first element in each operand. */
static void add_places(ga_strbuf *sb, const ga_loop *l) {
  char position[GA_LOOP_NAME];
  for (unsigned int i = 0; i < l->n_operands; i++) {
    ga__strbuf_addf(sb, "GLOBAL_MEM %s *ga_i_a%u = ga_i_%u", type_of(&l->operands[i]),
                    i, i);
    for (unsigned int k = 0; k < l->nd; k++) {
      snprintf(position, sizeof position, "ga_i_x%u", k);
      add_term(sb, l, i, k, position);
    }
    ga__strbuf_add(sb, ";\n");
  }
}

/* The position of the last chunk. */
#define LAST_CHUNK "(ga_i_total - 1) / ga_i_turns"

static bool is_chunk_axis(const ga_loop *l, unsigned int k) {
  return l->n_total > 0 && k == l->chunk_axis;
}

/* Condition of a store: only the first element along an axis that the operand lacks
 * writes it, and only the last chunk. `last`: the position along the last axis. */
static void add_condition(ga_strbuf *sb, const ga_loop *l, const ga_loop_operand *o,
                          const char *last) {
  const char *between = "if (";
  if (l->is_group) {
    ga__strbuf_add(sb, "if (ga_i_active");
    between = " && ";
  }
  for (unsigned int k = 0; k < l->nd; k++) {
    if (!o->lacks[k])
      continue;
    const char *place = is_chunk_axis(l, k) ? LAST_CHUNK : "0";
    if (k + 1 == l->nd)
      ga__strbuf_addf(sb, "%s%s == %s", between, last, place);
    else
      ga__strbuf_addf(sb, "%sga_i_x%u == %s", between, k, place);
    between = " && ";
  }
  if (between[0] == ' ')
    ga__strbuf_add(sb, ") ");
}

/* ---- GPUs ---- */

#define AHEAD 32        /* most iterations that are read ahead */
#define AHEAD_BYTES 128 /* most bytes of registers for the rows that are read ahead */
#define AHEAD_TEXT                                                                     \
  6000             /* most characters of the iterations that stand side by side        \
                    */
#define UNROLLED 4 /* iterations side by side where none is read ahead */

static size_t text_length(const ga_loop *l) {
  size_t length = 1;
  for (unsigned int i = 0; i < l->n_steps; i++)
    length += l->steps[i].ge != NULL ? strlen(l->steps[i].ge->expr) : 0;
  return length;
}

/* Iterations that stand side by side in the text, and rows that are read ahead: enough
 * to hide the latency of memory, as registers permit. */
static unsigned int rows_ahead(const ga_loop *l) {
  size_t bytes = 0;
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].kind == GA_LOOP_ROW)
      bytes += gpuarray_get_elsize(l->operands[i].array->typecode);
  unsigned int most = bytes > 0 ? AHEAD : UNROLLED;
  while (most > 1 && (most * bytes > AHEAD_BYTES || most * text_length(l) > AHEAD_TEXT))
    most /= 2;
  return most;
}

/* A sequence: the first rows, and with each block of iterations the next rows. */
static void add_sequence_gpu(ga_text_part *parts, const ga_loop_operand *o,
                             unsigned int i) {
  const char *type = type_of(o);
  ga__strbuf_addf(&parts[LOADS].text,
                  "%s ga_i_b%u[LP_AHEAD], ga_i_c%u[LP_AHEAD];\n"
                  "LP_EACH if (ga_i_u < ga_i_end) {\n"
                  "ga_i_b%u[ga_i_u] = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n}\n",
                  type, i, i, i, i, i, i);
  ga__strbuf_addf(&parts[NEXT].text,
                  "LP_EACH ga_i_c%u[ga_i_u] = ga_i_b%u[ga_i_u];\n"
                  "LP_EACH if (ga_i_end - ga_i_from > LP_AHEAD + ga_i_u) {\n"
                  "ga_i_b%u[ga_i_u] = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n}\n",
                  i, i, i, i, i, i);
  ga__strbuf_addf(&parts[VALUES].text, "const %s ga_i_v%u = ga_i_c%u[ga_i_u];\n", type,
                  o->value, i);
}

/* Complex constants of a loop that reduces: Intel's compiler takes a part of a vector
 * that does not change out of the loop, and over the barrier, where all items then have
 * that of the last one. */
static bool is_loaded_again(const ga_loop *l, const ga_loop_operand *o) {
  return l->is_group && o->kind == GA_LOOP_SAME &&
         ga__dtype_kind(o->array->typecode) == 'c';
}

/* States and constants are variables. */
static void add_operand_gpu(ga_text_part *parts, const ga_loop *l, unsigned int i) {
  const ga_loop_operand *o = &l->operands[i];
  char name[GA_LOOP_NAME], last[GA_LOOP_NAME];
  snprintf(last, sizeof last, "ga_i_x%u", l->nd - 1);
  if (o->kind == GA_LOOP_ROW && l->is_group) {
    ga__strbuf_addf(&parts[VALUES].text,
                    "const %s ga_i_v%u = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n",
                    type_of(o), o->value, i, i, i);
  } else if (o->kind == GA_LOOP_ROW) {
    add_sequence_gpu(parts, o, i);
  } else if (o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_FINAL) {
    ga_strbuf *sb = &parts[o->kind == GA_LOOP_TRACE ? TRACES : FINALS].text;
    add_condition(sb, l, o, last);
    ga__strbuf_addf(sb, "*ga_i_a%u = %s;\n", i, ga__loop_variable(name, l, o->value));
    if (o->kind == GA_LOOP_TRACE)
      ga__strbuf_addf(sb, "ga_i_a%u += ga_i_w%u;\n", i, i);
  } else if (o->is_zero) {
    ga__strbuf_addf(&parts[LOADS].text, "%s ga_i_v%u = %s;\n", type_of(o), o->value,
                    zero_of(o));
  } else {
    const int at = is_loaded_again(l, o) ? VALUES : LOADS;
    ga__strbuf_addf(&parts[at].text, "%s ga_i_v%u = *ga_i_a%u;\n", type_of(o), o->value,
                    i);
  }
}

static void add_gpu(ga_text_part *parts, ga_strbuf *words, const ga_loop *l) {
  add_split(&parts[SPLIT].text, l->nd - 1);
  for (unsigned int i = 0; i < l->n_operands; i++)
    add_operand_gpu(parts, l, i);
  if (l->stop >= 0)
    ga__strbuf_addf(&parts[STOP].text, "if (ga_i_v%d) %s;", l->stop,
                    l->is_group ? "break" : "ga_i_end = ga_i_t + 1");
  ga__strbuf_addf(words, "#define LP_AHEAD %u\n", rows_ahead(l));
}

/* ---- CPUs ---- */

/* The operand that is a state of this value. */
static unsigned int state_of(const ga_loop *l, unsigned int value) {
  unsigned int i = 0;
  while (l->operands[i].kind != GA_LOOP_STATE || l->operands[i].value != value)
    i++;
  return i;
}

/* States and constants are private arrays, an element for each of the piece's. */
static void add_operand_cpu(ga_text_part *parts, const ga_loop *l, unsigned int i) {
  const ga_loop_operand *o = &l->operands[i];
  const char *type = type_of(o), *loop = "for (ga_int ga_i_j = 0; ga_i_j < ga_i_many; "
                                         "ga_i_j++)\n";
  char name[GA_LOOP_NAME], place[GA_LOOP_NAME];
  ga_strbuf at = {0};
  snprintf(place, sizeof place, "*ga_i_a%u", i);
  ga__strbuf_addf(&at, "*(ga_i_a%u", i);
  add_term(&at, l, i, l->nd - 1, "(ga_ssize)ga_i_j");
  ga__strbuf_add(&at, ")");
  const char *element = at.text ? at.text : "";
  if (o->kind == GA_LOOP_ROW) {
    ga__strbuf_addf(&parts[VALUES].text, "const %s ga_i_v%u = %s;\n", type, o->value,
                    element);
  } else if (o->kind == GA_LOOP_TRACE) {
    add_condition(&parts[TRACES].text, l, o, "(ga_i_from + (ga_size)ga_i_j)");
    ga__strbuf_addf(&parts[TRACES].text, "%s = %s;\n", element,
                    ga__loop_variable(name, l, o->value));
  } else if (o->kind == GA_LOOP_FINAL) {
    ga_strbuf *sb = &parts[FINALS].text;
    const bool once = o->lacks[l->nd - 1] && !is_chunk_axis(l, l->nd - 1);
    ga__strbuf_add(sb, once ? "" : loop);
    add_condition(sb, l, o, once ? "ga_i_from" : "(ga_i_from + (ga_size)ga_i_j)");
    ga__strbuf_addf(sb, "%s = ga_i_b%u[%s];\n", once ? place : element,
                    state_of(l, o->value), once ? "0" : "ga_i_j");
  } else if (o->kind == GA_LOOP_SAME && o->is_zero) {
    ga__strbuf_addf(&parts[VALUES].text, "const %s ga_i_v%u = %s;\n", type, o->value,
                    zero_of(o));
  } else {
    ga__strbuf_addf(&parts[LOADS].text, "%s ga_i_b%u[%d];\n", type, i, GA_LOOP_PIECE);
    if (o->is_zero)
      ga__strbuf_addf(&parts[LOADS].text, "const %s ga_i_z%u = %s;\n", type, i,
                      zero_of(o));
    snprintf(name, sizeof name, "ga_i_z%u", i);
    ga__strbuf_addf(&parts[LOADS].text, "%sga_i_b%u[ga_i_j] = %s;\n", loop, i,
                    o->is_zero ? name : element);
    ga__strbuf_addf(&parts[VALUES].text, "const %s ga_i_v%u = ga_i_b%u[ga_i_j];\n",
                    type, o->value, i);
  }
  if (has_rows(o))
    ga__strbuf_addf(&parts[ADVANCE].text, "ga_i_a%u += ga_i_w%u;\n", i, i);
  if (at.failed)
    parts[LOADS].text.failed = true;
  ga__strbuf_clear(&at);
}

static void add_cpu(ga_text_part *parts, const ga_loop *l) {
  add_split(&parts[SPLIT].text, l->nd >= 2 ? l->nd - 2 : 0);
  if (l->nd > 1)
    ga__strbuf_add(&parts[SPLIT].text, "const ga_ssize ga_i_x0 = (ga_ssize)ga_i_r;\n");
  ga__strbuf_addf(&parts[SPLIT].text,
                  "const ga_ssize ga_i_x%u = (ga_ssize)ga_i_from;\n", l->nd - 1);
  for (unsigned int i = 0; i < l->n_operands; i++)
    add_operand_cpu(parts, l, i);
  if (l->stop >= 0)
    ga__strbuf_addf(&parts[STOP].text, "if (ga_i_b%u[0]) break;",
                    state_of(l, (unsigned int)l->stop));
}

/* ---- chunks ---- */

/* The words of the iterations of a chunk: LP_END is their number, LP_FIRST the first
 * one's. Where a CPU's piece is of chunks, LP_MANY are those that still run. */
static void add_chunk_words(ga_strbuf *words, const ga_loop *l, bool in_pieces) {
  const bool in_piece = in_pieces && is_chunk_axis(l, l->nd - 1);
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
  if (in_pieces)
    ga__strbuf_addf(words, "#define LP_MANY %s\n",
                    in_piece ? "(ga_i_from + (ga_size)ga_i_many == ga_i_row && ga_i_t "
                               ">= ga_i_total - (ga_uint)(ga_i_row - 1) * ga_i_turns ? "
                               "ga_i_many - 1 : ga_i_many)"
                             : "ga_i_many");
}

/* ---- steps ---- */

static void add_step(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step) {
  const GpuElemwise *ge = step->ge;
  char name[GA_LOOP_NAME];
  for (unsigned int i = 0; i < ge->n_out; i++)
    ga__strbuf_addf(sb, "%s ga_i_v%u;\n", ga__dtype_ctype(ge->args[i].typecode),
                    step->outs[i]);
  ga__strbuf_add(sb, "{");
  for (unsigned int i = 0; i < ge->n; i++) {
    const bool scalar = ga__elemwise_is_scalar(ge, i);
    if (i >= ge->n_out)
      ga__loop_variable(name, l, step->ins[i - ge->n_out]);
    ga__elem_add_value(sb, &ge->spec, i, i >= ge->n_out && !scalar ? name : NULL);
    if (scalar)
      ga__strbuf_addf(sb, " %s = %s;", ge->args[i].name, name);
  }
  ga__strbuf_addf(sb, "\n%s;\n", ge->expr);
  for (unsigned int i = 0; i < ge->n_out; i++) {
    snprintf(name, sizeof name, "ga_i_v%u", step->outs[i]);
    ga__elem_add_result(sb, &ge->spec, i, name);
  }
  ga__strbuf_add(sb, "}\n");
}

static void add_steps(ga_text_part *parts, const ga_loop *l, bool is_cpu) {
  ga_strbuf *sb = &parts[STEPS].text;
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (l->integers[i].is_iteration)
      ga__strbuf_addf(sb, "const ga_long ga_i_v%u = LP_FIRST + ga_i_t;\n",
                      l->integers[i].value);
  for (unsigned int i = 0; i < l->n_steps; i++)
    if (l->steps[i].ge != NULL)
      add_step(sb, l, &l->steps[i]);
    else
      ga__loop_add_reduction(&parts[LOCALS], sb, l, &l->steps[i], is_cpu);
}

/* States take their next values all at once: one may be another's. */
static void add_carry(ga_strbuf *sb, const ga_loop *l, bool is_cpu) {
  char name[GA_LOOP_NAME];
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->kind == GA_LOOP_STATE)
      ga__strbuf_addf(sb, "const %s ga_i_n%u = %s;\n", type_of(o), i,
                      ga__loop_variable(name, l, o->next));
  }
  for (unsigned int i = 0; i < l->n_operands; i++) {
    if (l->operands[i].kind != GA_LOOP_STATE)
      continue;
    if (is_cpu)
      ga__strbuf_addf(sb, "ga_i_b%u[ga_i_j] = ga_i_n%u;\n", i, i);
    else
      ga__strbuf_addf(sb, "ga_i_v%u = ga_i_n%u;\n", l->operands[i].value, i);
  }
}

/* ---- preambles ---- */

static const char *preamble_of(const ga_loop_step *step) {
  const char *preamble =
      step->ge != NULL ? step->ge->preamble : step->reduction->spec.preamble;
  return preamble != NULL ? preamble : "";
}

/* What a preamble adds to the text. */
static const char *own_text(const ga_loop_step *step) {
  const char *preamble = preamble_of(step);
  return strncmp(preamble, CLOSED, strlen(CLOSED)) == 0 ? preamble + strlen(CLOSED)
                                                        : preamble;
}

/* The preamble of all steps: at most one of them adds text, or all the same. */
static bool common_preamble(const char **out, const ga_loop *l) {
  *out = CLOSED;
  for (unsigned int i = 0; i < l->n_steps; i++) {
    const char *preamble = preamble_of(&l->steps[i]);
    if (*own_text(&l->steps[i]) == '\0')
      continue;
    if (strcmp(*out, CLOSED) != 0 && strcmp(*out, preamble) != 0)
      return false;
    *out = preamble;
  }
  return true;
}

bool ga__loop_fits_kernel(const ga_loop *l) {
  const char *preamble;
  const size_t most = 4 + l->nd + l->n_integers + l->n_operands * (3 + (size_t)l->nd);
  return common_preamble(&preamble, l) && most <= GA_MAX_ARGS && most * 8 <= 3800;
}

int ga__loop_source(ga_source *out, const ga_loop *l, bool is_cpu) {
  ga_text_part parts[PARTS] = {[PARAMETERS] = {.name = "LP_PARAMETERS"},
                               [LOCALS] = {.name = "LP_LOCALS"},
                               [STARTS] = {.name = "LP_STARTS"},
                               [SPLIT] = {.name = "LP_SPLIT"},
                               [PLACES] = {.name = "LP_PLACES"},
                               [LOADS] = {.name = "LP_LOADS"},
                               [NEXT] = {.name = "LP_NEXT"},
                               [VALUES] = {.name = "LP_VALUES"},
                               [STEPS] = {.name = "LP_STEPS"},
                               [TRACES] = {.name = "LP_TRACES"},
                               [CARRY] = {.name = "LP_CARRY"},
                               [ADVANCE] = {.name = "LP_ADVANCE"},
                               [STOP] = {.name = "LP_STOP"},
                               [FINALS] = {.name = "LP_FINALS"}};
  const char *preamble = NULL;
  ga_strbuf text = {0};
  common_preamble(&preamble, l);
  add_parameters(parts, l);
  add_places(&parts[PLACES].text, l);
  const bool in_pieces = is_cpu && !l->is_group;
  add_chunk_words(&text, l, in_pieces);
  if (in_pieces)
    add_cpu(parts, l);
  else
    add_gpu(parts, &text, l);
  add_steps(parts, l, is_cpu);
  add_carry(&parts[CARRY].text, l, in_pieces);
  ga__text_add_parts(&text,
                     in_pieces     ? loop_cpu_text
                     : l->is_group ? loop_group_text
                                   : loop_gpu_text,
                     parts, PARTS);
  out->is_closed = ga__kernel_is_closed(preamble);
  snprintf(out->title, sizeof out->title, "loop of %s",
           l->n_steps > 0 && l->steps[0].ge != NULL ? l->steps[0].ge->expr : "values");
  return ga__text_finish_named(out, "loop", preamble, "#define LP_NAME %\n", &text);
}
