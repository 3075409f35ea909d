/* The parts that a scan's kernels are put together from, in the kernel language. */
#include "c/scan/scan_text.h"

/* ---- what all kernels begin with ---- */

const char ga__scan_head[] =
    "SC_KERNEL void SC_NAME(\n"
    "    GLOBAL_MEM SC_OUT *out, ga_size out_off,\n"
    "    GLOBAL_MEM const SC_IN *x, ga_size x_off,\n"
    "    GLOBAL_MEM SC_PART *part, ga_size part_off,\n"
    "    SC_INT rows, SC_INT across, SC_INT length, SC_INT chunk, SC_INT chunks,\n"
    "    ga_int mode, ga_ssize xs, ga_ssize os, ga_ssize xc, ga_ssize oc SC_AXES) {\n"
    "  part = (GLOBAL_MEM SC_PART *)((GLOBAL_MEM char *)part + part_off);\n";

/* From `row`, the line of the outer axes: where it begins. */
const char ga__scan_line[] =
    "  GLOBAL_MEM const char *xp = (GLOBAL_MEM const char *)x + x_off;\n"
    "  GLOBAL_MEM char *op = (GLOBAL_MEM char *)out + out_off;\n"
    "  {\n"
    "    SC_INT rest = row;\n"
    "    SC_OUTER_OFFSETS\n"
    "  }\n";

/* ---- GPU: tiles ---- */

/* Item SC_I of SC_COUNT along the axis; SC_POS(i) is the place of item i in local
 * memory. */
const char ga__scan_tile_words_rows[] =
    "#define SC_I lane\n#define SC_COUNT "
    "lanes\n#define SC_POS(i) (slot * lanes + (i))\n";
const char ga__scan_tile_words_columns[] =
    "#define SC_I slot\n#define SC_COUNT slots\n#define SC_POS(i) ((i) * lanes + "
    "lane)\n";

const char ga__scan_tile_begin[] =
    "  LOCAL_MEM SC_ACC sums[2 * SC_BLOCK];\n"
    "#if SC_ROWS\n"
    "  LOCAL_MEM SC_ACC tile[SC_BLOCK * SC_ITEMS];\n"
    "#endif\n"
    "#if SC_WHOLE\n"
    "  const int lane = (int)LID_0, lanes = SC_BLOCK, slot = 0, slots = 1;\n"
    "#else\n"
    "  const int lane = (int)LID_0, lanes = (int)LDIM_0;\n"
    "  const int slot = (int)LID_1, slots = (int)LDIM_1;\n"
    "#endif\n"
    "  const SC_INT step = SC_COUNT * SC_ITEMS;\n"
    "#if SC_LOOKS\n"
    "  LOCAL_MEM ga_uint ticket[1];\n"
    "  LOCAL_MEM SC_ACC ahead[SC_ROWS ? 1 : SC_BLOCK];\n"
    "  if (lane == 0 && slot == 0)\n"
    "    ticket[0] = atom_add_Ig((GLOBAL_MEM ga_uint *)part, 1);\n"
    "  part++;\n"
    "  local_barrier();\n"
    "  const SC_INT id = (SC_INT)ticket[0];\n"
    "#else\n"
    "  const SC_INT id = (SC_INT)GID_0;\n"
    "#endif\n"
    "#if SC_ROWS\n"
    "  const SC_INT blocks = (rows + slots - 1) / slots;\n"
    "  const SC_INT at_chunk = id / blocks;\n"
    "  SC_INT row = (id - at_chunk * blocks) * slots + slot;\n"
    "  const int valid = row < rows;\n"
    "  const SC_INT column = 0;\n"
    "  if (!valid) row = rows - 1;\n"
    "#else\n"
    "  const SC_INT tiles_across = (across + lanes - 1) / lanes;\n"
    "  const SC_INT blocks = rows * tiles_across;\n"
    "  const SC_INT at_chunk = id / blocks, block = id - at_chunk * blocks;\n"
    "  const SC_INT row = block / tiles_across;\n"
    "  SC_INT column = (block - row * tiles_across) * lanes + lane;\n"
    "  const int valid = column < across;\n"
    "  if (!valid) column = across - 1;\n"
    "#endif\n"
    "  const SC_INT from = at_chunk * chunk;\n"
    "  const SC_INT to = length - from < chunk ? length : from + chunk;\n"
    "  const ga_ssize place = ((ga_ssize)row * chunks + at_chunk) * across + column;\n";

