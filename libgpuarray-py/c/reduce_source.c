/* The kernel texts of a reduction: along rows or across columns, for GPUs or CPUs.
 *
 * The kernels below are written once, over words (RD_...) that the generator defines
 * for an expression, its types and the number of axes. The order in which elements are
 * combined depends on shape and geometry only, never on time: an item keeps RD_WIDTH
 * accumulators and folds them into one; a tree in local memory folds those of the items
 * of one result. Runs of elements are combined apart before they join the accumulators,
 * so that long float sums stay accurate. */
#include "c/reduce_source.h"

#include <string.h>

#include "c/dtype.h"

/* ---- what both kernels begin with ---- */

static const char head[] =
    "KERNEL void RD_NAME(\n"
    "    GLOBAL_MEM RD_OUT *out, ga_size out_off,\n"
    "    GLOBAL_MEM RD_ACC *part, ga_size part_off RD_INPUTS,\n"
    "    RD_INT tiles, RD_INT per_group, RD_INT results, RD_INT across,\n"
    "    RD_INT outer, RD_INT outer_per, RD_INT inner, RD_INT inner_per,\n"
    "    RD_INT splits, RD_INT lanes_outer, RD_INT mode RD_AXES) {\n"
    "  const RD_INT lane = (RD_INT)LID_0, lanes = (RD_INT)LDIM_0;\n"
    "  const RD_INT split = (RD_INT)GID_1;\n"
    "  const RD_INT outer_from = split / splits * outer_per;\n"
    "  const RD_INT inner_from = split % splits * inner_per;\n"
    "  RD_INT outer_to = outer_from + outer_per;\n"
    "  RD_INT inner_to = inner_from + inner_per;\n"
    "  RD_INT tile = (RD_INT)GID_0 * per_group;\n"
    "  RD_INT tile_to = tile + per_group;\n"
    "  if (outer_to > outer) outer_to = outer;\n"
    "  if (inner_to > inner) inner_to = inner;\n"
    "  if (tile_to > tiles) tile_to = tiles;\n"
    "  out = (GLOBAL_MEM RD_OUT *)((GLOBAL_MEM char *)out + out_off);\n"
    "  part = (GLOBAL_MEM RD_ACC *)((GLOBAL_MEM char *)part + part_off);\n"
    "  RD_BEGIN\n"
    "#define RD_STORE(index, value)                                             \\\n"
    "  {                                                                        \\\n"
    "    if (mode & 2)                                                          \\\n"
    "      part[(ga_ssize)split * results + (index)] = (value);                        "
    "   \\\n"
    "    else                                                                   \\\n"
    "      out[index] = RD_RESULT(value);                                       \\\n"
    "  }\n";

/* ---- along rows ---- */

/* The items of dimension 0 walk side by side along the inner axis. On a GPU those of
 * dimension 1 are lanes_outer along the outer ones, for each of several results. */
static const char rows_begin[] =
    "  LOCAL_MEM RD_ACC shared[RD_BLOCK];\n"
    "#define RD_STEP (RD_LANES * RD_WIDTH)\n"
    "#if RD_CPU\n"
    "  const RD_INT lane_outer = 0, step_outer = 1, slot = 0, slots = 1;\n"
    "  const RD_INT item = lane, items = lanes;\n"
    "#else\n"
    "  const RD_INT lane_outer = (RD_INT)LID_1 % lanes_outer;\n"
    "  const RD_INT step_outer = lanes_outer;\n"
    "  const RD_INT slot = (RD_INT)LID_1 / lanes_outer;\n"
    "  const RD_INT slots = (RD_INT)LDIM_1 / lanes_outer;\n"
    "  const RD_INT item = lane_outer * lanes + lane, items = lanes_outer * lanes;\n"
    "#endif\n"
    "  for (; tile < tile_to; tile++) {\n"
    "    const RD_INT result = tile * slots + slot;\n"
    "    RD_INT rest = result < results ? result : results - 1;\n"
    "    RD_ACC acc[RD_WIDTH];\n"
    "    for (int v = 0; v < RD_WIDTH; v++) acc[v] = RD_IDENTITY;\n"
    "    RD_KEPT_OFFSETS\n"
    "    for (RD_INT j = outer_from + lane_outer; j < outer_to; j += step_outer) {\n"
    "      RD_OUTER_POINTERS\n"
    "      RD_INT i = inner_from;\n";

