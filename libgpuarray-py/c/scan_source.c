/* The kernel texts of a scan: along rows or down columns, for GPUs or CPUs.
 *
 * They are written once, over words (SC_...) that the generator defines. The order in
 * which elements are combined depends on shape and geometry only, never on time.
 *
 * On a GPU a group takes tiles: an item combines the neighbouring elements it owns,
 * then the items' totals are scanned in local memory. Where groups may wait for each
 * other, the axis is read once: a tile publishes its total, and the prefix of a tile is
 * the prefix of its group of tiles, combined with the totals of the tiles before it in
 * that group. The last tile of a group publishes the prefix of the next one. So neither
 * what is combined nor its order depends on who came first (a plain decoupled look-back
 * would stop at whatever prefix it finds). Elsewhere chunks are summed first. */
#include "c/scan_source.h"

#include <string.h>

#include "c/dtype.h"

/* ---- what all kernels begin with ---- */

static const char head[] =
    "SC_KERNEL void SC_NAME(\n"
    "    GLOBAL_MEM SC_OUT *out, ga_size out_off,\n"
    "    GLOBAL_MEM const SC_IN *x, ga_size x_off,\n"
    "    GLOBAL_MEM SC_PART *part, ga_size part_off,\n"
    "    SC_INT rows, SC_INT across, SC_INT length, SC_INT chunk, SC_INT chunks,\n"
    "    ga_int mode, ga_ssize xs, ga_ssize os, ga_ssize xc, ga_ssize oc SC_AXES) {\n"
    "  part = (GLOBAL_MEM SC_PART *)((GLOBAL_MEM char *)part + part_off);\n";

/* From `row`, the line of the outer axes: where it begins. */
static const char line[] =
    "  GLOBAL_MEM const char *xp = (GLOBAL_MEM const char *)x + x_off;\n"
    "  GLOBAL_MEM char *op = (GLOBAL_MEM char *)out + out_off;\n"
    "  {\n"
    "    SC_INT rest = row;\n"
    "    SC_OUTER_OFFSETS\n"
    "  }\n";

/* ---- GPU: tiles ---- */

/* Item SC_I of SC_COUNT along the axis; SC_POS(i) is the place of item i in local
 * memory. */
static const char tile_words_rows[] = "#define SC_I lane\n#define SC_COUNT "
                                      "lanes\n#define SC_POS(i) (slot * lanes + (i))\n";
static const char tile_words_columns[] =
    "#define SC_I slot\n#define SC_COUNT slots\n#define SC_POS(i) ((i) * lanes + "
    "lane)\n";

static const char tile_begin[] =
    "  LOCAL_MEM SC_ACC sums[2 * SC_BLOCK];\n"
    "#if SC_ROWS\n"
    "  LOCAL_MEM SC_ACC tile[SC_BLOCK * SC_ITEMS];\n"
    "#endif\n"
    "#if SC_LOOKS && SC_ROWS\n"
    "  const int lane = (int)LID_0, lanes = SC_BLOCK, slot = 0, slots = 1;\n"
    "#else\n"
    "  const int lane = (int)LID_0, lanes = (int)LDIM_0;\n"
    "  const int slot = (int)LID_1, slots = (int)LDIM_1;\n"
    "#endif\n"
    "  const SC_INT step = SC_COUNT * SC_ITEMS;\n"
    "#if SC_LOOKS\n"
    "  LOCAL_MEM ga_uint ticket[1];\n"
    "  LOCAL_MEM SC_ACC ahead[SC_ROWS ? 2 : SC_BLOCK];\n"
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

