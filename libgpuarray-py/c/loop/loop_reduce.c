/* The text of a reduction of all elements of an iteration, within a group. */
#include "c/loop/loop_text.h"

#include "c/base/dtype.h"
#include "c/elemwise/elemwise_text.h"
#include "c/loop/kernels/loop_reduce_cpu.inc"
#include "c/loop/kernels/loop_reduce_gpu.inc"
#include "c/reduce/reduce_words.h"

#define LANES "16" /* accumulators that an item of a CPU combines side by side */

/* The type of the accumulator. */
static const char *type_of(const ga_reduce_spec *spec) {
  return ga__dtype_work_ctype(spec->components[0].typecode);
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

/* The accumulators of all items become one. */
static void add_combination(ga_strbuf *sb, const ga_reduce_spec *spec, const char *own,
                            bool is_cpu) {
  ga_text_part parts[] = {{.name = "LP_TYPE"},
                          {.name = "LP_OWN"},
                          {.name = "LP_COMBINE"},
                          {.name = "LP_LANES"}};
  ga__strbuf_add(&parts[0].text, type_of(spec));
  ga__strbuf_add(&parts[1].text, own);
  ga__strbuf_add(&parts[2].text, spec->components[0].combine);
  ga__strbuf_add(&parts[3].text, LANES);
  ga__text_add_parts(sb, is_cpu ? loop_reduce_cpu_text : loop_reduce_gpu_text, parts,
                     4);
}

void ga__loop_add_reduction(ga_text_part *locals, ga_strbuf *sb, const ga_loop *l,
                            const ga_loop_step *step, bool is_cpu) {
  const ga_reduce_spec *spec = &step->reduction->spec;
  const gpureduction_component *c = &spec->components[0];
  const gpureduction_result *r = &spec->results[0];
  const char *type = type_of(spec);
  char own[GA_LOOP_NAME];
  ga__strbuf_addf(&locals->text, "LOCAL_MEM %s ga_i_l%u[LP_MOST];\n", type,
                  step->outs[0]);
  snprintf(own, sizeof own, "ga_i_l%u", step->outs[0]);
  ga__strbuf_addf(sb, "%s ga_i_v%u;\n{\n{\n", ga__dtype_ctype(r->typecode),
                  step->outs[0]);
  add_inputs(sb, l, step);
  ga__strbuf_addf(sb, "%s\n%s[LID_0] = ga_i_active ? (%s)(%s) : (%s)(%s);\n}\n",
                  spec->prologue ? spec->prologue : "", own, type, c->map, type,
                  c->identity);
  ga__strbuf_add(sb, "local_barrier();\n");
  add_combination(sb, spec, own, is_cpu);
  ga__strbuf_addf(sb,
                  "const %s v0 = %s[0], v = v0;\nconst ga_ulong n = ga_i_n;\n"
                  "(void)v;\n(void)v0;\n(void)n;\nlocal_barrier();\nga_i_v%u = ",
                  type, own, step->outs[0]);
  ga__strbuf_fill(sb, ga__dtype_store(r->typecode), r->epilogue ? r->epilogue : "v");
  ga__strbuf_add(sb, ";\n}\n");
}