/* Whole steps, in runs, then one step for which not every item has elements. */
static const char rows_loop[] =
    "        while (i + RD_STEP <= inner_to) {\n"
    "          RD_ACC run[RD_WIDTH];\n"
    "          RD_INT stop = i + 64 * RD_STEP;\n"
    "          if (stop > inner_to - RD_STEP + 1) stop = inner_to - RD_STEP + 1;\n"
    "          for (int v = 0; v < RD_WIDTH; v++) run[v] = RD_IDENTITY;\n"
    "          for (; i < stop; i += RD_STEP)\n"
    "            for (int v = 0; v < RD_WIDTH; v++)\n"
    "              run[v] = RD_COMBINE(run[v], RD_ELEMENT(i + v * RD_LANES + "
    "RD_LANE));\n"
    "          for (int v = 0; v < RD_WIDTH; v++)\n"
    "            acc[v] = RD_COMBINE(acc[v], run[v]);\n"
    "        }\n"
    "        for (int v = 0; v < RD_WIDTH; v++)\n"
    "          if (i + v * RD_LANES + RD_LANE < inner_to)\n"
    "            acc[v] = RD_COMBINE(acc[v], RD_ELEMENT(i + v * RD_LANES + "
    "RD_LANE));\n";

static const char rows_end[] =
    "    }\n"
    "    for (int s = RD_WIDTH / 2; s > 0; s /= 2)\n"
    "      for (int v = 0; v < s; v++) acc[v] = RD_COMBINE(acc[v], acc[v + s]);\n"
    "    if (items > 1) {\n"
    "      const RD_INT at = slot * items + item;\n"
    "      shared[at] = acc[0];\n"
    "      local_barrier();\n"
    "      for (RD_INT s = items / 2; s > 0; s /= 2) {\n"
    "        if (item < s) shared[at] = RD_COMBINE(shared[at], shared[at + s]);\n"
    "        local_barrier();\n"
    "      }\n"
    "      acc[0] = shared[at];\n"
    "    }\n"
    "    if (item == 0 && result < results) RD_STORE(w, acc[0])\n"
    "  }\n"
    "}\n";

/* ---- across columns ---- */

/* The items of dimension 0 own neighbouring results, RD_WIDTH each; on a GPU those of
 * dimension 1 share the reduced elements, lanes_outer along the outer axes, the others
 * along the inner one. A tile is lanes * RD_WIDTH of the `across` results along the
 * innermost kept axis. */
static const char columns_begin[] =
    "#if RD_CPU\n"
    "  const RD_INT lane_outer = 0, step_outer = 1, lane_inner = 0, step_inner = 1;\n"
    "#else\n"
    "  LOCAL_MEM RD_ACC shared[RD_BLOCK * RD_WIDTH];\n"
    "  const RD_INT item = (RD_INT)LID_1, items = (RD_INT)LDIM_1;\n"
    "  const RD_INT step_outer = lanes_outer, step_inner = items / lanes_outer;\n"
    "  const RD_INT lane_outer = item / step_inner, lane_inner = item % step_inner;\n"
    "#endif\n"
    "  const RD_INT width = lanes * RD_WIDTH;\n"
    "  const RD_INT tiles_across = (across + width - 1) / width;\n"
    "  for (; tile < tile_to; tile++) {\n"
    "    const RD_INT first = tile % tiles_across * width, count = across - first;\n"
    "    RD_INT rest = tile / tiles_across;\n"
    "    RD_KEPT_OFFSETS\n"
    "    w += first * RD_RESULT_STRIDE;\n";

/* Every reduced element of RD_COUNT columns of this item; RD_COLUMN(v) is the v-th,
 * counted from the tile's first. */