static const char tile_loop[] =
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
static const char load_rows[] =
    "    GLOBAL_MEM const char *xt = xp + (ga_ssize)start * xs;\n"
    "    if (mode & 8) {\n"
    "      GLOBAL_MEM const SC_IN *xu = (GLOBAL_MEM const SC_IN *)xt + lane;\n"
    "      for (int v = 0; v < SC_ITEMS; v++) {\n"
    "        acc[v] = SC_IDENTITY;\n"
    "        if (v * lanes + lane < count) acc[v] = SC_LOAD(xu + v * lanes);\n"
    "      }\n"
    "    } else {\n"
    "      xt += (ga_ssize)lane * xs;\n"
    "      for (int v = 0; v < SC_ITEMS; v++, xt += (ga_ssize)lanes * xs) {\n"
    "        acc[v] = SC_IDENTITY;\n"
    "        if (v * lanes + lane < count) acc[v] = SC_LOAD(xt);\n"
    "      }\n"
    "    }\n"
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      tile[slot * lanes * SC_ITEMS + v * lanes + lane] = acc[v];\n"
    "    local_barrier();\n"
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      acc[v] = tile[(slot * lanes + lane) * SC_ITEMS + v];\n";
static const char load_columns[] =
    "    const int own = slot * SC_ITEMS;\n"
    "    GLOBAL_MEM const char *xt = xp + ((ga_ssize)start + own) * xs;\n"
    "    for (int v = 0; v < SC_ITEMS; v++) {\n"
    "      acc[v] = SC_IDENTITY;\n"
    "      if (own + v < count) acc[v] = SC_LOAD(xt + v * xs);\n"
    "    }\n";

/* A scan of one value of each item, in one half of `sums`. */
static const char scan_words[] =
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
    /* The same for the `n` first lanes of a warp. */
    "#define SC_SCAN_WARP(value, n)                                            \\\n"
    "  turn = 0;                                                               \\\n"
    "  sums[SC_POS(lane)] = (value);                                           \\\n"
    "  ga_warp_barrier();                                                      \\\n"
    "  for (int s = 1; s < (n); s <<= 1) {                                     \\\n"
    "    SC_ACC sum = sums[turn + SC_POS(lane)];                               \\\n"
    "    if ((lane & 31) >= s)                                                 \\\n"
    "      sum = SC_COMBINE(sums[turn + SC_POS(lane - s)], sum);               \\\n"
    "    turn = SC_BLOCK - turn;                                               \\\n"
    "    sums[turn + SC_POS(lane)] = sum;                                      \\\n"
    "    ga_warp_barrier();                                                    \\\n"
    "  }\n"
    "#endif\n";

/* `before`: of the items before this one, if there are; `total`: of all. */
static const char scan_items[] =
    "    int turn;\n"
    "    for (int v = 1; v < SC_ITEMS; v++) acc[v] = SC_COMBINE(acc[v - 1], acc[v]);\n"
    "    SC_ACC before = carry;\n"
    "    SC_SCAN(acc[SC_ITEMS - 1], SC_COUNT)\n"
    "    const SC_ACC total = sums[turn + SC_POS(SC_COUNT - 1)];\n"
    "    if (SC_I > 0) before = sums[turn + SC_POS(SC_I - 1)];\n"
    "    local_barrier();\n";
/* With warps: scans of each, then the warps' totals one after the other. */
static const char scan_items_warps[] =
    "    int turn;\n"
    "    for (int v = 1; v < SC_ITEMS; v++) acc[v] = SC_COMBINE(acc[v - 1], acc[v]);\n"
    "    SC_SCAN_WARP(acc[SC_ITEMS - 1], (lanes < 32 ? lanes : 32))\n"
    "    SC_ACC before = carry, total = carry;\n"
    "    if ((lane & 31) > 0) before = sums[turn + SC_POS(lane - 1)];\n"
    "    if (lanes <= 32) {\n"
    "      total = sums[turn + SC_POS(lanes - 1)];\n"
    "      ga_warp_barrier();\n"
    "    } else {\n"
    "      local_barrier();\n"
    "      for (int w = 0; w < lanes; w += 32) {\n"
    "        if (w == lane - (lane & 31) && w > 0)\n"
    "          before = (lane & 31) > 0 ? SC_COMBINE(total, before) : total;\n"
    "        const SC_ACC of_warp = sums[turn + SC_POS(w + 31)];\n"
    "        total = w > 0 ? SC_COMBINE(total, of_warp) : of_warp;\n"
    "      }\n"
    "      local_barrier();\n"
    "    }\n";

