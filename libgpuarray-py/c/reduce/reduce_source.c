/* Source generator of reduction kernels: the macros for the files in kernels/. */
#include "c/reduce/reduce_kernel.h"

#include <stdio.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/reduce/kernels/columns.inc"
#include "c/reduce/kernels/rows.inc"
#include "c/reduce/reduce_elements.h"
#include "c/reduce/reduce_words.h"

/* ---- macros ---- */

static void add_sizes(ga_strbuf *sb, const ga_reduce_spec *spec,
                      const ga_reduce_shape *shape) {
  ga__strbuf_addf(sb,
                  "#define RD_INT %s\n#define RD_INDEX %s\n#define RD_WIDTH %u\n"
                  "#define RD_BLOCK %d\n#define RD_CPU %d\n#define RD_PICK %d\n"
                  "#define RD_VECTOR %u\n#define RD_UNROLL %u\n#define RD_SHIFTED %d\n"
                  "#define RD_NUMBERS %d\n#define RD_ROWS %d\n#define RD_STRIP 16\n"
                  "#define RD_IDENTITY RD_NOTHING()\n",
                  spec->is_wide ? "ga_ssize" : "ga_int",
                  spec->is_wide ? "ga_ulong" : "ga_uint", shape->width, GA_REDUCE_BLOCK,
                  spec->is_cpu, ga__reduce_is_pick(spec), shape->vector, shape->unroll,
                  GA_REDUCE_SHIFTED, ga__reduce_has_numbers(spec),
                  ga__reduce_has_numbers(spec) ? 1 : 4);
}

static void add_parameters(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                           unsigned int nr) {
  const bool index = ga__reduce_has_index(spec);
  ga__strbuf_add(sb, "#define RD_OUTPUTS ");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb, "GLOBAL_MEM $ *out@, ga_size out@_off, ", m,
                        ga__dtype_ctype(spec->results[m].typecode), 0);
  ga__strbuf_add(sb, "\n#define RD_RESULTS(index, value) ");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb, "out@[index] = RD_FINISH(@)(value, reduced); ", m, "", 0);
  ga__strbuf_add(sb, "\n#define RD_INPUTS ");
  for (unsigned int i = 0; i < spec->n; i++)
    ga__reduce_add_form(sb,
                        ga__elem_is_array(&spec->inputs[i])
                            ? ", GLOBAL_MEM const $ *GA_APART x@, ga_size x@_off"
                        : ga__elem_is_index(&spec->inputs[i]) ? ", ga_size x@_off"
                                                              : ", $ s@",
                        i, ga__reduce_input_type(spec, i), 0);
  ga__strbuf_addf(sb, "\n#define RD_AXES %s", index ? ", RD_INT position" : "");
  for (unsigned int k = 0; k < nk; k++) {
    ga__strbuf_addf(sb, ", RD_INT kd%u, ga_ssize ko%u", k, k);
    ga__reduce_add_walked(sb, spec, ", ga_ssize k@_#", k);
  }
  for (unsigned int k = 0; k < nr; k++) {
    ga__strbuf_addf(sb, ", RD_INT rd%u", k);
    ga__reduce_add_walked(sb, spec, ", ga_ssize r@_#", k);
    if (index)
      ga__strbuf_addf(sb, ", RD_INT rp%u", k);
  }
  ga__strbuf_add(sb, "\n#define RD_BEGIN ");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb,
                        "out@ = (GLOBAL_MEM $ *)((GLOBAL_MEM char *)out@ + out@_off); ",
                        m, ga__dtype_ctype(spec->results[m].typecode), 0);
  ga__reduce_add_arrays(
      sb, spec, "x@ = (GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)x@ + x@_off); ",
      0);
}

/* Unravels `variable`, a linear index over the first `n` axes; `form` adds index `at`
 * of axis # to an array's offset, `own` to the other offsets. */
static void add_unravel(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int n,
                        const char *variable, const char *dims, const char *own,
                        const char *form) {
  for (unsigned int k = n; k-- > 0;) {
    ga__strbuf_addf(sb, "{ const RD_INT at = %s", variable);
    if (k > 0)
      ga__strbuf_addf(sb, " %% %s%u; %s /= %s%u", dims, k, variable, dims, k);
    ga__strbuf_add(sb, "; ");
    ga__reduce_add_form(sb, own, 0, "", k);
    ga__reduce_add_walked(sb, spec, form, k);
    ga__strbuf_add(sb, "} ");
  }
}

