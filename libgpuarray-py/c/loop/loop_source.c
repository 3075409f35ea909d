/* The kernel text of a loop: what the words (LP_...) of kernels/loop.cl.h stand for. */
#include "c/loop/loop.h"

#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/elemwise/elemwise_text.h"
#include "c/loop/kernels/loop.inc"
#include "c/program/kernel_text.h"

#define CLOSED "GA_SELF_CONTAINED\n" /* first line of a preamble, see ga_source */
#define NAME 32                      /* bytes of a variable's name */

static bool is_read(const ga_loop_operand *o) {
  return o->kind != GA_LOOP_TRACE && o->kind != GA_LOOP_FINAL;
}

static bool has_rows(const ga_loop_operand *o) {
  return o->kind == GA_LOOP_ROW || o->kind == GA_LOOP_TRACE;
}

static const char *type_of(const ga_loop_operand *o) {
  return ga__dtype_ctype(o->array->typecode);
}

/* The variable of a value. */
static const char *variable(char name[NAME], const ga_loop *l, unsigned int value) {
  snprintf(name, NAME, GA_ELEM_PREFIX "v%u", l->root[value]);
  return name;
}

/* ---- rows read ahead ---- */

#define AHEAD 32        /* most iterations that are read ahead */
#define AHEAD_BYTES 64  /* most bytes of registers for an iteration's rows, in all */
#define AHEAD_TEXT 6000 /* most characters of all iterations that stand side by side   \
                         */
#define UNROLLED 4

static size_t text_length(const ga_loop *l) {
  size_t length = 1;
  for (unsigned int i = 0; i < l->n_steps; i++)
    length += strlen(l->steps[i].ge->expr);
  return length;
}

/* Iterations that stand side by side in the text, and rows that are read ahead: enough
 * to hide the latency of memory, as registers permit. Processors read ahead
 * themselves. */
static unsigned int rows_ahead(const ga_loop *l, bool is_cpu) {
  size_t bytes = 0;
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].kind == GA_LOOP_ROW)
      bytes += gpuarray_get_elsize(l->operands[i].array->typecode);
  unsigned int most = bytes > 0 ? AHEAD : UNROLLED;
  while (most > 1 &&
         (most * bytes > 2 * AHEAD_BYTES || most * text_length(l) > AHEAD_TEXT))
    most /= 2;
  return is_cpu ? 1 : most;
}

/* ---- operands ---- */

static void add_parameters(ga_text_part *parameters, ga_text_part *starts,
                           const ga_loop *l) {
  ga_strbuf *sb = &parameters->text;
  for (unsigned int k = 1; k < l->nd; k++)
    ga__strbuf_addf(sb, ", ga_size ga_i_d%u", k);
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (!l->integers[i].turn)
      ga__strbuf_addf(sb, ", ga_long ga_i_v%u", l->integers[i].value);
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    ga__strbuf_addf(sb, ", GLOBAL_MEM %s *ga_i_%u, ga_size ga_i_o%u", type_of(o), i, i);
    if (has_rows(o))
      ga__strbuf_addf(sb, ", ga_ssize ga_i_w%u", i);
    for (unsigned int k = 0; k < l->nd; k++)
      ga__strbuf_addf(sb, ", ga_ssize ga_i_t%u_%u", i, k);
    ga__strbuf_addf(
        &starts->text,
        "ga_i_%u = (GLOBAL_MEM %s *)((GLOBAL_MEM char *)ga_i_%u + ga_i_o%u);\n", i,
        type_of(o), i, i);
  }
}