/* A value that other groups wait for: words of which each says that it is there. */
static const char publishing[] =
    "GA_INLINE void SC_PUT(volatile GLOBAL_MEM ga_ulong *p, SC_ACC value) {\n"
    "  union { SC_ACC value; ga_uint words[SC_WORDS]; } u;\n"
    "  for (int w = 0; w < SC_WORDS; w++) u.words[w] = 0;\n"
    "  u.value = value;\n"
    "  for (int w = 0; w < SC_WORDS; w++) p[w] = ((ga_ulong)1 << 32) | u.words[w];\n"
    "}\n"
    "GA_INLINE SC_ACC SC_GET(const volatile GLOBAL_MEM ga_ulong *p) {\n"
    "  union { SC_ACC value; ga_uint words[SC_WORDS]; } u;\n"
    "  for (int w = 0; w < SC_WORDS; w++) {\n"
    "    ga_ulong word;\n"
    "    do word = p[w]; while ((word >> 32) == 0);\n"
    "    u.words[w] = (ga_uint)word;\n"
    "  }\n"
    "  return u.value;\n"
    "}\n";

/* The prefix of this tile, as the file's first lines say. */
static const char look_begin[] =
    "    {\n"
    "      const SC_INT radix = mode >> 8, group = at_chunk / radix;\n"
    "      const int d = (int)(at_chunk - group * radix);\n"
    "      const SC_INT groups = (chunks + radix - 1) / radix;\n"
    "      const ga_ssize base = (ga_ssize)row * (chunks + groups) * across + column;\n"
    "      const ga_ssize first = base + (ga_ssize)group * radix * across;\n"
    "      const ga_ssize prefix = base + (ga_ssize)(chunks + group) * across;\n"
    "      if (SC_I == 0 && d < radix - 1 && valid)\n"
    "        SC_PUT(part + (first + d * across) * SC_WORDS, total);\n";
/* Of rows a warp reads the totals, SC_EACH neighbours a lane, all asked for at once. */
static const char look_rows[] =
    "      if (lane < 32) {\n"
    "        const volatile GLOBAL_MEM ga_ulong *p =\n"
    "            (const volatile GLOBAL_MEM ga_ulong *)(part + first * SC_WORDS);\n"
    "        ga_ulong raw[SC_EACH * SC_WORDS];\n"
    "        const int at = lane * SC_EACH, own = d - at;\n"
    "        for (int w = 0; w < SC_EACH * SC_WORDS; w++)\n"
    "          if (w < own * SC_WORDS) raw[w] = p[at * SC_WORDS + w];\n"
    "        SC_ACC seen = SC_IDENTITY;\n"
    "        for (int e = 0; e < SC_EACH; e++)\n"
    "          if (e < own) {\n"
    "            union { SC_ACC value; ga_uint words[SC_WORDS]; } u;\n"
    "            for (int w = 0; w < SC_WORDS; w++) {\n"
    "              ga_ulong word = raw[e * SC_WORDS + w];\n"
    "              while ((word >> 32) == 0) word = p[(at + e) * SC_WORDS + w];\n"
    "              u.words[w] = (ga_uint)word;\n"
    "            }\n"
    "            seen = e > 0 ? SC_COMBINE(seen, u.value) : u.value;\n"
    "          }\n"
    "        ga_warp_barrier();\n"
    "        SC_SCAN_WARP(seen, (d + SC_EACH - 1) / SC_EACH)\n"
    "        if (lane == 0 && d > 0)\n"
    "          ahead[0] = sums[turn + (d + SC_EACH - 1) / SC_EACH - 1];\n"
    "      } else if (lane == 32 && group > 0) {\n"
    "        ahead[1] = SC_GET(part + prefix * SC_WORDS);\n"
    "      }\n"
    "      local_barrier();\n"
    "      if (group > 0)\n"
    "        carry = d > 0 ? SC_COMBINE(ahead[1], ahead[0]) : ahead[1];\n"
    "      else if (d > 0)\n"
    "        carry = ahead[0];\n";