/* RD_KEPT_OFFSETS: from `rest`, the linear index of the kept axes, the result's index
 * `w` and the byte offsets c<i>. RD_OUTER_POINTERS: from `j`, the linear index of the
 * outer reduced axes, the pointers y<i> (numbers of elements have numbers in place of
 * pointers) and the position `begun`. */
static void add_addresses(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int n,
                          unsigned int nr) {
  const bool index = ga__reduce_has_index(spec);
  ga__strbuf_add(sb, "\n#define RD_KEPT_OFFSETS ga_ssize w = 0; ");
  ga__reduce_add_walked(sb, spec, "ga_ssize c@ = 0; ", 0);
  add_unravel(sb, spec, n, "rest", "kd", "w += at * ko#; ", "c@ += at * k@_#; ");
  ga__strbuf_add(sb, "\n#define RD_OUTER_POINTERS RD_INT left = j; (void)left; ");
  if (index)
    ga__strbuf_add(sb, "RD_INT begun = position; ");
  ga__reduce_add_walked(sb, spec, "ga_ssize d@ = c@; ", 0);
  add_unravel(sb, spec, nr - 1, "left", "rd", index ? "begun += at * rp#; " : "",
              "d@ += at * r@_#; ");
  ga__reduce_add_arrays(sb, spec,
                        "GLOBAL_MEM const $ *y@ = "
                        "(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)x@ + d@); ",
                        0);
  ga__reduce_add_numbers(sb, spec, "const ga_ulong y@ = x@_off + (ga_ulong)d@; ", 0);
  ga__strbuf_add(sb, "\n");
}

/* ---- vector loads ---- */

/* Unsigned type of a vector's bytes. */
static const char *packet_type(int typecode, unsigned int vector) {
  return ga__elem_bytes_type(gpuarray_get_elsize(typecode) * vector);
}

/* ga__reduce_add_arrays with the vector type for "$". */
static void add_packets(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int vector,
                        const char *form, unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->inputs[i]) && !ga__reduce_is_repeated(spec, i))
      ga__reduce_add_form(sb, form, i, packet_type(spec->inputs[i].typecode, vector),
                          axis);
}

/* RD_PACKETS: declares RD_UNROLL vectors p<i> per array. RD_FETCH(u, q): loads vector u
 * from element or vector q; `place` is its address, `one` an element of a stride-0
 * input. */
static void add_fetch(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int vector,
                      const char *place, const char *one, unsigned int axis) {
  const bool words = ga__reduce_has_words(spec);
  const bool is_single = ga__reduce_count_walked(spec) == 1;
  ga__strbuf_add(sb, "#define RD_PACKETS ");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->inputs[i]) && !ga__reduce_is_repeated(spec, i)) {
      ga__strbuf_addf(sb, "union { %s v; %s e[RD_VECTOR]; ",
                      packet_type(spec->inputs[i].typecode, vector),
                      ga__reduce_input_type(spec, i));
      if (words)
        ga__strbuf_addf(sb, "ga_uint w[%zu]; ",
                        vector * gpuarray_get_elsize(spec->inputs[i].typecode) / 4);
      ga__strbuf_addf(sb, "} p%u[RD_UNROLL]; ", i);
    }
  ga__strbuf_add(sb, "\n#define RD_FETCH(u, q) ");
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->inputs[i]) || ga__reduce_is_repeated(spec, i))
      continue;
    /* A single array never has stride 0. */
    if (!is_single && spec->repeated == 0) {
      ga__strbuf_addf(sb, "if (mode & %d) { const %s one = ", GA_REDUCE_REPEATED << i,
                      ga__reduce_input_type(spec, i));
      ga__reduce_add_form(sb, one, i, ga__reduce_input_type(spec, i), axis);
      ga__strbuf_addf(
          sb, "; for (int e_ = 0; e_ < RD_VECTOR; e_++) p%u[u].e[e_] = one; } else ",
          i);
    }
    ga__strbuf_addf(sb, "p%u[u].v = ", i);
    ga__reduce_add_form(sb, place, i, packet_type(spec->inputs[i].typecode, vector),
                        axis);
    ga__strbuf_add(sb, "; ");
  }
  ga__strbuf_add(sb, "\n#define RD_PACKED(u, v, q) ");
}