const char ga__scan_tile_loop[] =
    "  xp += (ga_ssize)column * xc;\n"
    "  op += (ga_ssize)column * oc;\n"
    "  SC_ACC carry = SC_IDENTITY;\n"
    "  int has_carry = 0;\n"
    "#if !SC_LOOKS\n"
    "  if ((mode & 4) && at_chunk > 0) {\n"
    "    carry = part[place];\n"
    "    has_carry = 1;\n"
    "  }\n"
    "#endif\n"
    "  for (SC_INT start = from; start < to; start += step) {\n"
    "    const int count = (int)(to - start < step ? to - start : step);\n"
    "    SC_ACC acc[SC_ITEMS];\n";

/* Rows are read side by side and turned in local memory; columns lie as they are
 * needed. */
const char ga__scan_load_rows[] =
    "    GLOBAL_MEM const char *xt = xp + (ga_ssize)start * xs;\n"
    "    if (mode & 8) {\n"
    "      GLOBAL_MEM const SC_IN *xu = (GLOBAL_MEM const SC_IN *)xt + lane;\n"
    "      for (int v = 0; v < SC_ITEMS; v++) {\n"
    "        acc[v] = SC_IDENTITY;\n"
    "        if (v * lanes + lane < count && valid) acc[v] = SC_LOAD(xu + v * lanes);\n"
    "      }\n"
    "    } else {\n"
    "      xt += (ga_ssize)lane * xs;\n"
    "      for (int v = 0; v < SC_ITEMS; v++, xt += (ga_ssize)lanes * xs) {\n"
    "        acc[v] = SC_IDENTITY;\n"
    "        if (v * lanes + lane < count && valid) acc[v] = SC_LOAD(xt);\n"
    "      }\n"
    "    }\n"
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      tile[slot * lanes * SC_ITEMS + v * lanes + lane] = acc[v];\n"
    "    local_barrier();\n"
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      acc[v] = tile[(slot * lanes + lane) * SC_ITEMS + v];\n";
const char ga__scan_load_columns[] =
    "    const int own = slot * SC_ITEMS;\n"
    "    GLOBAL_MEM const char *xt = xp + ((ga_ssize)start + own) * xs;\n"
    "    for (int v = 0; v < SC_ITEMS; v++) {\n"
    "      acc[v] = SC_IDENTITY;\n"
    "      if (own + v < count && valid) acc[v] = SC_LOAD(xt + v * xs);\n"
    "    }\n";

/* A scan of one value of each item, in one half of `sums`. */
const char ga__scan_scan_words[] =
    "#define SC_SCAN(value, n)                                                 \\\n"
    "  turn = 0;                                                               \\\n"
    "  sums[SC_POS(SC_I)] = (value);                                           \\\n"
    "  local_barrier();                                                        \\\n"
    "  for (int s = 1; s < (n); s <<= 1) {                                     \\\n"
    "    SC_ACC sum = sums[turn + SC_POS(SC_I)];                               \\\n"
    "    if (SC_I >= s) sum = SC_COMBINE(sums[turn + SC_POS(SC_I - s)], sum);  \\\n"
    "    turn = SC_BLOCK - turn;                                               \\\n"
    "    sums[turn + SC_POS(SC_I)] = sum;                                      \\\n"
    "    local_barrier();                                                      \\\n"
    "  }\n"
    "#if SC_WARPS\n"
    /* The same in the `n` first lanes of a warp, of which this is lane `one`. */
    "#define SC_SCAN_WARP(value, one, n)                                       \\\n"
    "  for (int s = 1; s < (n); s <<= 1) {                                     \\\n"
    "    const SC_ACC below = SC_UP(value, s);                                 \\\n"
    "    if ((one) >= s) value = SC_COMBINE(below, value);                     \\\n"
    "  }\n"
    "#endif\n";

