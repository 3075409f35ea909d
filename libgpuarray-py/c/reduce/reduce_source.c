/* The kernel texts of a reduction: what the words of reduce_text.c stand for. */
#include "c/reduce/reduce_source.h"

#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/reduce/reduce_text.h"
#include "c/reduce/reduce_words.h"

static const char tail[] =
    "#undef RD_INT\n#undef RD_INDEX\n#undef RD_STORE\n#undef RD_STEP\n"
    "#undef RD_LANES\n#undef RD_LANE\n#undef RD_NAME\n#undef RD_MAP\n"
    "#undef RD_COMBINE\n#undef RD_NOTHING\n#undef RD_FINISH\n#undef RD_ACC\n"
    "#undef RD_IDENTITY\n#undef RD_RESULTS\n#undef RD_OUTPUTS\n#undef RD_WIDTH\n"
    "#undef RD_BLOCK\n#undef RD_CPU\n#undef RD_INPUTS\n#undef RD_AXES\n"
    "#undef RD_BEGIN\n#undef RD_KEPT_OFFSETS\n#undef RD_OUTER_POINTERS\n"
    "#undef RD_INNER_POINTERS\n#undef RD_RESULT_STRIDE\n#undef RD_ELEMENT\n"
    "#undef RD_VECTOR\n#undef RD_UNROLL\n#undef RD_HEADS\n"
    "#undef RD_PACKET_POINTERS\n#undef RD_COLUMN_POINTERS\n"
    "#undef RD_PACKETS\n#undef RD_FETCH\n#undef RD_PACKED\n#undef RD_JOIN\n"
    "#undef RD_KEY\n#undef RD_ACC_KEY\n#undef RD_PASSES\n#undef RD_KEPT\n"
    "#undef RD_KEEP\n#undef RD_KEPT_AT\n#undef RD_POSITION_STEP\n"
    "#undef RD_RESULTS_ALIGNED\n#undef RD_RESULT_PACKETS\n#undef RD_RUN\n"
    "#undef RD_RUN_NOTHING\n#undef RD_RUN_ADD\n#undef RD_RUN_END\n#undef RD_WORD\n"
    "#undef RD_MORE\n#undef RD_SHIFTED\n#undef RD_ALIGN\n"
    "#undef RD_TOTALS\n#undef RD_LOAD_TOTAL\n#undef RD_KEEP_TOTAL\n#undef RD_ROWS\n"
    "#undef RD_STRIP\n#undef RD_MANY\n#undef RD_MANY_AT\n#undef RD_LINE\n";

static const char *input_type(const ga_reduce_spec *spec, unsigned int i) {
  return spec->is_parts ? "RD_ACC" : ga__reduce_type(spec->inputs[i].typecode);
}

/* `form` once for each array. */
static void add_arrays(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                       unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_array(&spec->inputs[i]))
      ga__reduce_add_form(sb, form, i, input_type(spec, i), axis);
}

/* ---- the words ---- */

static void add_sizes(ga_strbuf *sb, const ga_reduce_spec *spec,
                      const ga_reduce_shape *shape) {
  ga__strbuf_addf(sb, "#define RD_INT %s\n#define RD_INDEX %s\n",
                  spec->is_wide ? "ga_ssize" : "ga_int",
                  spec->is_wide ? "ga_ulong" : "ga_uint");
  ga__strbuf_addf(sb, "#define RD_WIDTH %u\n#define RD_BLOCK %d\n#define RD_CPU %d\n",
                  shape->width, GA_REDUCE_BLOCK, spec->is_cpu);
  ga__strbuf_add(sb, "#define RD_IDENTITY RD_NOTHING()\n");
  if (spec->is_cpu)
    ga__strbuf_add(sb, "#define RD_ROWS 4\n#define RD_STRIP 16\n");
  if (shape->vector > 0)
    ga__strbuf_addf(sb, "#define RD_VECTOR %u\n#define RD_UNROLL %u\n", shape->vector,
                    shape->unroll);
}