static void add_row_packets(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr,
                            unsigned int vector) {
  ga__strbuf_add(sb, "#define RD_HEADS ");
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->inputs[i]) && !ga__reduce_is_repeated(spec, i)) {
      ga__strbuf_addf(sb, "if (!(mode & %d)) { ", GA_REDUCE_REPEATED << i);
      ga__reduce_add_form(
          sb,
          "const RD_INT own = (RD_INT)((0 - (ga_size)(y@ + i) / sizeof($)) & "
          "(RD_VECTOR - 1)); same &= head < 0 || head == own; head = own; } ",
          i, ga__reduce_input_type(spec, i), 0);
    }
  ga__reduce_add_numbers(
      sb, spec,
      "const RD_INT own@ = (RD_INT)((0 - (y@ + (ga_ulong)i)) & "
      "(RD_VECTOR - 1)); same &= head < 0 || head == own@; head = own@; ",
      0);
  ga__strbuf_add(sb, "\n#define RD_PACKET_POINTERS ");
  add_packets(sb, spec, vector,
              "GLOBAL_MEM const $ *u@ = (GLOBAL_MEM const $ *)(y@ + i); ", 0);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__reduce_is_repeated(spec, i))
      ga__reduce_add_form(sb, "const $ f@ = *y@; ", i, ga__reduce_input_type(spec, i),
                          0);
  ga__strbuf_add(sb, "\n");
  add_fetch(sb, spec, vector, "u@[q]", "*y@", 0);
  /* The numbers of a vector differ in their last bits: written so, the compiler sees
   * what they have in common, as the words of one random count. */
  ga__reduce_add_map(sb, spec,
                     (ga_element_text){"p@[u].e[v]",
                                       "(((y@ + (ga_ulong)((q) - (v))) & "
                                       "~(ga_ulong)(RD_VECTOR - 1)) | (ga_ulong)(v))",
                                       "f@"},
                     0, "q", nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* argmax, argmin: RD_KEPT declares the winning vector of each array, RD_KEEP(u) copies
 * vector u to it, RD_KEPT_AT(v, q) is the map of its element v, which is q of the
 * row. */
static void add_kept_packets(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr,
                             unsigned int vector) {
  ga__strbuf_addf(sb, "#define RD_POSITION_STEP rp%u\n#define RD_KEPT ", nr - 1);
  for (unsigned int i = 0; i < spec->n; i++)
    if (ga__elem_is_array(&spec->inputs[i]))
      ga__strbuf_addf(sb, "union { %s v; %s e[RD_VECTOR]; } kept%u; ",
                      packet_type(spec->inputs[i].typecode, vector),
                      ga__reduce_input_type(spec, i), i);
  ga__strbuf_add(sb, "\n#define RD_KEEP(u) ");
  ga__reduce_add_arrays(sb, spec, "kept@.v = p@[u].v; ", 0);
  ga__strbuf_add(sb, "\n#define RD_KEPT_AT(v, q) ");
  ga__reduce_add_map(sb, spec, (ga_element_text){.array = "kept@.e[v]"}, 0, "q",
                     nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* RD_ALIGN: clears `packed` where vectors are unaligned; `shift`: columns between the
 * vector boundary and the tile's start. */
static void add_column_packets(ga_strbuf *sb, const ga_reduce_spec *spec,
                               unsigned int nk, unsigned int nr, unsigned int vector) {
  ga__strbuf_add(sb, "#define RD_ALIGN ");
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->inputs[i]))
      continue;
    const char *packet = packet_type(spec->inputs[i].typecode, vector);
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
                    ga__reduce_input_type(spec, i));
  }
  ga__strbuf_add(sb, "\n#define RD_COLUMN_POINTERS ");
  ga__reduce_add_arrays(
      sb, spec,
      "GLOBAL_MEM const char *u@ = (GLOBAL_MEM const char *)y@ + own * k@_#; ", nk - 1);
  ga__strbuf_add(sb, "\n");
  add_fetch(sb, spec, vector, "*(GLOBAL_MEM const $ *)(u@ + (q) * r@_#)",
            "*(GLOBAL_MEM const $ *)(u@ + (q) * r@_#)", nr - 1);
  ga__reduce_add_map(sb, spec, (ga_element_text){.array = "p@[u].e[v]"}, 0, "q",
                     nr - 1);
  ga__strbuf_add(sb, "\n");
}

/* RD_RESULT_PACKETS(at): vector store of RD_WIDTH adjacent results;
 * RD_RESULTS_ALIGNED(at): true if aligned. */
