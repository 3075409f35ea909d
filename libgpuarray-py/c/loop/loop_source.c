/* The kernel texts of a loop: what the words (LP_...) of the files in kernels/ stand
 * for. */
#include "c/loop/loop_text.h"

#include <string.h>

#include "c/loop/kernels/loop_gpu.inc"
#include "c/loop/kernels/loop_group.inc"
#include "c/loop/kernels/loop_pieces.inc"

#define CLOSED "GA_SELF_CONTAINED\n" /* first line of a preamble, see ga_source */

/* ---- parameters and places ---- */

static void add_parameters(ga_text_part *parts, const ga_loop *l) {
  ga_strbuf *sb = &parts[LP_PARAMETERS].text;
  for (unsigned int k = 1; k < l->nd; k++)
    ga__strbuf_addf(sb, ", ga_size ga_i_d%u", k);
  if (l->n_total > 0)
    ga__strbuf_add(sb, ", ga_uint ga_i_total");
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (!l->integers[i].is_iteration)
      ga__strbuf_addf(sb, ", ga_long ga_i_v%u", l->integers[i].value);
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    ga__strbuf_addf(sb, ", GLOBAL_MEM %s *ga_i_%u, ga_size ga_i_o%u", ga__loop_type(o),
                    i, i);
    if (ga__loop_has_rows(o))
      ga__strbuf_addf(sb, ", ga_ssize ga_i_w%u", i);
    for (unsigned int k = 0; k < l->nd; k++)
      if (ga__loop_has_stride(l, i, k))
        ga__strbuf_addf(sb, ", ga_ssize ga_i_t%u_%u", i, k);
    ga__strbuf_addf(
        &parts[LP_STARTS].text,
        "ga_i_%u = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)ga_i_%u + ga_i_o%u);\n", i,
        ga__loop_type(o), i, i);
  }
}

/* The place of the thread's first element in each operand. */
static void add_places(ga_strbuf *sb, const ga_loop *l) {
  char position[GA_LOOP_NAME];
  for (unsigned int i = 0; i < l->n_operands; i++) {
    ga__strbuf_addf(sb, "GLOBAL_MEM %s *ga_i_a%u = ga_i_%u",
                    ga__loop_type(&l->operands[i]), i, i);
    for (unsigned int k = 0; k < l->nd; k++) {
      snprintf(position, sizeof position, "ga_i_x%u", k);
      ga__loop_add_term(sb, l, i, k, position);
    }
    ga__strbuf_add(sb, ";\n");
  }
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
  const char *type = ga__loop_type(o);
  ga__strbuf_addf(&parts[LP_LOADS].text,
                  "%s ga_i_b%u[LP_AHEAD], ga_i_c%u[LP_AHEAD];\n"
                  "LP_EACH if (ga_i_u < ga_i_end) {\n"
                  "ga_i_b%u[ga_i_u] = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n}\n",
                  type, i, i, i, i, i, i);
  ga__strbuf_addf(&parts[LP_NEXT].text,
                  "LP_EACH ga_i_c%u[ga_i_u] = ga_i_b%u[ga_i_u];\n"
                  "LP_EACH if (ga_i_end - ga_i_from > LP_AHEAD + ga_i_u) {\n"
                  "ga_i_b%u[ga_i_u] = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n}\n",
                  i, i, i, i, i, i);
  ga__strbuf_addf(&parts[LP_VALUES].text, "const %s ga_i_v%u = ga_i_c%u[ga_i_u];\n",
                  type, o->value, i);
}

/* Complex constants of a loop that reduces: Intel's compiler takes a part of a vector
 * that does not change out of the loop, and over the barrier, where all items then have
 * that of the last one. */
static bool is_loaded_again(const ga_loop *l, const ga_loop_operand *o) {
  return l->reduces && o->kind == GA_LOOP_SAME &&
         ga__dtype_kind(o->array->typecode) == 'c';
}

/* States and constants are variables. */
static void add_operand_gpu(ga_text_part *parts, const ga_loop *l, unsigned int i) {
  const ga_loop_operand *o = &l->operands[i];
  char name[GA_LOOP_NAME], last[GA_LOOP_NAME];
  snprintf(last, sizeof last, "ga_i_x%u", l->nd - 1);
  if (o->kind == GA_LOOP_ROW && l->reduces) {
    ga__strbuf_addf(&parts[LP_VALUES].text,
                    "const %s ga_i_v%u = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n",
                    ga__loop_type(o), o->value, i, i, i);
  } else if (o->kind == GA_LOOP_ROW) {
    add_sequence_gpu(parts, o, i);
  } else if (o->kind == GA_LOOP_TRACE || o->kind == GA_LOOP_FINAL) {
    ga_strbuf *sb = &parts[o->kind == GA_LOOP_TRACE ? LP_TRACES : LP_FINALS].text;
    ga__loop_add_condition(sb, l, o, l->reduces ? "ga_i_active" : NULL, last);
    ga__strbuf_addf(sb, "*ga_i_a%u = %s;\n", i, ga__loop_variable(name, l, o->value));
    if (o->kind == GA_LOOP_TRACE)
      ga__strbuf_addf(sb, "ga_i_a%u += ga_i_w%u;\n", i, i);
  } else if (o->is_zero) {
    ga__strbuf_addf(&parts[LP_LOADS].text, "%s ga_i_v%u = %s;\n", ga__loop_type(o),
                    o->value, ga__loop_zero(o->array->typecode));
  } else {
    const int at = is_loaded_again(l, o) ? LP_VALUES : LP_LOADS;
    ga__strbuf_addf(&parts[at].text, "%s ga_i_v%u = *ga_i_a%u;\n", ga__loop_type(o),
                    o->value, i);
  }
}

