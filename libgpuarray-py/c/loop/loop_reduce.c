/* The text of a reduction of all elements of an iteration, within a group. */
#include "c/loop/loop_text.h"

#include "c/base/dtype.h"
#include "c/elemwise/elemwise_text.h"
#include "c/loop/kernels/loop_reduce_cpu.inc"
#include "c/loop/kernels/loop_reduce_gpu.inc"
#include "c/loop/kernels/loop_reduce_pieces.inc"
#include "c/reduce/reduce_words.h"

#define LANES "16" /* accumulators that an item of a CPU combines side by side */

const char *ga__loop_accumulator(const ga_loop_step *step) {
  return ga__dtype_work_ctype(step->reduction->spec.components[0].typecode);
}

static bool is_complex(int typecode) {
  return ga__dtype_kind(typecode) == 'c';
}

bool ga__loop_takes_reduction(const GpuReduction *gr) {
  const ga_reduce_spec *spec = &gr->spec;
  const unsigned int flags = GA_REDUCTION_INDEX | GA_REDUCTION_FIRST;
  return spec->n_components == 1 && spec->n_results == 1 && !(spec->flags & flags) &&
         spec->components[0].typecode != GA_SIZE && !ga__reduce_has_numbers(spec) &&
         is_complex(spec->components[0].typecode) ==
             is_complex(spec->results[0].typecode);
}

/* Declares the inputs, in the types of the expressions. */
static void add_inputs(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step) {
  const ga_reduce_spec *spec = &step->reduction->spec;
  char name[GA_LOOP_NAME];
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    ga__strbuf_addf(sb, "const %s %s = ", ga__dtype_work_ctype(arg->typecode),
                    arg->name);
    ga__strbuf_fill(sb, arg->flags & GE_SCALAR ? "%" : ga__dtype_load(arg->typecode),
                    ga__loop_variable(name, l, step->ins[i]));
    ga__strbuf_add(sb, ";\n");
  }
}

/* The accumulators of all elements become one, by a text of kernels/. */
static void add_combination(ga_strbuf *sb, const ga_loop_step *step, const char *own,
                            const char *text) {
  ga_text_part parts[] = {{.name = "LP_TYPE"},
                          {.name = "LP_OWN"},
                          {.name = "LP_SHARED"},
                          {.name = "LP_COMBINE"},
                          {.name = "LP_LANES"}};
  ga__strbuf_add(&parts[0].text, ga__loop_accumulator(step));
  ga__strbuf_add(&parts[1].text, own);
  ga__strbuf_addf(&parts[2].text, "ga_i_h%u", step->outs[0]);
  ga__strbuf_add(&parts[3].text, step->reduction->spec.components[0].combine);
  ga__strbuf_add(&parts[4].text, LANES);
  ga__text_add_parts(sb, text, parts, 5);
}

void ga__loop_add_map(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step,
                      const char *own, const char *condition) {
  const ga_reduce_spec *spec = &step->reduction->spec;
  const gpureduction_component *c = &spec->components[0];
  const char *type = ga__loop_accumulator(step);
  ga__strbuf_add(sb, "{\n");
  add_inputs(sb, l, step);
  ga__strbuf_addf(sb, "%s\n%s = %s ? (%s)(%s) : (%s)(%s);\n}\n",
                  spec->prologue ? spec->prologue : "", own, condition, type, c->map,
                  type, c->identity);
}

void ga__loop_add_own(ga_strbuf *before, ga_strbuf *within, const ga_loop_step *step,
                      const char *own, const char *place) {
  const gpureduction_component *c = &step->reduction->spec.components[0];
  const char *type = ga__loop_accumulator(step);
  const unsigned int out = step->outs[0];
  ga__strbuf_addf(before, "#if GA_WARP_SIZE > 1\n%s %s = (%s)(%s);\n#endif\n", type,
                  own, type, c->identity);
  ga__strbuf_addf(within,
                  "#if GA_WARP_SIZE > 1\n{\nconst %s a = %s, b = ga_i_y%u;\n"
                  "%s = %s;\n}\n#else\n%s%s = ga_i_y%u;\n#endif\n",
                  type, own, out, own, c->combine, own, place, out);
}

/* The result, of the accumulator `all` of all elements. */
static void add_result(ga_strbuf *sb, const ga_loop_step *step, const char *all,
                       const char *after) {
  const gpureduction_result *r = &step->reduction->spec.results[0];
  ga__strbuf_addf(sb,
                  "const %s v0 = %s, v = v0;\nconst ga_ulong n = ga_i_n;\n"
                  "(void)v;\n(void)v0;\n(void)n;\n%sga_i_v%u = ",
                  ga__loop_accumulator(step), all, after, step->outs[0]);
  ga__strbuf_fill(sb, ga__dtype_store(r->typecode), r->epilogue ? r->epilogue : "v");
  ga__strbuf_add(sb, ";\n}\n");
}

static void declare_result(ga_strbuf *sb, const ga_loop_step *step) {
  ga__strbuf_addf(sb, "%s ga_i_v%u;\n{\n",
                  ga__dtype_ctype(step->reduction->spec.results[0].typecode),
                  step->outs[0]);
}

void ga__loop_add_combination(ga_strbuf *sb, const ga_loop_step *step,
                              const char *own) {
  declare_result(sb, step);
  add_combination(sb, step, own, loop_reduce_pieces_text);
  add_result(sb, step, "ga_i_s", "");
}

void ga__loop_add_reduction(ga_text_part *locals, ga_strbuf *sb, const ga_loop *l,
                            const ga_loop_step *step, bool is_cpu) {
  char own[GA_LOOP_NAME], element[GA_LOOP_NAME + 8];
  snprintf(own, sizeof own, "ga_i_l%u", step->outs[0]);
  ga__strbuf_addf(&locals->text, "LOCAL_MEM %s %s[LP_MOST];\n",
                  ga__loop_accumulator(step), own);
  declare_result(sb, step);
  snprintf(element, sizeof element, "%s[LID_0]", own);
  ga__loop_add_map(sb, l, step, element, "ga_i_active");
  ga__strbuf_add(sb, "local_barrier();\n");
  add_combination(sb, step, own, is_cpu ? loop_reduce_cpu_text : loop_reduce_gpu_text);
  snprintf(element, sizeof element, "%s[0]", own);
  add_result(sb, step, element, "local_barrier();\n");
}