static void add_result_packets(ga_strbuf *sb, const ga_reduce_spec *spec,
                               unsigned int width) {
  ga__strbuf_add(sb, "#define RD_RESULTS_ALIGNED(at) true");
  for (unsigned int m = 0; m < spec->n_results; m++)
    ga__reduce_add_form(sb, " && ((ga_size)(out@ + at) & (sizeof($) - 1)) == 0", m,
                        packet_type(spec->results[m].typecode, width), 0);
  ga__strbuf_add(sb, "\n#define RD_RESULT_PACKETS(at)");
  for (unsigned int m = 0; m < spec->n_results; m++) {
    const int typecode = spec->results[m].typecode;
    const size_t bytes = gpuarray_get_elsize(typecode) * width;
    const char *packet = packet_type(typecode, width);
    ga__strbuf_addf(sb, " { union { %s v[%zu]; %s e[RD_WIDTH]; } r_; ", packet,
                    bytes > 16 ? bytes / 16 : 1, ga__dtype_ctype(typecode));
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

/* ---- kernels ---- */

static void add_rows(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr,
                     unsigned int vector) {
  if (spec->is_cpu) {
    ga__reduce_add_rows_cpu(sb, spec, nr);
    return;
  }
  ga__reduce_add_row_element(sb, spec, "RD_ELEMENT", GA_REDUCE_STRIDED("y", "r"), nr);
  if (vector > 0) {
    add_row_packets(sb, spec, nr, vector);
    if (ga__reduce_is_pick(spec))
      add_kept_packets(sb, spec, nr, vector);
  }
}

static void add_columns_gpu(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                            unsigned int nr, unsigned int vector) {
  if (vector > 0)
    add_column_packets(sb, spec, nk, nr, vector);
  else
    ga__strbuf_add(sb, "#define RD_ALIGN packed = false;\n");
  add_result_packets(sb, spec, ga__reduce_shape(spec, GA_REDUCE_COLUMNS).width);
  ga__strbuf_add(sb, "#define RD_ELEMENT(p) ");
  ga__reduce_add_map(sb, spec, GA_REDUCE_STRIDED("z", "k"), nk - 1, "i", nr - 1);
  ga__strbuf_add(sb, "\n");
}

static void add_columns(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                        unsigned int nr, unsigned int vector) {
  ga__strbuf_addf(sb, "#define RD_RESULT_STRIDE ko%u\n#define RD_INNER_POINTERS ",
                  nk - 1);
  ga__reduce_add_arrays(
      sb, spec,
      "GLOBAL_MEM const $ *z@ = "
      "(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + i * r@_#); ",
      nr - 1);
  ga__reduce_add_numbers(sb, spec, "const ga_ulong z@ = y@ + (ga_ulong)(i * r@_#); ",
                         nr - 1);
  ga__strbuf_add(sb, "\n#define RD_COLUMN_OFFSETS ");
  ga__reduce_add_walked(sb, spec, "c@ += first * k@_#; ", nk - 1);
  ga__strbuf_add(sb, "\n");
  if (spec->is_cpu)
    ga__reduce_add_columns_cpu(sb, spec, nk, nr);
  else
    add_columns_gpu(sb, spec, nk, nr, vector);
}

/* The whole text except preamble and names. */
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
  if (rows)
    add_rows(sb, spec, nr, shape.vector);
  else
    add_columns(sb, spec, nk, nr, shape.vector);
  ga__strbuf_add(sb, rows ? rows_text : columns_text);
}

int ga__reduce_source(ga_source *out, const ga_reduce_spec *spec,
                      enum ga_reduce_kind kind, unsigned int nk, unsigned int nr) {
  static const char functions[] =
      "#define RD_NAME %\n#define RD_MAP %_map\n#define RD_COMBINE %_combine\n"
      "#define RD_NOTHING %_nothing\n#define RD_FINISH(m) %_finish##m\n"
      "#define RD_FLOATS %_floats\n";
  static const char of_picks[] =
      "#define RD_PASSES %_passes\n#define RD_JOIN %_join\n"
      "#define RD_GREATER %_greater\n#define RD_ANY_PASSES %_any_passes\n"
      "#define RD_ALL_PASS %_all_pass\n";
  char words[sizeof functions + sizeof of_picks + 32];
  ga_strbuf text = {0};
  snprintf(words, sizeof words, "%s%s%s", functions,
           ga__reduce_is_pick(spec) ? of_picks : "",
           spec->n_components > 1 ? "#define RD_ACC %_acc\n" : "");
  add_kernel(&text, spec, kind, nk, nr);
  out->is_closed = ga__kernel_is_closed(spec->preamble);
  return ga__text_finish_named(out, kind == GA_REDUCE_ROWS ? "rows" : "columns",
                               spec->preamble, words, &text);
}