static void add_gpu(ga_text_part *parts, ga_strbuf *words, const ga_loop *l) {
  ga__loop_add_split(&parts[LP_SPLIT].text, l->nd - 1);
  for (unsigned int i = 0; i < l->n_operands; i++)
    add_operand_gpu(parts, l, i);
  if (l->stop >= 0)
    ga__strbuf_addf(&parts[LP_STOP].text, "if (ga_i_v%d) %s;", l->stop,
                    l->reduces ? "break" : "ga_i_end = ga_i_t + 1");
  ga__strbuf_addf(words, "#define LP_AHEAD %u\n", rows_ahead(l));
}

/* ---- steps ---- */

static void add_steps(ga_text_part *parts, const ga_loop *l, bool is_cpu) {
  ga_strbuf *sb = &parts[LP_STEPS].text;
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (l->integers[i].is_iteration)
      ga__strbuf_addf(sb, "const ga_long ga_i_v%u = LP_FIRST + ga_i_t;\n",
                      l->integers[i].value);
  for (unsigned int i = 0; i < l->n_steps; i++)
    if (l->steps[i].ge != NULL)
      ga__loop_add_step(sb, l, &l->steps[i]);
    else
      ga__loop_add_reduction(&parts[LP_LOCALS], sb, l, &l->steps[i], is_cpu);
}

/* States take their next values all at once: one may be another's. */
static void add_carry(ga_strbuf *sb, const ga_loop *l) {
  char name[GA_LOOP_NAME];
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->kind == GA_LOOP_STATE)
      ga__strbuf_addf(sb, "const %s ga_i_n%u = %s;\n", ga__loop_type(o), i,
                      ga__loop_variable(name, l, o->next));
  }
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].kind == GA_LOOP_STATE)
      ga__strbuf_addf(sb, "ga_i_v%u = ga_i_n%u;\n", l->operands[i].value, i);
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

/* Iterations of a chunk: LP_END is their number, LP_FIRST the number of the first. */
static void add_chunk_words(ga_strbuf *words, const ga_loop *l) {
  if (l->n_total > 0)
    ga__strbuf_addf(words,
                    "#define LP_FIRST ((ga_uint)ga_i_x%u * ga_i_turns)\n"
                    "#define LP_END (ga_i_total - LP_FIRST < ga_i_turns ? "
                    "ga_i_total - LP_FIRST : ga_i_turns)\n",
                    l->chunk_axis);
  else
    ga__strbuf_add(words, "#define LP_FIRST 0u\n#define LP_END ga_i_turns\n");
}

/* The text of a form in which an item has one element. */
static void add_items(ga_text_part *parts, ga_strbuf *words, const ga_loop *l,
                      bool is_cpu) {
  add_chunk_words(words, l);
  add_gpu(parts, words, l);
  add_steps(parts, l, is_cpu);
  add_carry(&parts[LP_CARRY].text, l);
}

static const char *text_of(const ga_loop *l) {
  if (ga__loop_has_pieces(l->form))
    return loop_pieces_text;
  return l->form == GA_LOOP_IN_GROUP ? loop_group_text : loop_gpu_text;
}

int ga__loop_source(ga_source *out, const ga_loop *l, bool is_cpu) {
#define PART(name) [name] = {#name}
  ga_text_part parts[GA_LOOP_PARTS] = {
      PART(LP_PARAMETERS), PART(LP_LOCALS),  PART(LP_STARTS), PART(LP_SPLIT),
      PART(LP_PLACES),     PART(LP_LOADS),   PART(LP_NEXT),   PART(LP_VALUES),
      PART(LP_STEPS),      PART(LP_TRACES),  PART(LP_CARRY),  PART(LP_UNIFORMS),
      PART(LP_PASSES),     PART(LP_ADVANCE), PART(LP_STOP),   PART(LP_FINALS),
      PART(LP_LASTS)};
#undef PART
  const char *preamble = NULL;
  ga_strbuf text = {0};
  int status = GA_NO_ERROR;
  common_preamble(&preamble, l);
  add_parameters(parts, l);
  add_places(&parts[LP_PLACES].text, l);
  if (ga__loop_has_pieces(l->form))
    status = ga__loop_add_pieces(parts, &text, l);
  else
    add_items(parts, &text, l, is_cpu);
  ga__text_add_parts(&text, text_of(l), parts, GA_LOOP_PARTS);
  if (status != GA_NO_ERROR) {
    ga__strbuf_clear(&text);
    return status;
  }
  out->is_closed = ga__kernel_is_closed(preamble);
  snprintf(out->title, sizeof out->title, "loop of %s",
           l->n_steps > 0 && l->steps[0].ge != NULL ? l->steps[0].ge->expr : "values");
  return ga__text_finish_named(out, "loop", preamble, "#define LP_NAME %\n", &text);
}