static void add_parameters(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                           unsigned int nr) {
  const bool index = ga__reduce_has_index(spec);
  ga__strbuf_add(sb, "#define RD_OUTPUTS ");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb, "GLOBAL_MEM $ *out@, ga_size out@_off, ", m,
                        ga__reduce_type(spec->results[m].typecode), 0);
  ga__strbuf_add(sb, "\n#define RD_RESULTS(index, value) ");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb, "out@[index] = RD_FINISH(@)(value, reduced); ", m, "", 0);
  ga__strbuf_add(sb, "\n#define RD_INPUTS ");
  for (unsigned int i = 0; i < spec->n; i++)
    ga__reduce_add_form(sb,
                        ga__reduce_is_array(&spec->inputs[i])
                            ? ", GLOBAL_MEM const $ *GA_RESTRICT x@, ga_size x@_off"
                            : ", $ s@",
                        i, input_type(spec, i), 0);
  ga__strbuf_addf(sb, "\n#define RD_AXES %s", index ? ", RD_INT position" : "");
  for (unsigned int k = 0; k < nk; k++) {
    ga__strbuf_addf(sb, ", RD_INT kd%u, ga_ssize ko%u", k, k);
    add_arrays(sb, spec, ", ga_ssize k@_#", k);
  }
  for (unsigned int k = 0; k < nr; k++) {
    ga__strbuf_addf(sb, ", RD_INT rd%u", k);
    add_arrays(sb, spec, ", ga_ssize r@_#", k);
    if (index)
      ga__strbuf_addf(sb, ", RD_INT rp%u", k);
  }
  ga__strbuf_add(sb, "\n#define RD_BEGIN ");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb,
                        "out@ = (GLOBAL_MEM $ *)((GLOBAL_MEM char *)out@ + out@_off); ",
                        m, ga__reduce_type(spec->results[m].typecode), 0);
  add_arrays(sb, spec,
             "x@ = (GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)x@ + x@_off); ", 0);
}

/* Takes `variable`, an index over the first `n` axes of a group, apart; `form` adds
 * what axis # has of it, `at`, to an array's offset, and `own` to what is no array's.
 */
static void add_unravel(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int n,
                        const char *variable, const char *dims, const char *own,
                        const char *form) {
  for (unsigned int k = n; k-- > 0;) {
    ga__strbuf_addf(sb, "{ const RD_INT at = %s", variable);
    if (k > 0)
      ga__strbuf_addf(sb, " %% %s%u; %s /= %s%u", dims, k, variable, dims, k);
    ga__strbuf_add(sb, "; ");
    ga__reduce_add_form(sb, own, 0, "", k);
    add_arrays(sb, spec, form, k);
    ga__strbuf_add(sb, "} ");
  }
}

/* RD_KEPT_OFFSETS: from `rest`, the index over the first `n` kept axes, `w`, the index
 * in the results, and c<i>, the byte offset in array i. RD_OUTER_POINTERS: y<i>, where
 * array i begins for `j`, the index over the outer reduced axes, and `begun`, the
 * position of that element. */
static void add_addresses(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int n,
                          unsigned int nr) {
  const bool index = ga__reduce_has_index(spec);
  ga__strbuf_add(sb, "\n#define RD_KEPT_OFFSETS ga_ssize w = 0; ");
  add_arrays(sb, spec, "ga_ssize c@ = 0; ", 0);
  add_unravel(sb, spec, n, "rest", "kd", "w += at * ko#; ", "c@ += at * k@_#; ");
  ga__strbuf_add(sb, "\n#define RD_OUTER_POINTERS RD_INT left = j; (void)left; ");
  if (index)
    ga__strbuf_add(sb, "RD_INT begun = position; ");
  add_arrays(sb, spec, "ga_ssize d@ = c@; ", 0);
  add_unravel(sb, spec, nr - 1, "left", "rd", index ? "begun += at * rp#; " : "",
              "d@ += at * r@_#; ");
  add_arrays(sb, spec,
             "GLOBAL_MEM const $ *y@ = "
             "(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)x@ + d@); ",
             0);
  ga__strbuf_add(sb, "\n");
}

/* The map of elements, each loaded from `form` (with `axis` for "#"); `at` is the index
 * along the innermost reduced axis. */
