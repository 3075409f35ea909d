/* The text of a reduction of all elements of an iteration, within a group. */
#include "c/loop/loop_text.h"

#include "c/base/dtype.h"
#include "c/elemwise/elemwise_text.h"
#include "c/reduce/reduce_words.h"

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

/* Accumulators that one item of a CPU combines side by side: a vector of them. */
#define LANES 16

/* All accumulators become one, by the group's first item. */
static void add_combination_of_all(ga_strbuf *sb, const ga_reduce_spec *spec,
                                   const char *own) {
  const char *type = type_of(spec), *combine = spec->components[0].combine;
  ga__strbuf_addf(sb,
                  "if (LID_0 == 0) {\n%s ga_i_w[%d], ga_i_s = %s[0];\n"
                  "ga_uint ga_i_k = 1;\n"
                  "if (LDIM_0 >= 2 * %d) {\n"
                  "for (ga_uint ga_i_j = 0; ga_i_j < %d; ga_i_j++)\n"
                  "ga_i_w[ga_i_j] = %s[ga_i_j];\n"
                  "for (ga_i_k = %d; ga_i_k + %d <= LDIM_0; ga_i_k += %d)\n"
                  "for (ga_uint ga_i_j = 0; ga_i_j < %d; ga_i_j++) {\n"
                  "const %s a = ga_i_w[ga_i_j], b = %s[ga_i_k + ga_i_j];\n"
                  "ga_i_w[ga_i_j] = %s;\n}\nga_i_s = ga_i_w[0];\n"
                  "for (ga_uint ga_i_j = 1; ga_i_j < %d; ga_i_j++) {\n"
                  "const %s a = ga_i_s, b = ga_i_w[ga_i_j];\nga_i_s = %s;\n}\n}\n",
                  type, LANES, own, LANES, LANES, own, LANES, LANES, LANES, LANES, type,
                  own, combine, LANES, type, combine);
  ga__strbuf_addf(sb,
                  "for (; ga_i_k < LDIM_0; ga_i_k++) {\n"
                  "const %s a = ga_i_s, b = %s[ga_i_k];\nga_i_s = %s;\n}\n"
                  "%s[0] = ga_i_s;\n}\nlocal_barrier();\n",
                  type, own, combine, own);
}

/* The accumulators of two items become one; on a CPU an item goes through all. */
static void add_combination(ga_strbuf *sb, const ga_reduce_spec *spec, const char *own,
                            bool is_cpu) {
  const char *type = type_of(spec), *combine = spec->components[0].combine;
  if (is_cpu)
    add_combination_of_all(sb, spec, own);
  else
    ga__strbuf_addf(sb,
                    "for (ga_uint ga_i_k = LDIM_0 / 2; ga_i_k > 0; ga_i_k /= 2) {\n"
                    "if (LID_0 < ga_i_k) {\n"
                    "const %s a = %s[LID_0], b = %s[LID_0 + ga_i_k];\n"
                    "%s[LID_0] = %s;\n}\nlocal_barrier();\n}\n",
                    type, own, own, own, combine);
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