static const char columns_loop[] =
    "      for (RD_INT j = outer_from + lane_outer; j < outer_to;\n"
    "           j += step_outer) {\n"
    "        RD_OUTER_POINTERS\n"
    "        RD_INT i = inner_from + lane_inner;\n"
    "        while (i < inner_to) {\n"
    "          RD_ACC run[RD_COUNT];\n"
    "          RD_INT stop = i + 64 * step_inner;\n"
    "          if (stop > inner_to) stop = inner_to;\n"
    "          for (int v = 0; v < RD_COUNT; v++) run[v] = RD_IDENTITY;\n"
    "          for (; i < stop; i += step_inner) {\n"
    "            RD_INNER_POINTERS\n"
    "            for (int v = 0; v < RD_COUNT; v++)\n"
    "              run[v] = RD_COMBINE(run[v], RD_ELEMENT(RD_COLUMN(v)));\n"
    "          }\n"
    "          for (int v = 0; v < RD_COUNT; v++)\n"
    "            acc[v] = RD_COMBINE(acc[v], run[v]);\n"
    "        }\n"
    "      }\n";

/* On a GPU the items past the last result load what the last one does. */
static const char columns_gpu[] =
    "    RD_ACC acc[RD_WIDTH];\n"
    "    int column[RD_WIDTH];\n"
    "    for (int v = 0; v < RD_WIDTH; v++) {\n"
    "      const RD_INT p = v * lanes + lane;\n"
    "      acc[v] = RD_IDENTITY;\n"
    "      column[v] = (int)(p < count ? p : count - 1);\n"
    "    }\n"
    "#define RD_COUNT RD_WIDTH\n"
    "#define RD_COLUMN(v) column[v]\n";
static const char columns_gpu_end[] =
    "#undef RD_COUNT\n"
    "#undef RD_COLUMN\n"
    "    if (items > 1) {\n"
    "      const RD_INT block = items * lanes, at = item * lanes + lane;\n"
    "      for (int v = 0; v < RD_WIDTH; v++) shared[v * block + at] = acc[v];\n"
    "      local_barrier();\n"
    "      for (RD_INT s = items / 2; s > 0; s /= 2) {\n"
    "        if (item < s)\n"
    "          for (int v = 0; v < RD_WIDTH; v++)\n"
    "            shared[v * block + at] = RD_COMBINE(\n"
    "                shared[v * block + at], shared[v * block + at + s * lanes]);\n"
    "        local_barrier();\n"
    "      }\n"
    "      for (int v = 0; v < RD_WIDTH; v++) acc[v] = shared[v * block + at];\n"
    "    }\n"
    "    if (item == 0)\n"
    "      for (int v = 0; v < RD_WIDTH; v++)\n"
    "        if (v * lanes + lane < count)\n"
    "          RD_STORE(w + (v * lanes + lane) * RD_RESULT_STRIDE, acc[v])\n"
    "  }\n"
    "}\n";

/* On a CPU a full tile is walked at once, what is left in lines of one result an item:
 * vector units like neither clamped indices nor masks. */
static const char columns_full[] = "    if (count >= width) {\n"
                                   "      RD_ACC acc[RD_WIDTH];\n"
                                   "#define RD_COUNT RD_WIDTH\n"
                                   "#define RD_COLUMN(v) (v * lanes + lane)\n"
                                   "      for (int v = 0; v < RD_WIDTH; v++)\n"
                                   "        acc[v] = RD_IDENTITY;\n";
static const char columns_full_end[] =
    "#undef RD_COUNT\n"
    "#undef RD_COLUMN\n"
    "      for (int v = 0; v < RD_WIDTH; v++)\n"
    "        RD_STORE(w + (v * lanes + lane) * RD_RESULT_STRIDE, acc[v])\n"
    "    } else {\n";
static const char columns_line[] =
    "      for (RD_INT line = 0; line < count; line += lanes)\n"
    "      if (line + lane < count) {\n"
    "      RD_ACC acc[1];\n"
    "#define RD_COUNT 1\n"
    "#define RD_COLUMN(v) (line + lane)\n"
    "      acc[0] = RD_IDENTITY;\n";