/* `before`: of the items before this one, if there are; `total`: of all. */
const char ga__scan_scan_items[] =
    "    int turn;\n"
    "    for (int v = 1; v < SC_ITEMS; v++) acc[v] = SC_COMBINE(acc[v - 1], acc[v]);\n"
    "    SC_ACC before = carry;\n"
    "    SC_SCAN(acc[SC_ITEMS - 1], SC_COUNT)\n"
    "    const SC_ACC total = sums[turn + SC_POS(SC_COUNT - 1)];\n"
    "    if (SC_I > 0) before = sums[turn + SC_POS(SC_I - 1)];\n"
    "    local_barrier();\n";
/* With warps: scans of each, then the warps' totals one after the other. */
const char ga__scan_scan_items_warps[] =
    "    for (int v = 1; v < SC_ITEMS; v++) acc[v] = SC_COMBINE(acc[v - 1], acc[v]);\n"
    "    SC_ACC sum = acc[SC_ITEMS - 1];\n"
    "    SC_SCAN_WARP(sum, lane & 31, (lanes < 32 ? lanes : 32))\n"
    "    SC_ACC before = carry, total = carry;\n"
    "    const SC_ACC other = SC_UP(sum, 1);\n"
    "    if ((lane & 31) > 0) before = other;\n"
    "    if (lanes <= 32) {\n"
    "      total = SC_FROM(sum, (slot * lanes & 31) + lanes - 1);\n"
    "      ga_warp_barrier();\n"
    "    } else {\n"
    "      if ((lane & 31) == 31) sums[SC_POS(lane) >> 5] = sum;\n"
    "      local_barrier();\n"
    "      for (int w = 0; w < lanes; w += 32) {\n"
    "        if (w == lane - (lane & 31) && w > 0)\n"
    "          before = (lane & 31) > 0 ? SC_COMBINE(total, before) : total;\n"
    "        const SC_ACC of_warp = sums[SC_POS(w) >> 5];\n"
    "        total = w > 0 ? SC_COMBINE(total, of_warp) : of_warp;\n"
    "      }\n"
    "    }\n";

/* What an item's elements are combined with, and their results. */
const char ga__scan_tile_results[] =
    "    const int has_before = has_carry || SC_I > 0;\n"
    "    if (has_carry) before = SC_I > 0 ? SC_COMBINE(carry, before) : carry;\n"
    "    carry = has_carry ? SC_COMBINE(carry, total) : total;\n"
    "    has_carry = 1;\n"
    "    if (has_before)\n"
    "      for (int v = 0; v < SC_ITEMS; v++) acc[v] = SC_COMBINE(before, acc[v]);\n"
    "    if (mode & 1) {\n"
    "      for (int v = SC_ITEMS - 1; v > 0; v--) acc[v] = acc[v - 1];\n"
    "      acc[0] = has_before ? before : SC_IDENTITY;\n"
    "    }\n"
    "    if (mode & 2) continue;\n";
const char ga__scan_store_rows[] =
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      tile[(slot * lanes + lane) * SC_ITEMS + v] = acc[v];\n"
    "    local_barrier();\n"
    "    GLOBAL_MEM char *ot = op + (ga_ssize)start * os;\n"
    "    LOCAL_MEM_ARG const SC_ACC *own = tile + slot * lanes * SC_ITEMS + lane;\n"
    "    if (mode & 8) {\n"
    "      GLOBAL_MEM SC_OUT *ou = (GLOBAL_MEM SC_OUT *)ot + lane;\n"
    "      for (int v = 0; v < SC_ITEMS; v++)\n"
    "        if (v * lanes + lane < count && valid)\n"
    "          SC_STORE(ou + v * lanes, own[v * lanes]);\n"
    "    } else {\n"
    "      ot += (ga_ssize)lane * os;\n"
    "      for (int v = 0; v < SC_ITEMS; v++, ot += (ga_ssize)lanes * os)\n"
    "        if (v * lanes + lane < count && valid) SC_STORE(ot, own[v * lanes]);\n"
    "    }\n"
    "    local_barrier();\n"
    "  }\n";
const char ga__scan_store_columns[] =
    "    GLOBAL_MEM char *ot = op + ((ga_ssize)start + own) * os;\n"
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      if (own + v < count && valid) SC_STORE(ot + v * os, acc[v]);\n"
    "  }\n";