static const char look_columns[] =
    "      SC_ACC seen = SC_IDENTITY;\n"
    "      if (SC_I < d && valid)\n"
    "        seen = SC_GET(part + (first + (ga_ssize)SC_I * across) * SC_WORDS);\n"
    "      else if (SC_I == SC_COUNT - 1 && group > 0 && valid)\n"
    "        seen = SC_GET(part + prefix * SC_WORDS);\n"
    "      if (SC_I == SC_COUNT - 1) ahead[lane] = seen;\n"
    "      SC_SCAN(seen, d)\n"
    "      if (group > 0) {\n"
    "        carry = ahead[lane];\n"
    "        if (d > 0) carry = SC_COMBINE(carry, sums[turn + SC_POS(d - 1)]);\n"
    "      } else if (d > 0) {\n"
    "        carry = sums[turn + SC_POS(d - 1)];\n"
    "      }\n";
static const char look_end[] =
    "      has_carry = at_chunk > 0;\n"
    "      if (SC_I == 0 && d == radix - 1 && at_chunk + 1 < chunks && valid)\n"
    "        SC_PUT(part + (prefix + across) * SC_WORDS,\n"
    "               has_carry ? SC_COMBINE(carry, total) : total);\n"
    "      if (SC_I == 0) before = carry;\n"
    "    }\n";

/* What an item's elements are combined with, and their results. */
static const char tile_results[] =
    "    const int has_before = has_carry || SC_I > 0;\n"
    "    if (has_carry && SC_I > 0) before = SC_COMBINE(carry, before);\n"
    "    carry = has_carry ? SC_COMBINE(carry, total) : total;\n"
    "    has_carry = 1;\n"
    "    if (has_before)\n"
    "      for (int v = 0; v < SC_ITEMS; v++) acc[v] = SC_COMBINE(before, acc[v]);\n"
    "    if (mode & 1) {\n"
    "      for (int v = SC_ITEMS - 1; v > 0; v--) acc[v] = acc[v - 1];\n"
    "      acc[0] = has_before ? before : SC_IDENTITY;\n"
    "    }\n"
    "    if (mode & 2) continue;\n";
static const char store_rows[] =
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
static const char store_columns[] =
    "    GLOBAL_MEM char *ot = op + ((ga_ssize)start + own) * os;\n"
    "    for (int v = 0; v < SC_ITEMS; v++)\n"
    "      if (own + v < count && valid) SC_STORE(ot + v * os, acc[v]);\n"
    "  }\n";
static const char tile_end[] =
    "#if !SC_LOOKS\n"
    "  if ((mode & 2) && SC_I == 0 && valid) part[place] = carry;\n"
    "#endif\n"
    "}\n"
    "#undef SC_I\n#undef SC_COUNT\n#undef SC_POS\n#undef SC_SCAN\n"
    "#undef SC_SCAN_WARP\n";

/* ---- CPU: a group takes its share of what there is ---- */

/* A row's chunk, in blocks whose results wait for one combination only. */
static const char cpu_rows_begin[] =
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
static const char cpu_rows_first[] =
    "  if ((mode & 4) && at_chunk > 0) {\n"
    "    carry = part[id];\n"
    "  } else if (p < to) {\n"
    "    carry = SC_LOAD(xp + (ga_ssize)p * xs);\n"
    "    if (!(mode & 2))\n"
    "      SC_STORE(op + (ga_ssize)p * os, (mode & 1) ? SC_IDENTITY : carry);\n"
    "    p++;\n"
    "  }\n";
static const char cpu_rows_loop[] =
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
static const char cpu_rows_end[] =
    "  for (; p < to; p++) {\n"
    "    const SC_ACC before = carry;\n"
    "    carry = SC_COMBINE(carry, SC_LOAD(xp + (ga_ssize)p * xs));\n"
    "    if (!(mode & 2))\n"
    "      SC_STORE(op + (ga_ssize)p * os, (mode & 1) ? before : carry);\n"
    "  }\n"
    "  if (mode & 2) part[id] = carry;\n"
    "  }\n}\n";