/* The element's position along each axis, and its place in each operand. */
static void add_places(ga_strbuf *sb, const ga_loop *l) {
  for (unsigned int k = l->nd; k-- > 1;)
    ga__strbuf_addf(sb,
                    "const ga_ssize ga_i_x%u = (ga_ssize)(ga_i_r %% ga_i_d%u);\n"
                    "ga_i_r /= ga_i_d%u;\n",
                    k, k, k);
  ga__strbuf_add(sb, "const ga_ssize ga_i_x0 = (ga_ssize)ga_i_r;\n");
  for (unsigned int i = 0; i < l->n_operands; i++) {
    ga__strbuf_addf(sb, "GLOBAL_MEM %s *ga_i_a%u = ga_i_%u", type_of(&l->operands[i]),
                    i, i);
    for (unsigned int k = 0; k < l->nd; k++)
      ga__strbuf_addf(sb, " + ga_i_x%u * ga_i_t%u_%u", k, i, k);
    ga__strbuf_add(sb, ";\n");
  }
}

/* States and what is the same in all iterations; variables of rows. */
static void add_loads(ga_strbuf *sb, ga_strbuf *first, ga_strbuf *rows,
                      const ga_loop *l, unsigned int ahead) {
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    const char *type = type_of(o);
    if (o->kind == GA_LOOP_STATE || o->kind == GA_LOOP_SAME)
      ga__strbuf_addf(sb, "%s ga_i_v%u = *ga_i_a%u;\n", type, o->value, i);
    if (o->kind != GA_LOOP_ROW)
      continue;
    if (ahead == 1) {
      ga__strbuf_addf(rows, "const %s ga_i_v%u = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n",
                      type, o->value, i, i, i);
      continue;
    }
    ga__strbuf_addf(first,
                    "%s ga_i_b%u[LP_AHEAD];\n#pragma unroll\n"
                    "for (ga_uint ga_i_u = 0; ga_i_u < LP_AHEAD; ga_i_u++)\n"
                    "if (ga_i_u < ga_i_turns) {\nga_i_b%u[ga_i_u] = *ga_i_a%u;\n"
                    "ga_i_a%u += ga_i_w%u;\n}\n",
                    type, i, i, i, i, i);
    ga__strbuf_addf(rows,
                    "const %s ga_i_v%u = ga_i_b%u[ga_i_u];\n"
                    "if (ga_i_turns - ga_i_t > LP_AHEAD) {\n"
                    "ga_i_b%u[ga_i_u] = *ga_i_a%u;\nga_i_a%u += ga_i_w%u;\n}\n",
                    type, o->value, i, i, i, i, i);
  }
}

/* Only the first element along an axis that the operand lacks writes it. */
static void add_store(ga_strbuf *sb, const ga_loop *l, unsigned int i) {
  const ga_loop_operand *o = &l->operands[i];
  char name[NAME];
  const char *between = "if (";
  for (unsigned int k = 0; k < l->nd; k++)
    if (o->lacks[k]) {
      ga__strbuf_addf(sb, "%sga_i_x%u == 0", between, k);
      between = " && ";
    }
  ga__strbuf_addf(sb, "%s*ga_i_a%u = %s;\n", between[0] == ' ' ? ") " : "", i,
                  variable(name, l, o->value));
  if (o->kind == GA_LOOP_TRACE)
    ga__strbuf_addf(sb, "ga_i_a%u += ga_i_w%u;\n", i, i);
}

/* States take their next values all at once: one may be another's. */
static void add_carry(ga_strbuf *sb, const ga_loop *l) {
  char name[NAME];
  for (unsigned int i = 0; i < l->n_operands; i++) {
    const ga_loop_operand *o = &l->operands[i];
    if (o->kind == GA_LOOP_STATE)
      ga__strbuf_addf(sb, "const %s ga_i_n%u = %s;\n", type_of(o), i,
                      variable(name, l, o->next));
  }
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (l->operands[i].kind == GA_LOOP_STATE)
      ga__strbuf_addf(sb, "ga_i_v%u = ga_i_n%u;\n", l->operands[i].value, i);
  if (l->stop >= 0)
    ga__strbuf_addf(sb, "if (ga_i_v%d) ga_i_end = ga_i_t + 1;\n", l->stop);
}