static const char columns_line_end[] =
    "#undef RD_COUNT\n"
    "#undef RD_COLUMN\n"
    "      RD_STORE(w + (line + lane) * RD_RESULT_STRIDE, acc[0])\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char tail[] =
    "#undef RD_INT\n#undef RD_STORE\n#undef RD_STEP\n#undef RD_LANES\n#undef "
    "RD_LANE\n#undef "
    "RD_NAME\n#undef RD_MAP\n#undef RD_COMBINE\n"
    "#undef RD_ACC\n#undef RD_OUT\n#undef RD_IDENTITY\n#undef RD_RESULT\n"
    "#undef RD_WIDTH\n#undef RD_BLOCK\n#undef RD_CPU\n#undef RD_INPUTS\n"
    "#undef RD_AXES\n#undef RD_BEGIN\n#undef RD_KEPT_OFFSETS\n"
    "#undef RD_OUTER_POINTERS\n#undef RD_INNER_POINTERS\n#undef RD_RESULT_STRIDE\n"
    "#undef RD_ELEMENT\n";

/* ---- the words ---- */

static bool is_array(const gpuelemwise_arg *arg) {
  return !(arg->flags & GE_SCALAR);
}

static const char *type_name(int typecode) {
  return gpuarray_get_type(typecode)->cluda_name;
}

static const char *variable_type(const gpuelemwise_arg *arg) {
  return type_name(ga__dtype_work(arg->typecode));
}

/* `form` with "@" for the number of an input, "$" for its type, "#" for an axis. */
static void add_form(ga_strbuf *sb, const char *form, unsigned int i, const char *type,
                     unsigned int axis) {
  for (;; form++) {
    size_t plain = strcspn(form, "@$#");
    ga__strbuf_addn(sb, form, plain);
    form += plain;
    if (*form == '\0')
      return;
    if (*form == '$')
      ga__strbuf_add(sb, type);
    else
      ga__strbuf_addf(sb, "%u", *form == '@' ? i : axis);
  }
}

/* `form` once for each array. */
static void add_arrays(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                       unsigned int axis) {
  for (unsigned int i = 0; i < spec->n; i++)
    if (is_array(&spec->inputs[i]))
      add_form(sb, form, i, type_name(spec->inputs[i].typecode), axis);
}

/* Stores to bool are 0 or 1. */
static void add_conversion(ga_strbuf *sb, int typecode, const char *expression) {
  if (typecode == GA_BOOL)
    ga__strbuf_addf(sb, "((%s) != 0)", expression);
  else if (typecode == GA_HALF)
    ga__strbuf_addf(sb, "ga_float2half((ga_float)(%s))", expression);
  else
    ga__strbuf_addf(sb, "((%s)(%s))", type_name(typecode), expression);
}

static void add_types(ga_strbuf *sb, const ga_reduce_spec *spec) {
  ga__strbuf_addf(sb,
                  "#define RD_INT %s\n#define RD_ACC %s\n#define RD_OUT %s\n"
                  "#define RD_IDENTITY ",
                  spec->is_wide ? "ga_ssize" : "ga_int", type_name(spec->acc),
                  type_name(spec->out));
  add_conversion(sb, spec->acc, spec->identity);
  ga__strbuf_add(sb, "\n#define RD_RESULT(value) ");
  add_conversion(sb, spec->out, "value");
  ga__strbuf_addf(sb, "\n#define RD_WIDTH %u\n#define RD_BLOCK %d\n#define RD_CPU %d\n",
                  spec->width, GA_REDUCE_BLOCK, spec->is_cpu);
}

/* The map of one element of each input, and the combination of two accumulators. */
static void add_functions(ga_strbuf *sb, const ga_reduce_spec *spec) {
  ga__strbuf_add(sb, "GA_INLINE RD_ACC RD_MAP(");
  for (unsigned int i = 0; i < spec->n; i++)
    ga__strbuf_addf(sb, "%s%s %s", i ? ", " : "", variable_type(&spec->inputs[i]),
                    spec->inputs[i].name);
  ga__strbuf_addf(sb, ") {\n%s\n  return ", spec->prologue ? spec->prologue : "");
  add_conversion(sb, spec->acc, spec->map);
  ga__strbuf_add(sb, ";\n}\nGA_INLINE RD_ACC RD_COMBINE(RD_ACC a, RD_ACC b) {\n"
                     "  return ");
  add_conversion(sb, spec->acc, spec->combine);
  ga__strbuf_add(sb, ";\n}\n");
}