/* The items of a group walk down a strip of columns together, SC_OWN each. */
static const char cpu_columns_begin[] =
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
static const char cpu_columns_first[] =
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
static const char cpu_columns_loop[] =
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
static const char cpu_columns_end[] =
    "  if (mode & 2)\n"
    "    for (int v = 0; v < count; v++) part[place + SC_COLUMN(v)] = acc[v];\n"
    "  }\n}\n#undef SC_OWN\n#undef SC_COLUMN\n";

static const char tail[] =
    "#undef SC_INT\n#undef SC_ACC\n#undef SC_IN\n#undef SC_OUT\n#undef SC_IDENTITY\n"
    "#undef SC_LOOKS\n#undef SC_ROWS\n#undef SC_BLOCK\n#undef SC_ITEMS\n"
    "#undef SC_STRIP\n#undef SC_LANES\n#undef SC_AXES\n#undef SC_OUTER_OFFSETS\n#undef "
    "SC_LOAD\n"
    "#undef SC_STORE\n#undef SC_PUT\n#undef SC_GET\n#undef SC_NAME\n#undef SC_MAP\n"
    "#undef SC_COMBINE\n#undef SC_KEEP\n"
    "#undef SC_KERNEL\n#undef SC_PART\n#undef SC_WORDS\n#undef SC_EACH\n#undef "
    "SC_WARPS\n";

/* ---- the words ---- */

static const char *type_name(int typecode) {
  return gpuarray_get_type(typecode)->cluda_name;
}

unsigned int ga__scan_block(enum ga_scan_kind kind) {
  return kind == GA_SCAN_ROWS ? 256 : 512;
}

/* Odd for rows, so that items reading their neighbouring elements meet in no bank of
 * local memory. */
unsigned int ga__scan_items(const ga_scan_spec *spec, enum ga_scan_kind kind) {
  const size_t size = gpuarray_get_elsize(spec->acc);
  if (kind == GA_SCAN_ROWS)
    return size <= 4 ? 19 : size == 8 ? 11 : 5;
  return size <= 4 ? 48 : size == 8 ? 24 : 12;
}

/* `form` with '%' replaced by `operand`. */
static void add_form(ga_strbuf *sb, const char *form, const char *operand) {
  const char *at = strchr(form, '%');
  ga__strbuf_addn(sb, form, (size_t)(at - form));
  ga__strbuf_add(sb, operand);
  ga__strbuf_add(sb, at + 1);
}

static void add_types(ga_strbuf *sb, const ga_scan_spec *spec, enum ga_scan_kind kind) {
  ga__strbuf_addf(sb,
                  "#define SC_INT %s\n#define SC_ACC %s\n#define SC_IN %s\n"
                  "#define SC_OUT %s\n#define SC_LOOKS %d\n#define SC_ROWS %d\n"
                  "#define SC_BLOCK %u\n#define SC_ITEMS %u\n#define SC_STRIP %d\n"
                  "#define SC_LANES %u\n",
                  spec->is_wide ? "ga_ssize" : "ga_int", type_name(spec->acc),
                  type_name(spec->input.typecode), type_name(spec->out),
                  spec->looks_back, kind == GA_SCAN_ROWS, ga__scan_block(kind),
                  ga__scan_items(spec, kind), GA_SCAN_STRIP, spec->lanes);
  const size_t size = gpuarray_get_elsize(spec->acc);
  ga__strbuf_addf(sb,
                  "#define SC_WARPS %d\n#define SC_PART %s\n#define SC_WORDS %zu\n"
                  "#define SC_EACH %d\n#define SC_KERNEL %s\n"
                  "#define SC_IDENTITY (%s(%s))\n",
                  spec->has_warps, spec->looks_back ? "ga_ulong" : "SC_ACC",
                  size < 4 ? 1 : size / 4, GA_SCAN_RADIX / 32,
                  spec->looks_back && kind == GA_SCAN_ROWS ? "KERNEL_OF(SC_BLOCK, 4)"
                                                           : "KERNEL",
                  ga__dtype_kind(spec->acc) == 'c' ? "" : "(SC_ACC)", spec->identity);
}