const char ga__scan_tile_end[] =
    "#if !SC_LOOKS\n"
    "  if ((mode & 2) && SC_I == 0 && valid) part[place] = carry;\n"
    "#endif\n"
    "}\n"
    "#undef SC_I\n#undef SC_COUNT\n#undef SC_POS\n#undef SC_SCAN\n"
    "#undef SC_SCAN_WARP\n";

/* ---- CPU: a group takes its share of what there is ---- */

/* A row's chunk, in blocks whose results wait for one combination only. */
const char ga__scan_cpu_rows_begin[] =
    "  const SC_INT total = rows * chunks;\n"
    "  const SC_INT per = (total + (SC_INT)GDIM_0 - 1) / (SC_INT)GDIM_0;\n"
    "  SC_INT id = (SC_INT)GID_0 * per;\n"
    "  const SC_INT last = total - id < per ? total : id + per;\n"
    "  for (; id < last; id++) {\n"
    "  const SC_INT row = id / chunks, at_chunk = id % chunks;\n"
    "  const SC_INT from = at_chunk * chunk;\n"
    "  const SC_INT to = length - from < chunk ? length : from + chunk;\n"
    "  SC_ACC carry = SC_IDENTITY;\n"
    "  SC_INT p = from;\n";
const char ga__scan_cpu_rows_first[] =
    "  if ((mode & 4) && at_chunk > 0) {\n"
    "    carry = part[id];\n"
    "  } else if (p < to) {\n"
    "    carry = SC_LOAD(xp + (ga_ssize)p * xs);\n"
    "    if (!(mode & 2))\n"
    "      SC_STORE(op + (ga_ssize)p * os, (mode & 1) ? SC_IDENTITY : carry);\n"
    "    p++;\n"
    "  }\n";
const char ga__scan_cpu_rows_loop[] =
    "    for (; p + 8 <= to; p += 8) {\n"
    "      SC_ACC acc[8];\n"
    "      for (int v = 0; v < 8; v++) acc[v] = SC_AT_X(p + v);\n"
    "      if (mode & 2) {\n"
    "        for (int s = 1; s < 8; s <<= 1)\n"
    "          for (int v = 0; v < 8; v += 2 * s)\n"
    "            acc[v] = SC_COMBINE(acc[v], acc[v + s]);\n"
    "        carry = SC_COMBINE(carry, acc[0]);\n"
    "      } else {\n"
    "        for (int s = 1; s < 8; s <<= 1)\n"
    "          for (int v = 7; v >= s; v--)\n"
    "            acc[v] = SC_COMBINE(acc[v - s], acc[v]);\n"
    "        const SC_ACC before = carry;\n"
    "        for (int v = 0; v < 8; v++) acc[v] = SC_COMBINE(before, acc[v]);\n"
    "        carry = acc[7];\n"
    "        if (mode & 1) {\n"
    "          for (int v = 7; v > 0; v--) acc[v] = acc[v - 1];\n"
    "          acc[0] = before;\n"
    "        }\n"
    "        for (int v = 0; v < 8; v++) SC_AT_O(p + v, acc[v]);\n"
    "      }\n"
    "    }\n";
const char ga__scan_cpu_rows_end[] =
    "  for (; p < to; p++) {\n"
    "    const SC_ACC before = carry;\n"
    "    carry = SC_COMBINE(carry, SC_LOAD(xp + (ga_ssize)p * xs));\n"
    "    if (!(mode & 2))\n"
    "      SC_STORE(op + (ga_ssize)p * os, (mode & 1) ? before : carry);\n"
    "  }\n"
    "  if (mode & 2) part[id] = carry;\n"
    "  }\n}\n";

/* The items of a group walk down a strip of columns together, SC_OWN each. */
const char ga__scan_cpu_columns_begin[] =
    "#define SC_OWN (SC_STRIP / SC_LANES)\n"
    "#define SC_COLUMN(v) ((v) * SC_LANES + lane)\n"
    "  const SC_INT strips = (across + SC_STRIP - 1) / SC_STRIP;\n"
    "  const SC_INT total = rows * strips * chunks;\n"
    "  const SC_INT per = (total + (SC_INT)GDIM_0 - 1) / (SC_INT)GDIM_0;\n"
    "  SC_INT id = (SC_INT)GID_0 * per;\n"
    "  const SC_INT last = total - id < per ? total : id + per;\n"
    "  for (; id < last; id++) {\n"
    "  const SC_INT at_chunk = id % chunks, block = id / chunks;\n"
    "  const SC_INT row = block / strips, first = block % strips * SC_STRIP;\n"
    "  const SC_INT from = at_chunk * chunk;\n"
    "  const SC_INT to = length - from < chunk ? length : from + chunk;\n"
    "  const int lane = (int)LID_0;\n"
    "  const int width = (int)(across - first < SC_STRIP ? across - first : "
    "SC_STRIP);\n"
    "  const int count = (width + SC_LANES - 1 - lane) / SC_LANES;\n"
    "  const ga_ssize place = ((ga_ssize)row * chunks + at_chunk) * across + first;\n"
    "  SC_ACC acc[SC_OWN];\n"
    "  SC_INT p = from;\n";