static void add_map(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                    unsigned int axis, const char *at, unsigned int last) {
  ga__strbuf_add(sb, "RD_MAP(");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    const char *load = spec->is_parts ? "%" : ga__dtype_load(arg->typecode);
    const char *place = strchr(load, '%');
    ga__strbuf_add(sb, i ? ", " : "");
    ga__strbuf_addn(sb, load, (size_t)(place - load));
    ga__reduce_add_form(sb, ga__reduce_is_array(arg) ? form : "s@", i,
                        input_type(spec, i), axis);
    ga__strbuf_add(sb, place + 1);
  }
  if (ga__reduce_has_index(spec))
    ga__strbuf_addf(sb, ", (RD_INDEX)(begun + (%s) * rp%u)", at, last);
  ga__strbuf_add(sb, ")");
}

/* RD_ELEMENT(p), of rows: the map of element p along the inner axis. */
static void add_row_element(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                            unsigned int nr) {
  ga__strbuf_add(sb, "#undef RD_ELEMENT\n#define RD_ELEMENT(p) ");
  add_map(sb, spec, form, nr - 1, "p", nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* ---- packets ---- */

/* The unsigned type of a packet's bytes. */
static const char *packet_of(int typecode, unsigned int vector) {
  size_t bytes = gpuarray_get_elsize(typecode) * vector;
  return bytes >= 16  ? "ga_uint4"
         : bytes == 8 ? "ga_uint2"
         : bytes == 4 ? "ga_uint"
         : bytes == 2 ? "ga_ushort"
                      : "ga_ubyte";
}

static const char *packet_type(const ga_reduce_spec *spec, unsigned int i,
                               unsigned int vector) {
  return packet_of(spec->inputs[i].typecode, vector);
}

/* As add_arrays, with the packet's type for "$". */
static void add_packets(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int vector,
                        const char *form, unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_array(&spec->inputs[i]))
      ga__reduce_add_form(sb, form, i, packet_type(spec, i, vector), axis);
}

/* RD_PACKETS: p<i>, RD_UNROLL packets of array i. RD_FETCH(u, q): packet u, of element
 * or packet q; `place` is where an array has it, `one` an element of a repeated one. */
static void add_fetch(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int vector,
                      const char *place, const char *one, unsigned int axis) {
  const bool words = ga__reduce_has_words(spec);
  unsigned int arrays = 0;
  ga__strbuf_add(sb, "#define RD_PACKETS ");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_array(&spec->inputs[i]) && ++arrays) {
      ga__strbuf_addf(sb, "union { %s v; %s e[RD_VECTOR]; ",
                      packet_type(spec, i, vector), input_type(spec, i));
      if (words)
        ga__strbuf_addf(sb, "ga_uint w[%zu]; ",
                        vector * gpuarray_get_elsize(spec->inputs[i].typecode) / 4);
      ga__strbuf_addf(sb, "} p%u[RD_UNROLL]; ", i);
    }
  ga__strbuf_add(sb, "\n#define RD_FETCH(u, q) ");
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__reduce_is_array(&spec->inputs[i]))
      continue;
    if (arrays > 1) { /* the only one is not repeated */
      ga__strbuf_addf(sb, "if (mode & %d) { const %s one = ", GA_REDUCE_REPEATED << i,
                      input_type(spec, i));
      ga__reduce_add_form(sb, one, i, input_type(spec, i), axis);
      ga__strbuf_addf(
          sb, "; for (int e_ = 0; e_ < RD_VECTOR; e_++) p%u[u].e[e_] = one; } else ",
          i);
    }
    ga__strbuf_addf(sb, "p%u[u].v = ", i);
    ga__reduce_add_form(sb, place, i, packet_type(spec, i, vector), axis);
    ga__strbuf_add(sb, "; ");
  }
  ga__strbuf_add(sb, "\n#define RD_PACKED(u, v, q) ");
}