/* The map of an element, the combination of two accumulators, and what is stored. */
static void add_functions(ga_strbuf *sb, const ga_scan_spec *spec) {
  const gpuelemwise_arg *in = &spec->input;
  ga__strbuf_addf(sb, "GA_INLINE SC_ACC SC_MAP(%s %s) {\n  return ",
                  type_name(ga__dtype_work(in->typecode)), in->name);
  const bool is_complex = ga__dtype_kind(spec->acc) == 'c';
  ga__strbuf_addf(sb,
                  is_complex             ? "%s"
                  : spec->acc == GA_BOOL ? "(%s) != 0"
                                         : "(SC_ACC)(%s)",
                  spec->map);
  ga__strbuf_add(sb, ";\n}\nGA_INLINE SC_ACC SC_COMBINE(SC_ACC a, SC_ACC b) {\n"
                     "  return ");
  ga__strbuf_addf(sb,
                  is_complex             ? "%s"
                  : spec->acc == GA_BOOL ? "(%s) != 0"
                                         : "(SC_ACC)(%s)",
                  spec->combine);
  ga__strbuf_add(sb, ";\n}\nGA_INLINE SC_OUT SC_KEEP(SC_ACC a) {\n  return ");
  ga_strbuf converted = {0};
  ga__dtype_convert(&converted, "a", spec->acc, spec->out);
  if (ga__strbuf_status(&converted) == GA_NO_ERROR)
    add_form(sb, ga__dtype_store(spec->out), converted.text);
  else
    sb->failed = true;
  ga__strbuf_clear(&converted);
  ga__strbuf_add(sb, ";\n}\n#define SC_LOAD(p) SC_MAP(");
  add_form(sb, ga__dtype_load(in->typecode), "*(GLOBAL_MEM const SC_IN *)(p)");
  ga__strbuf_add(sb, ")\n#define SC_STORE(p, v) *(GLOBAL_MEM SC_OUT *)(p) = "
                     "SC_KEEP(v)\n");
}

static void add_axes(ga_strbuf *sb, unsigned int nk) {
  ga__strbuf_add(sb, "#define SC_AXES ");
  for (unsigned int k = 0; k < nk; k++)
    ga__strbuf_addf(sb, ", SC_INT d%u, ga_ssize xk%u, ga_ssize ok%u", k, k, k);
  ga__strbuf_add(sb, "\n#define SC_OUTER_OFFSETS ");
  for (unsigned int k = nk; k-- > 0;)
    ga__strbuf_addf(sb,
                    "{ const SC_INT q = rest / d%u, r = rest - q * d%u; "
                    "rest = q; xp += (ga_ssize)r * xk%u; op += (ga_ssize)r * ok%u; } ",
                    k, k, k, k);
  ga__strbuf_add(sb, "\n");
}

static void add_tiles(ga_strbuf *sb, const ga_scan_spec *spec, bool rows) {
  if (spec->looks_back)
    ga__strbuf_add(sb, publishing);
  ga__strbuf_add(sb, rows ? tile_words_rows : tile_words_columns);
  ga__strbuf_add(sb, head);
  ga__strbuf_add(sb, tile_begin);
  ga__strbuf_add(sb, line);
  ga__strbuf_add(sb, tile_loop);
  ga__strbuf_add(sb, rows ? load_rows : load_columns);
  ga__strbuf_add(sb, scan_words);
  ga__strbuf_add(sb, rows && spec->has_warps ? scan_items_warps : scan_items);
  if (spec->looks_back) {
    ga__strbuf_add(sb, look_begin);
    ga__strbuf_add(sb, rows ? look_rows : look_columns);
    ga__strbuf_add(sb, look_end);
  }
  ga__strbuf_add(sb, tile_results);
  ga__strbuf_add(sb, rows ? store_rows : store_columns);
  ga__strbuf_add(sb, tile_end);
}