const char ga__scan_cpu_columns_first[] =
    "  xp += (ga_ssize)first * xc;\n"
    "  op += (ga_ssize)first * oc;\n"
    "  if ((mode & 4) && at_chunk > 0) {\n"
    "    for (int v = 0; v < count; v++) acc[v] = part[place + SC_COLUMN(v)];\n"
    "  } else if (p < to) {\n"
    "    for (int v = 0; v < count; v++) {\n"
    "      acc[v] = SC_LOAD(xp + (ga_ssize)p * xs + SC_COLUMN(v) * xc);\n"
    "      if (!(mode & 2))\n"
    "        SC_STORE(op + (ga_ssize)p * os + SC_COLUMN(v) * oc,\n"
    "                 (mode & 1) ? SC_IDENTITY : acc[v]);\n"
    "    }\n"
    "    p++;\n"
    "  }\n";
const char ga__scan_cpu_columns_loop[] =
    "    for (; p < to; p++) {\n"
    "      GLOBAL_MEM const char *xt = xp + (ga_ssize)p * xs;\n"
    "      GLOBAL_MEM char *ot = op + (ga_ssize)p * os;\n"
    "      if (mode & 2) {\n"
    "        for (int v = 0; v < SC_WIDTH; v++)\n"
    "          acc[v] = SC_COMBINE(acc[v], SC_AT_X(SC_COLUMN(v)));\n"
    "      } else if (mode & 1) {\n"
    "        for (int v = 0; v < SC_WIDTH; v++) {\n"
    "          const SC_ACC before = acc[v];\n"
    "          acc[v] = SC_COMBINE(before, SC_AT_X(SC_COLUMN(v)));\n"
    "          SC_AT_O(SC_COLUMN(v), before);\n"
    "        }\n"
    "      } else {\n"
    "        for (int v = 0; v < SC_WIDTH; v++) {\n"
    "          acc[v] = SC_COMBINE(acc[v], SC_AT_X(SC_COLUMN(v)));\n"
    "          SC_AT_O(SC_COLUMN(v), acc[v]);\n"
    "        }\n"
    "      }\n"
    "    }\n";
const char ga__scan_cpu_columns_end[] =
    "  if (mode & 2)\n"
    "    for (int v = 0; v < count; v++) part[place + SC_COLUMN(v)] = acc[v];\n"
    "  }\n}\n#undef SC_OWN\n#undef SC_COLUMN\n";

const char ga__scan_tail[] =
    "#undef SC_INT\n#undef SC_ACC\n#undef SC_IN\n#undef SC_OUT\n#undef SC_IDENTITY\n"
    "#undef SC_LOOKS\n#undef SC_ROWS\n#undef SC_BLOCK\n#undef SC_ITEMS\n"
    "#undef SC_STRIP\n#undef SC_LANES\n#undef SC_AXES\n#undef SC_OUTER_OFFSETS\n#undef "
    "SC_LOAD\n"
    "#undef SC_STORE\n#undef SC_READ\n#undef SC_WHOLE\n#undef SC_UP\n#undef "
    "SC_PACK_IN\n#undef "
    "SC_PACK_OUT\n#undef SC_FROM\n#undef "
    "SC_PUT\n#undef SC_GET\n#undef SC_NAME\n#undef SC_MAP\n"
    "#undef SC_COMBINE\n#undef SC_KEEP\n"
    "#undef SC_KERNEL\n#undef SC_PART\n#undef SC_WORDS\n#undef SC_EACH\n#undef "
    "SC_WARPS\n";