static void add_row_packets(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr,
                            unsigned int vector) {
  ga__strbuf_add(sb, "#define RD_HEADS ");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_array(&spec->inputs[i])) {
      ga__strbuf_addf(sb, "if (!(mode & %d)) { ", GA_REDUCE_REPEATED << i);
      ga__reduce_add_form(
          sb,
          "const RD_INT own = (RD_INT)((0 - (ga_size)(y@ + i) / sizeof($)) & "
          "(RD_VECTOR - 1)); same &= head < 0 || head == own; head = own; } ",
          i, input_type(spec, i), 0);
    }
  ga__strbuf_add(sb, "\n#define RD_PACKET_POINTERS ");
  add_packets(sb, spec, vector,
              "GLOBAL_MEM const $ *u@ = (GLOBAL_MEM const $ *)(y@ + i); ", 0);
  ga__strbuf_add(sb, "\n");
  add_fetch(sb, spec, vector, "u@[q]", "*y@", 0);
  add_map(sb, spec, "p@[u].e[v]", 0, "q", nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* Of a pick: RD_KEPT, a packet of each array to keep, RD_KEEP(u), that it is packet u,
 * and RD_KEPT_AT(v, q), the map of its elements v, which are q of the row. */
static void add_kept_packets(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr,
                             unsigned int vector) {
  ga__strbuf_addf(sb, "#define RD_POSITION_STEP rp%u\n#define RD_KEPT ", nr - 1);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_array(&spec->inputs[i]))
      ga__strbuf_addf(sb, "union { %s v; %s e[RD_VECTOR]; } kept%u; ",
                      packet_type(spec, i, vector), input_type(spec, i), i);
  ga__strbuf_add(sb, "\n#define RD_KEEP(u) ");
  add_arrays(sb, spec, "kept@.v = p@[u].v; ", 0);
  ga__strbuf_add(sb, "\n#define RD_KEPT_AT(v, q) ");
  add_map(sb, spec, "kept@.e[v]", 0, "q", nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* RD_ALIGN: `packed` stays where packets are aligned, `shift` columns before the tile's
 * first. */
static void add_column_packets(ga_strbuf *sb, const ga_reduce_spec *spec,
                               unsigned int nk, unsigned int nr, unsigned int vector) {
  ga__strbuf_add(sb, "#define RD_ALIGN ");
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__reduce_is_array(&spec->inputs[i]))
      continue;
    const char *packet = packet_type(spec, i, vector);
    ga__strbuf_addf(sb, "if (!(mode & %d)) { packed &= ((0", GA_REDUCE_REPEATED << i);
    for (unsigned int k = 0; k < nr; k++)
      ga__strbuf_addf(sb, " | (ga_size)r%u_%u", i, k);
    ga__strbuf_addf(sb, ") & (sizeof(%s) - 1)) == 0; ", packet);
    ga__reduce_add_form(sb,
                        "const RD_INT before = (RD_INT)((((ga_size)x@ + (ga_size)c@) & "
                        "(sizeof($) - 1))",
                        i, packet, 0);
    ga__strbuf_addf(sb,
                    " / sizeof(%s)); packed &= shift < 0 || shift == before; "
                    "shift = before; } ",
                    input_type(spec, i));
  }
  ga__strbuf_add(sb, "\n#define RD_COLUMN_POINTERS ");
  add_arrays(sb, spec,
             "GLOBAL_MEM const char *u@ = (GLOBAL_MEM const char *)y@ + own * k@_#; ",
             nk - 1);
  ga__strbuf_add(sb, "\n");
  add_fetch(sb, spec, vector, "*(GLOBAL_MEM const $ *)(u@ + (q) * r@_#)",
            "*(GLOBAL_MEM const $ *)(u@ + (q) * r@_#)", nr - 1);
  add_map(sb, spec, "p@[u].e[v]", 0, "q", nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* RD_RESULT_PACKETS(at): stores the results of neighbouring columns, RD_WIDTH from
 * index `at` on, in packets; RD_RESULTS_ALIGNED(at): whether it may. */
static void add_result_packets(ga_strbuf *sb, const ga_reduce_spec *spec,
                               unsigned int width) {
  ga__strbuf_add(sb, "#define RD_RESULTS_ALIGNED(at) true");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb, " && ((ga_size)(out@ + at) & (sizeof($) - 1)) == 0", m,
                        packet_of(spec->results[m].typecode, width), 0);
  ga__strbuf_add(sb, "\n#define RD_RESULT_PACKETS(at)");
  for (unsigned int m = 0; m < spec->n_results; m++) {
    const int typecode = spec->results[m].typecode;
    const size_t bytes = gpuarray_get_elsize(typecode) * width;
    const char *packet = packet_of(typecode, width);
    ga__strbuf_addf(sb, " { union { %s v[%zu]; %s e[RD_WIDTH]; } r_; ", packet,
                    bytes > 16 ? bytes / 16 : 1, ga__reduce_type(typecode));
    ga__reduce_add_form(sb,
                        "for (int v = 0; v < RD_WIDTH; v++) "
                        "r_.e[v] = RD_FINISH(@)(RD_TOTAL(v), reduced); ",
                        m, "", 0);
    ga__strbuf_addf(sb, "for (int q = 0; q < %zu; q++) ", bytes > 16 ? bytes / 16 : 1);
    ga__reduce_add_form(sb, "((GLOBAL_MEM $ *)(out@ + at))[q] = r_.v[q]; }", m, packet,
                        0);
  }
  ga__strbuf_add(sb, "\n");
}

/* ---- the kernels ---- */

#define STRIDED(pointer, stride)                                                       \
  "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)" pointer "@ + (p) * " stride "@_" \
  "#)"

/* Of a CPU's items one may be alone in its group: what it has in flight then lies side
 * by side, which the compiler must see to make vectors of it. */
static void add_cpu_row_loops(ga_strbuf *sb, const ga_reduce_spec *spec,
                              unsigned int nr) {
  ga__strbuf_add(sb, "      if (mode & 1) {\n");
  add_row_element(sb, spec, "y@[p]", nr);
  if (ga__reduce_is_pick(spec)) {
    ga__strbuf_add(sb, ga__rows_pick_vectors);
    ga__strbuf_add(sb, ga__rows_pick_loop);
    ga__strbuf_add(sb, "#endif\n      } else {\n");
    add_row_element(sb, spec, STRIDED("y", "r"), nr);
    ga__strbuf_add(sb, ga__rows_pick_loop);
    ga__strbuf_add(sb, "      }\n");
    return;
  }
  ga__strbuf_add(sb, ga__rows_vectors);
  ga__strbuf_add(sb, "      if (GA_WARP_SIZE == 1 || lanes == 1) {\n"
                     "#define RD_LANES 1\n#define RD_LANE 0\n");
  ga__strbuf_add(sb, ga__rows_loop);
  ga__strbuf_add(sb, ga__rows_loop_end);
  ga__strbuf_add(sb, "      } else {\n#undef RD_LANES\n#undef RD_LANE\n"
                     "#define RD_LANES lanes\n#define RD_LANE lane\n");
  ga__strbuf_add(sb, ga__rows_loop);
  ga__strbuf_add(sb, ga__rows_loop_end);
  ga__strbuf_add(sb,
                 "      }\n#endif\n      } else {\n#undef RD_LANES\n#undef RD_LANE\n"
                 "#define RD_LANES lanes\n#define RD_LANE lane\n");
  add_row_element(sb, spec, STRIDED("y", "r"), nr);
  ga__strbuf_add(sb, ga__rows_loop);
  ga__strbuf_add(sb, ga__rows_loop_end);
  ga__strbuf_add(sb, "      }\n");
}

static void add_gpu_row_loops(ga_strbuf *sb, const ga_reduce_spec *spec,
                              unsigned int nr, unsigned int vector) {
  ga__strbuf_add(sb, "#define RD_LANES lanes\n#define RD_LANE lane\n");
  add_row_element(sb, spec, STRIDED("y", "r"), nr);
  if (vector > 0) {
    add_row_packets(sb, spec, nr, vector);
    if (ga__reduce_is_pick(spec))
      add_kept_packets(sb, spec, nr, vector);
    ga__strbuf_add(sb, ga__rows_packets);
    ga__strbuf_add(sb, ga__reduce_is_pick(spec) ? ga__rows_picks : ga__rows_runs);
    ga__strbuf_add(sb, ga__rows_rest);
  }
  ga__strbuf_add(sb, ga__rows_loop);
  if (ga__reduce_is_pick(spec))
    ga__strbuf_add(sb, "#pragma unroll 4\n");
  ga__strbuf_add(sb, ga__rows_loop_end);
}

/* The walk over the tile's columns as `form` has their elements. */
static void add_column_loop(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                            unsigned int nk, unsigned int nr) {
  ga__strbuf_add(sb, "#undef RD_ELEMENT\n#define RD_ELEMENT(p) ");
  add_map(sb, spec, form, nk - 1, "i", nr - 1);
  ga__strbuf_add(sb, "\n");
  ga__strbuf_add(sb, ga__columns_loop);
  ga__strbuf_add(sb, "#pragma unroll 2\n");
  ga__strbuf_add(sb, ga__columns_loop_end);
}

/* The accumulators of a CPU's tile: a list for each component, of which compilers make
 * vectors. RD_TOTALS declares them, RD_LOAD_TOTAL(c) declares `total`, that of column
 * c, RD_KEEP_TOTAL(c, a) sets it. */
static void add_totals(ga_strbuf *sb, const ga_reduce_spec *spec) {
  if (spec->n_components == 1) {
    ga__strbuf_add(sb, "#define RD_TOTALS RD_ACC totals[RD_WIDTH];\n"
                       "#define RD_LOAD_TOTAL(c) const RD_ACC total = totals[c];\n"
                       "#define RD_KEEP_TOTAL(c, a) totals[c] = a;\n");
    return;
  }
  ga__strbuf_add(sb, "#define RD_TOTALS");
  for (unsigned int k = 0; k < spec->n_components; k++)
    ga__reduce_add_form(sb, " $ totals#[RD_WIDTH];", 0,
                        ga__reduce_component_type(spec, k), k);
  ga__strbuf_add(sb, "\n#define RD_LOAD_TOTAL(c) RD_ACC total;");
  for (unsigned int k = 0; k < spec->n_components; k++)
    ga__reduce_add_form(sb, " total.v# = totals#[c];", 0, "", k);
  ga__strbuf_add(sb, "\n#define RD_KEEP_TOTAL(c, a) { const RD_ACC kept_ = a;");
  for (unsigned int k = 0; k < spec->n_components; k++)
    ga__reduce_add_form(sb, " totals#[c] = kept_.v#;", 0, "", k);
  ga__strbuf_add(sb, " }\n");
}

/* The walk over a CPU's tile, of which element p of line q of array i is `place` from
 * that line on. */
static void add_cpu_columns(ga_strbuf *sb, const ga_reduce_spec *spec,
                            const char *place, unsigned int nk, unsigned int nr) {
  char form[160];
  snprintf(form, sizeof form,
           "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + (q) * r@_%u + %s)",
           nr - 1, place);
  ga__strbuf_add(sb, "#undef RD_ELEMENT\n#define RD_ELEMENT(q, p) ");
  add_map(sb, spec, form, nk - 1, "q", nr - 1);
  ga__strbuf_add(sb, "\n");
  ga__strbuf_add(sb, ga__columns_cpu_loop);
}

static void add_cpu_column_loops(ga_strbuf *sb, const ga_reduce_spec *spec,
                                 unsigned int nk, unsigned int nr) {
  ga__strbuf_add(sb, ga__columns_cpu);
  ga__strbuf_add(sb, "      if (mode & 1) {\n#define RD_LINE(q) ");
  add_arrays(sb, spec,
             "((GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + (q) * r@_#))",
             nr - 1);
  ga__strbuf_add(sb, "\n");
  add_cpu_columns(sb, spec, "(ga_ssize)(p) * (ga_ssize)sizeof($)", nk, nr);
  ga__strbuf_add(sb, "      } else {\n#undef RD_LINE\n");
  add_cpu_columns(sb, spec, "(p) * k@_#", nk, nr);
  ga__strbuf_add(sb, "      }\n");
  ga__strbuf_add(sb, ga__columns_cpu_end);
}

static void add_columns(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                        unsigned int nr, unsigned int vector) {
  ga__strbuf_addf(sb,
                  "#define RD_SHIFTED %d\n#define RD_RESULT_STRIDE ko%u\n"
                  "#define RD_INNER_POINTERS ",
                  GA_REDUCE_SHIFTED, nk - 1);
  add_arrays(sb, spec,
             "GLOBAL_MEM const $ *z@ = "
             "(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + i * r@_#); ",
             nr - 1);
  ga__strbuf_add(sb, "\n");
  if (vector > 0)
    add_column_packets(sb, spec, nk, nr, vector);
  else
    ga__strbuf_add(sb, "#define RD_ALIGN packed = false;\n");
  if (spec->is_cpu)
    add_totals(sb, spec);
  else
    add_result_packets(sb, spec, ga__reduce_shape(spec, GA_REDUCE_COLUMNS).width);
  ga__strbuf_add(sb, ga__columns_begin);
  add_arrays(sb, spec, "    c@ += first * k@_#;\n", nk - 1);
  if (spec->is_cpu) {
    add_cpu_column_loops(sb, spec, nk, nr);
  } else {
    ga__strbuf_add(sb, ga__columns_gpu);
    if (vector > 0)
      ga__strbuf_add(sb, ga__columns_packets);
    ga__strbuf_add(sb, ga__columns_gpu_loop);
    add_column_loop(sb, spec, STRIDED("z", "k"), nk, nr);
    ga__strbuf_add(sb, ga__columns_gpu_end);
  }
}

/* All but the preamble and the names. */
static void add_kernel(ga_strbuf *sb, const ga_reduce_spec *spec,
                       enum ga_reduce_kind kind, unsigned int nk, unsigned int nr) {
  const ga_reduce_shape shape = ga__reduce_shape(spec, kind);
  const bool rows = kind == GA_REDUCE_ROWS;
  add_sizes(sb, spec, &shape);
  ga__reduce_add_functions(sb, spec);
  if (spec->is_cpu && (rows || !ga__reduce_is_pick(spec)))
    ga__reduce_add_vectors(sb, spec);
  add_parameters(sb, spec, nk, nr);
  add_addresses(sb, spec, rows ? nk : nk - 1, nr);
  if (shape.vector > 0)
    ga__reduce_add_run(sb, spec, kind, nr);
  ga__strbuf_add(sb, ga__reduce_head);
  if (rows) {
    ga__strbuf_add(sb, ga__rows_begin);
    if (spec->is_cpu)
      add_cpu_row_loops(sb, spec, nr);
    else
      add_gpu_row_loops(sb, spec, nr, shape.vector);
    ga__strbuf_add(sb, ga__rows_end);
  } else {
    add_columns(sb, spec, nk, nr, shape.vector);
  }
  ga__strbuf_add(sb, tail);
}

/* Puts `text` behind the preamble and the names, which are made of both: equal names
 * must mean equal kernels. */
static void finish(ga_source *out, ga_strbuf *body, const ga_reduce_spec *spec,
                   const char *stem, const char *text) {
  if (spec->preamble != NULL && spec->preamble[0] != '\0')
    ga__strbuf_addf(body, "%s\n", spec->preamble);
  size_t own = body->length;
  ga__strbuf_add(body, text);
  if (ga__strbuf_status(body) != GA_NO_ERROR)
    return;
  ga__kernel_name(out->name, stem, body->text);
  out->is_closed = ga__kernel_is_closed(spec->preamble);
  body->length = own;
  const char *name = out->name;
  ga__strbuf_addf(body,
                  "#define RD_NAME %s\n#define RD_MAP %s_map\n"
                  "#define RD_COMBINE %s_combine\n#define RD_NOTHING %s_nothing\n"
                  "#define RD_FINISH(m) %s_finish##m\n",
                  name, name, name, name, name);
  if (ga__reduce_is_pick(spec))
    ga__strbuf_addf(body, "#define RD_PASSES %s_passes\n#define RD_JOIN %s_join\n",
                    name, name);
  if (spec->n_components > 1)
    ga__strbuf_addf(body, "#define RD_ACC %s_acc\n", name);
  ga__strbuf_add(body, text);
}

int ga__reduce_source(ga_source *out, const ga_reduce_spec *spec,
                      enum ga_reduce_kind kind, unsigned int nk, unsigned int nr) {
  ga_strbuf text = {0}, body = {0};
  add_kernel(&text, spec, kind, nk, nr);
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR) {
    finish(out, &body, spec, kind == GA_REDUCE_ROWS ? "rows" : "columns", text.text);
    status = ga__strbuf_status(&body);
  }
  ga__strbuf_clear(&text);
  if (status != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return status;
  }
  out->body = body;
  return GA_NO_ERROR;
}