static void add_parameters(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                           unsigned int nr) {
  ga__strbuf_add(sb, "#define RD_INPUTS ");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    if (is_array(arg))
      add_form(sb, ", GLOBAL_MEM const $ *GA_RESTRICT x@, ga_size x@_off", i,
               type_name(arg->typecode), 0);
    else
      add_form(sb, ", $ s@", i, type_name(arg->typecode), 0);
  }
  ga__strbuf_add(sb, "\n#define RD_AXES ");
  for (unsigned int k = 0; k < nk; k++) {
    ga__strbuf_addf(sb, ", RD_INT kd%u, ga_ssize ko%u", k, k);
    add_arrays(sb, spec, ", ga_ssize k@_#", k);
  }
  for (unsigned int k = 0; k < nr; k++) {
    ga__strbuf_addf(sb, ", RD_INT rd%u", k);
    add_arrays(sb, spec, ", ga_ssize r@_#", k);
  }
  ga__strbuf_add(sb, "\n#define RD_BEGIN ");
  add_arrays(sb, spec,
             "x@ = (GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)x@ + x@_off); ", 0);
}

/* Takes `variable`, an index over the first `n` axes of a group, apart; `form` adds
 * what axis # has of it, `at`, to an array's offset. */
static void add_unravel(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int n,
                        const char *variable, const char *dims, bool result,
                        const char *form) {
  for (unsigned int k = n; k-- > 0;) {
    ga__strbuf_addf(sb, "{ const RD_INT at = %s", variable);
    if (k > 0)
      ga__strbuf_addf(sb, " %% %s%u; %s /= %s%u", dims, k, variable, dims, k);
    if (result)
      ga__strbuf_addf(sb, "; w += at * ko%u", k);
    ga__strbuf_add(sb, "; ");
    add_arrays(sb, spec, form, k);
    ga__strbuf_add(sb, "} ");
  }
}

/* RD_KEPT_OFFSETS: from `rest`, the index over the first `n` kept axes, `w`, the index
 * in the result, and c<i>, the byte offset in array i. RD_OUTER_POINTERS: y<i>, where
 * array i begins for `j`, the index over the outer reduced axes. */
static void add_addresses(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int n,
                          unsigned int nr) {
  ga__strbuf_add(sb, "\n#define RD_KEPT_OFFSETS ga_ssize w = 0; ");
  add_arrays(sb, spec, "ga_ssize c@ = 0; ", 0);
  add_unravel(sb, spec, n, "rest", "kd", true, "c@ += at * k@_#; ");
  ga__strbuf_add(sb, "\n#define RD_OUTER_POINTERS RD_INT left = j; (void)left; ");
  add_arrays(sb, spec, "ga_ssize d@ = c@; ", 0);
  add_unravel(sb, spec, nr - 1, "left", "rd", false, "d@ += at * r@_#; ");
  add_arrays(sb, spec,
             "GLOBAL_MEM const $ *y@ = "
             "(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)x@ + d@); ",
             0);
  ga__strbuf_add(sb, "\n");
}

/* RD_ELEMENT(p): the map of element p; `form` is an array's element, `axis` for "#". */
static void add_element(ga_strbuf *sb, const ga_reduce_spec *spec, const char *form,
                        unsigned int axis) {
  ga__strbuf_add(sb, "#undef RD_ELEMENT\n#define RD_ELEMENT(p) RD_MAP(");
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    bool half = arg->typecode == GA_HALF;
    ga__strbuf_addf(sb, "%s%s", i ? ", " : "", half ? "ga_half2float(" : "");
    add_form(sb, is_array(arg) ? form : "s@", i, type_name(arg->typecode), axis);
    ga__strbuf_add(sb, half ? ")" : "");
  }
  ga__strbuf_add(sb, ")\n");
}

/* The loops over elements side by side, and over those with a stride. Of a CPU's items
 * one may be alone in its group: what it has in flight then lies side by side, which
 * the compiler must see to make vectors of it. */