/* ---- steps ---- */

static void add_step(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step) {
  const GpuElemwise *ge = step->ge;
  char name[NAME];
  for (unsigned int i = 0; i < ge->n_out; i++)
    ga__strbuf_addf(sb, "%s ga_i_v%u;\n", ga__dtype_ctype(ge->args[i].typecode),
                    step->outs[i]);
  ga__strbuf_add(sb, "{");
  for (unsigned int i = 0; i < ge->n; i++) {
    const bool scalar = ga__elemwise_is_scalar(ge, i);
    if (i >= ge->n_out)
      variable(name, l, step->ins[i - ge->n_out]);
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

static void add_steps(ga_strbuf *sb, const ga_loop *l) {
  for (unsigned int i = 0; i < l->n_integers; i++)
    if (l->integers[i].turn)
      ga__strbuf_addf(sb, "const ga_long ga_i_v%u = ga_i_t;\n", l->integers[i].value);
  for (unsigned int i = 0; i < l->n_steps; i++)
    add_step(sb, l, &l->steps[i]);
}

/* ---- preambles ---- */

/* What a preamble adds to the text. */
static const char *own_text(const ga_loop_step *step) {
  const char *preamble = step->ge->preamble;
  return strncmp(preamble, CLOSED, strlen(CLOSED)) == 0 ? preamble + strlen(CLOSED)
                                                        : preamble;
}

/* The preamble of all steps: at most one of them adds text, or all the same. */
static bool common_preamble(const char **out, const ga_loop *l) {
  *out = CLOSED;
  for (unsigned int i = 0; i < l->n_steps; i++) {
    const char *preamble = l->steps[i].ge->preamble;
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
  const size_t most = 2 + l->nd + l->n_integers + l->n_operands * (3 + (size_t)l->nd);
  return common_preamble(&preamble, l) && most <= GA_MAX_ARGS && most * 8 <= 3800;
}

int ga__loop_source(ga_source *out, const ga_loop *l, bool is_cpu) {
  enum {
    PARAMETERS,
    STARTS,
    PLACES,
    LOADS,
    FIRST,
    ROWS,
    STEPS,
    TRACES,
    CARRY,
    FINALS,
    N
  };
  ga_text_part parts[N] = {{.name = "LP_PARAMETERS"}, {.name = "LP_STARTS"},
                           {.name = "LP_PLACES"},     {.name = "LP_LOADS"},
                           {.name = "LP_FIRST_ROWS"}, {.name = "LP_ROWS"},
                           {.name = "LP_STEPS"},      {.name = "LP_TRACES"},
                           {.name = "LP_CARRY"},      {.name = "LP_FINALS"}};
  const unsigned int ahead = rows_ahead(l, is_cpu);
  const char *preamble = NULL;
  ga_strbuf text = {0};
  common_preamble(&preamble, l);
  add_parameters(&parts[PARAMETERS], &parts[STARTS], l);
  add_places(&parts[PLACES].text, l);
  add_loads(&parts[LOADS].text, &parts[FIRST].text, &parts[ROWS].text, l, ahead);
  add_steps(&parts[STEPS].text, l);
  add_carry(&parts[CARRY].text, l);
  for (unsigned int i = 0; i < l->n_operands; i++)
    if (!is_read(&l->operands[i]))
      add_store(&parts[l->operands[i].kind == GA_LOOP_TRACE ? TRACES : FINALS].text, l,
                i);
  ga__strbuf_addf(&text, "#define LP_AHEAD %u\n", ahead);
  ga__text_add_parts(&text, loop_text, parts, N);
  out->is_closed = ga__kernel_is_closed(preamble);
  snprintf(out->title, sizeof out->title, "loop of %s",
           l->n_steps > 0 ? l->steps[0].ge->expr : "nothing");
  return ga__text_finish_named(out, "loop", preamble, "#define LP_NAME %\n", &text);
}