/* The loop twice: over elements side by side, which vector units like, and any. */
static void add_cpu_loops(ga_strbuf *sb, bool rows) {
  const char *loop = rows ? cpu_rows_loop : cpu_columns_loop;
  const char *x = rows ? "xp" : "xt", *o = rows ? "op" : "ot";
  ga__strbuf_addf(sb,
                  "#define SC_WIDTH SC_OWN\n"
                  "#define SC_AT_X(i) SC_LOAD((GLOBAL_MEM const SC_IN *)%s + (i))\n"
                  "#define SC_AT_O(i, v) SC_STORE((GLOBAL_MEM SC_OUT *)%s + (i), v)\n"
                  "  if ((mode & 8)%s) {\n",
                  x, o, rows ? "" : " && count == SC_OWN");
  ga__strbuf_add(sb, loop);
  ga__strbuf_addf(sb,
                  "#undef SC_WIDTH\n#undef SC_AT_X\n#undef SC_AT_O\n"
                  "#define SC_WIDTH count\n"
                  "#define SC_AT_X(i) SC_LOAD(%s + (ga_ssize)(i) * %s)\n"
                  "#define SC_AT_O(i, v) SC_STORE(%s + (ga_ssize)(i) * %s, v)\n"
                  "  } else {\n",
                  x, rows ? "xs" : "xc", o, rows ? "os" : "oc");
  ga__strbuf_add(sb, loop);
  ga__strbuf_add(sb, "  }\n#undef SC_WIDTH\n#undef SC_AT_X\n#undef SC_AT_O\n");
}

static void add_cpu(ga_strbuf *sb, bool rows) {
  ga__strbuf_add(sb, head);
  ga__strbuf_add(sb, rows ? cpu_rows_begin : cpu_columns_begin);
  ga__strbuf_add(sb, line);
  ga__strbuf_add(sb, rows ? cpu_rows_first : cpu_columns_first);
  add_cpu_loops(sb, rows);
  ga__strbuf_add(sb, rows ? cpu_rows_end : cpu_columns_end);
}

/* out->body becomes the preamble and `text`, whose words for names are then defined.
 * Equal names must mean equal kernels: the hash covers the preamble too. */
static int finish(ga_source *out, const char *stem, const char *preamble,
                  const ga_strbuf *text) {
  ga_strbuf body = {0};
  GA_TRY(ga__strbuf_status(text));
  if (preamble != NULL && preamble[0] != '\0')
    ga__strbuf_addf(&body, "%s\n", preamble);
  const size_t own = body.length;
  ga__strbuf_add(&body, text->text);
  if (ga__strbuf_status(&body) == GA_NO_ERROR) {
    ga__kernel_name(out->name, stem, body.text);
    body.length = own;
    ga__strbuf_addf(&body,
                    "#define SC_NAME %s\n#define SC_MAP %s_map\n"
                    "#define SC_COMBINE %s_combine\n#define SC_KEEP %s_keep\n"
                    "#define SC_PUT %s_put\n#define SC_GET %s_get\n",
                    out->name, out->name, out->name, out->name, out->name, out->name);
    ga__strbuf_add(&body, text->text);
  }
  if (ga__strbuf_status(&body) != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return GA_MEMORY_ERROR;
  }
  out->body = body;
  return GA_NO_ERROR;
}

int ga__scan_source(ga_source *out, const ga_scan_spec *spec, enum ga_scan_kind kind,
                    unsigned int nk) {
  const bool rows = kind == GA_SCAN_ROWS;
  ga_strbuf text = {0};
  add_types(&text, spec, kind);
  add_functions(&text, spec);
  add_axes(&text, nk);
  if (spec->is_cpu)
    add_cpu(&text, rows);
  else
    add_tiles(&text, spec, rows);
  ga__strbuf_add(&text, tail);
  int status = finish(out, rows ? "scan_rows" : "scan_columns", spec->preamble, &text);
  ga__strbuf_clear(&text);
  return status;
}