static void add_row_loops(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr) {
  ga__strbuf_add(sb, "      if (mode & 1) {\n");
  add_element(sb, spec, "y@[p]", nr - 1);
  if (spec->is_cpu) {
    ga__strbuf_add(sb, "      if (lanes == 1) {\n"
                       "#define RD_LANES 1\n#define RD_LANE 0\n");
    ga__strbuf_add(sb, rows_loop);
    ga__strbuf_add(sb, "      } else {\n#undef RD_LANES\n#undef RD_LANE\n");
  }
  ga__strbuf_add(sb, "#define RD_LANES lanes\n#define RD_LANE lane\n");
  ga__strbuf_add(sb, rows_loop);
  ga__strbuf_add(sb, spec->is_cpu ? "      }\n      } else {\n" : "      } else {\n");
  add_element(sb, spec,
              "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + (p) * r@_#)",
              nr - 1);
  ga__strbuf_add(sb, rows_loop);
  ga__strbuf_add(sb, "      }\n");
}

static void add_rows(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nr) {
  ga__strbuf_add(sb, rows_begin);
  add_row_loops(sb, spec, nr);
  ga__strbuf_add(sb, rows_end);
}

static void add_column_loops(ga_strbuf *sb, const ga_reduce_spec *spec,
                             unsigned int nk) {
  ga__strbuf_add(sb, "      if (mode & 1) {\n");
  add_element(sb, spec, "z@[p]", nk - 1);
  ga__strbuf_add(sb, columns_loop);
  ga__strbuf_add(sb, "      } else {\n");
  add_element(sb, spec,
              "*(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)z@ + (p) * k@_#)",
              nk - 1);
  ga__strbuf_add(sb, columns_loop);
  ga__strbuf_add(sb, "      }\n");
}

static void add_columns(ga_strbuf *sb, const ga_reduce_spec *spec, unsigned int nk,
                        unsigned int nr) {
  ga__strbuf_addf(sb, "#define RD_RESULT_STRIDE ko%u\n#define RD_INNER_POINTERS ",
                  nk - 1);
  add_arrays(sb, spec,
             "GLOBAL_MEM const $ *z@ = "
             "(GLOBAL_MEM const $ *)((GLOBAL_MEM const char *)y@ + i * r@_#); ",
             nr - 1);
  ga__strbuf_add(sb, "\n");
  ga__strbuf_add(sb, columns_begin);
  add_arrays(sb, spec, "    c@ += first * k@_#;\n", nk - 1);
  if (spec->is_cpu) {
    ga__strbuf_add(sb, columns_full);
    add_column_loops(sb, spec, nk);
    ga__strbuf_add(sb, columns_full_end);
    ga__strbuf_add(sb, columns_line);
    add_column_loops(sb, spec, nk);
    ga__strbuf_add(sb, columns_line_end);
  } else {
    ga__strbuf_add(sb, columns_gpu);
    add_column_loops(sb, spec, nk);
    ga__strbuf_add(sb, columns_gpu_end);
  }
}

int ga__reduce_source(ga_source *out, const ga_reduce_spec *spec,
                      enum ga_reduce_kind kind, unsigned int nk, unsigned int nr) {
  ga_strbuf text = {0}, body = {0};
  bool rows = kind == GA_REDUCE_ROWS;
  add_types(&text, spec);
  add_functions(&text, spec);
  add_parameters(&text, spec, nk, nr);
  add_addresses(&text, spec, rows ? nk : nk - 1, nr);
  ga__strbuf_add(&text, head);
  if (rows)
    add_rows(&text, spec, nr);
  else
    add_columns(&text, spec, nk, nr);
  ga__strbuf_add(&text, tail);
  if (spec->preamble != NULL && spec->preamble[0] != '\0')
    ga__strbuf_addf(&body, "%s\n", spec->preamble);
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR && ga__strbuf_status(&body) == GA_NO_ERROR) {
    /* Equal names must mean equal kernels: the hash covers the preamble too. */
    size_t own = body.length;
    ga__strbuf_add(&body, text.text);
    if (ga__strbuf_status(&body) == GA_NO_ERROR) {
      ga__kernel_name(out->name, rows ? "rows" : "columns", body.text);
      body.length = own;
      ga__strbuf_addf(&body,
                      "#define RD_NAME %s\n#define RD_MAP %s_map\n"
                      "#define RD_COMBINE %s_combine\n",
                      out->name, out->name, out->name);
      ga__strbuf_add(&body, text.text);
    }
  }
  ga__strbuf_clear(&text);
  if (status == GA_NO_ERROR)
    status = ga__strbuf_status(&body);
  if (status != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return status;
  }
  out->body = body;
  return GA_NO_ERROR;
}
