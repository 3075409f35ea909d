/* The parts of the reduction kernels: along rows or across columns, for GPUs or CPUs.
 *
 * They are written once, over words (RD_...) that reduce_source.c defines for a spec,
 * its types and the number of axes. The order in which elements are combined depends on
 * shape, alignment and geometry only, never on time: an item keeps RD_WIDTH
 * accumulators and folds them into one; a tree in local memory folds those of the items
 * of one result. Runs of elements are combined apart before they join the accumulators,
 * so that long float sums stay accurate. On a GPU an item has RD_UNROLL packets of
 * RD_VECTOR neighbouring elements in flight, each loaded at once. */
#include "c/reduce/reduce_text.h"

const char ga__reduce_head[] =
    "KERNEL void RD_NAME(\n"
    "    RD_OUTPUTS GLOBAL_MEM RD_ACC *part, ga_size part_off RD_INPUTS,\n"
    "    RD_INT tiles, RD_INT per_group, RD_INT results, RD_INT across,\n"
    "    RD_INT outer, RD_INT outer_per, RD_INT inner, RD_INT inner_per,\n"
    "    RD_INT splits, RD_INT lanes_outer, RD_INT mode, ga_long reduced RD_AXES) {\n"
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
    "  part = (GLOBAL_MEM RD_ACC *)((GLOBAL_MEM char *)part + part_off);\n"
    "  RD_BEGIN\n"
    "#define RD_STORE(index, value)                               \\\n"
    "  {                                                          \\\n"
    "    if (mode & 2)                                            \\\n"
    "      part[(ga_ssize)split * results + (index)] = (value);   \\\n"
    "    else {                                                   \\\n"
    "      RD_RESULTS(index, value)                               \\\n"
    "    }                                                        \\\n"
    "  }\n";

/* ---- along rows ---- */

/* The items of dimension 0 walk side by side along the inner axis. On a GPU those of
 * dimension 1 are lanes_outer along the outer ones, for each of several results. */
const char ga__rows_begin[] =
    "#if GA_WARP_SIZE > 1\n"
    "  LOCAL_MEM RD_ACC shared[RD_BLOCK];\n"
    "#endif\n"
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

/* Whole steps, in runs, then one step for which not every item has elements. Unrolled
 * on demand: where a map is long, compilers would keep `run` in memory. */
const char ga__rows_loop[] =
    "        while (i + RD_STEP <= inner_to) {\n"
    "          RD_ACC run[RD_WIDTH];\n"
    "          RD_INT stop = i + 64 * RD_STEP;\n"
    "          if (stop > inner_to - RD_STEP + 1) stop = inner_to - RD_STEP + 1;\n"
    "          const RD_INT begin = i;\n"
    "          for (int v = 0; v < RD_WIDTH; v++) run[v] = RD_IDENTITY;\n";
const char ga__rows_loop_end[] =
    "          for (; i < stop; i += RD_STEP)\n"
    "#if GA_WARP_SIZE > 1\n"
    "#pragma unroll\n"
    "#endif\n"
    "            for (int v = 0; v < RD_WIDTH; v++)\n"
    "              run[v] = RD_JOIN(run[v], RD_ELEMENT(i + v * RD_LANES + RD_LANE),\n"
    "                               i == begin);\n"
    "          for (int v = 0; v < RD_WIDTH; v++)\n"
    "            acc[v] = RD_COMBINE(acc[v], run[v]);\n"
    "        }\n"
    "#if GA_WARP_SIZE > 1\n"
    "#pragma unroll\n"
    "#endif\n"
    "        for (int v = 0; v < RD_WIDTH; v++)\n"
    "          if (i + v * RD_LANES + RD_LANE < inner_to)\n"
    "            acc[v] = RD_COMBINE(acc[v], RD_ELEMENT(i + v * RD_LANES + "
    "RD_LANE));\n";

/* Instead of that, where an item is alone and the compiler is told of vectors. */
const char ga__rows_vectors[] =
    "#if defined(RD_MANY) && GA_WARP_SIZE == 1\n"
    "        if (i + 16 <= inner_to) {\n"
    "          RD_MANY total = vload16(0, acc);\n"
    "          while (i + 16 <= inner_to) {\n"
    "            RD_INT stop = i + 64 * 16;\n"
    "            if (stop > inner_to - 15) stop = inner_to - 15;\n"
    "            RD_MANY run = RD_MANY_AT(y0 + i);\n"
    "            for (i += 16; i < stop; i += 16)\n"
    "              run = RD_COMBINE(run, RD_MANY_AT(y0 + i));\n"
    "            total = RD_COMBINE(total, run);\n"
    "          }\n"
    "          vstore16(total, 0, acc);\n"
    "        }\n"
    "        for (int v = 0; i + v < inner_to; v++)\n"
    "          acc[v] = RD_COMBINE(acc[v], RD_ELEMENT(i + v));\n"
    "#else\n";

/* Of a pick, for one item: chunks have their greatest value found, and only in the one
 * that first has the row's its place is looked for. Positions ascend. A row's last
 * elements are looked at with some that come before them. */
const char ga__rows_pick_vectors[] =
    "#if defined(RD_MANY)\n"
    "        if (i < inner_to) {\n"
    "          const RD_INT last = inner_to - 16;\n"
    "          RD_KEY best = RD_ACC_KEY(RD_ELEMENT(i));\n"
    "          RD_INT found = i;\n"
    "          if (i <= last) {\n"
    "            RD_MANY bests = best;\n"
    "            for (; i < inner_to; i += 512) {\n"
    "              const RD_INT stop = i + 512;\n"
    "              RD_MANY run = bests;\n"
    "              if (stop <= inner_to) {\n"
    "                RD_MANY run1 = bests, run2 = bests, run3 = bests;\n"
    "                for (RD_INT p = i; p < stop; p += 64) {\n"
    "                  run = RD_GREATER(run, RD_MANY_AT(y0 + p));\n"
    "                  run1 = RD_GREATER(run1, RD_MANY_AT(y0 + p + 16));\n"
    "                  run2 = RD_GREATER(run2, RD_MANY_AT(y0 + p + 32));\n"
    "                  run3 = RD_GREATER(run3, RD_MANY_AT(y0 + p + 48));\n"
    "                }\n"
    "                run = RD_GREATER(RD_GREATER(run, run1), RD_GREATER(run2, run3));\n"
    "              } else {\n"
    "                for (RD_INT p = i; p <= last; p += 16)\n"
    "                  run = RD_GREATER(run, RD_MANY_AT(y0 + p));\n"
    "                run = RD_GREATER(run, RD_MANY_AT(y0 + last));\n"
    "              }\n"
    "              if (RD_ANY_PASSES(bests, run)) {\n"
    "                run = RD_GREATER(run, run.s89abcdef01234567);\n"
    "                run = RD_GREATER(run, run.s456789abcdef0123);\n"
    "                run = RD_GREATER(run, run.s23456789abcdef01);\n"
    "                bests = RD_GREATER(run, run.s123456789abcdef0);\n"
    "                found = i;\n"
    "              }\n"
    "            }\n"
    "            while (found <= last && RD_ALL_PASS(RD_MANY_AT(y0 + found), bests))\n"
    "              found += 16;\n"
    "            best = bests.s0;\n"
    "          } else {\n"
    "            for (; i < inner_to; i++) {\n"
    "              const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(i));\n"
    "              best = RD_PASSES(best, x) ? x : best;\n"
    "            }\n"
    "          }\n"
    "          while (RD_PASSES(RD_ACC_KEY(RD_ELEMENT(found)), best)) found++;\n"
    "          acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(found));\n"
    "        }\n"
    "#else\n";

/* The same where the texts are not known to hold for vectors. The bounds are such that
 * the compiler does not know them: then it makes vectors of the loops, which it would
 * unroll. */
const char ga__rows_pick_loop[] =
    "        if (i < inner_to) {\n"
    "          const RD_INT many = RD_VECTOR - 1 + lanes;\n"
    "          RD_KEY best = RD_ACC_KEY(RD_ELEMENT(i));\n"
    "          RD_INT found = i;\n"
    "          while (i < inner_to) {\n"
    "            RD_KEY top[RD_VECTOR];\n"
    "            RD_INT p = i, stop = i + 64 * RD_VECTOR;\n"
    "            if (stop > inner_to) stop = inner_to;\n"
    "            for (int v = 0; v < RD_VECTOR; v++) top[v] = best;\n"
    "            for (; p + RD_VECTOR <= stop; p += RD_VECTOR)\n"
    "              for (RD_INT v = 0; v < many; v++) {\n"
    "                const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(p + v));\n"
    "                top[v] = RD_PASSES(top[v], x) ? x : top[v];\n"
    "              }\n"
    "            if (p < stop && stop - inner_from >= RD_VECTOR) {\n"
    "              p = stop - RD_VECTOR;\n"
    "              for (RD_INT v = 0; v < many; v++) {\n"
    "                const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(p + v));\n"
    "                top[v] = RD_PASSES(top[v], x) ? x : top[v];\n"
    "              }\n"
    "              p = stop;\n"
    "            }\n"
    "            for (RD_INT s = RD_VECTOR / 2 * lanes; s > 0; s /= 2)\n"
    "              for (RD_INT v = 0; v < s; v++)\n"
    "                top[v] = RD_PASSES(top[v], top[v + s]) ? top[v + s] : top[v];\n"
    "            for (; p < stop; p++) {\n"
    "              const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(p));\n"
    "              top[0] = RD_PASSES(top[0], x) ? x : top[0];\n"
    "            }\n"
    "            if (RD_PASSES(best, top[0])) {\n"
    "              best = top[0];\n"
    "              found = i;\n"
    "            }\n"
    "            i = stop;\n"
    "          }\n"
    "          while (found + RD_VECTOR <= inner_to) {\n"
    "            int hits = 0;\n"
    "            for (RD_INT v = 0; v < many; v++)\n"
    "              hits |= !RD_PASSES(RD_ACC_KEY(RD_ELEMENT(found + v)), best);\n"
    "            if (hits) break;\n"
    "            found += RD_VECTOR;\n"
    "          }\n"
    "          while (RD_PASSES(RD_ACC_KEY(RD_ELEMENT(found)), best)) found++;\n"
    "          acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(found));\n"
    "        }\n";

/* Elements before the first whole packet, packets, elements after the last; where the
 * arrays lie differently in their packets, nothing. */
const char ga__rows_packets[] =
    "      if (mode & 4) {\n"
    "        RD_INT head = -1, same = 1;\n"
    "        RD_HEADS\n"
    "        if (same) {\n"
    "          if (head > inner_to - i) head = inner_to - i;\n"
    "          for (RD_INT p = i + lane; p < i + head; p += lanes)\n"
    "            acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(p));\n"
    "          i += head;\n"
    "          RD_PACKET_POINTERS\n"
    "          const RD_INT packets = (inner_to - i) / RD_VECTOR;\n"
    "          RD_INT k = lane;\n";

const char ga__rows_runs[] =
    "          while (k < packets) {\n"
    "            RD_RUN run[RD_WIDTH];\n"
    "            RD_INT stop = k + 16 * RD_UNROLL * lanes;\n"
    "            if (stop > packets) stop = packets;\n"
    "            for (int v = 0; v < RD_WIDTH; v++) run[v] = RD_RUN_NOTHING;\n"
    "            for (; k < stop; k += RD_UNROLL * lanes) {\n"
    "              RD_PACKETS\n"
    "#pragma unroll\n"
    "              for (int u = 0; u < RD_UNROLL; u++)\n"
    "                if (k + u * lanes < packets) { RD_FETCH(u, k + u * lanes) }\n"
    "#pragma unroll\n"
    "              for (int u = 0; u < RD_UNROLL; u++)\n"
    "                if (k + u * lanes < packets) {\n"
    "#pragma unroll\n"
    "                  for (int e = 0; e < RD_VECTOR; e++)\n"
    "                    run[(u * RD_VECTOR + e) % RD_WIDTH] = RD_RUN_ADD(\n"
    "                        run[(u * RD_VECTOR + e) % RD_WIDTH], u, e,\n"
    "                        i + (k + u * lanes) * RD_VECTOR + e, 0, 0);\n"
    "                }\n"
    "            }\n"
    "            for (int v = 0; v < RD_WIDTH; v++)\n"
    "              acc[v] = RD_COMBINE(acc[v], RD_RUN_END(run[v]));\n"
    "          }\n";

/* Of a pick's packets each has its greatest value found, and only that is compared with
 * the best so far, of which the packet is kept. Positions ascend along the row, or else
 * descend (`back`): so of level packets the first is known, and the values of the kept
 * one are all that can be the row's. Past the last packet it is looked at again. */
const char ga__rows_picks[] =
    "          const bool back = RD_POSITION_STEP < 0;\n"
    "          RD_KEY best = RD_ACC_KEY(RD_IDENTITY);\n"
    "          RD_INT found = -1;\n"
    "          RD_KEPT\n"
    "          for (; k < packets; k += RD_UNROLL * lanes) {\n"
    "            RD_PACKETS\n"
    "#pragma unroll\n"
    "            for (int u = 0; u < RD_UNROLL; u++) {\n"
    "              const RD_INT at = k + u * lanes;\n"
    "              RD_FETCH(u, at < packets ? at : packets - 1)\n"
    "            }\n"
    "#pragma unroll\n"
    "            for (int u = 0; u < RD_UNROLL; u++) {\n"
    "              const RD_INT at = k + u * lanes;\n"
    "              RD_KEY top = RD_ACC_KEY(RD_PACKED(u, 0, 0));\n"
    "#pragma unroll\n"
    "              for (int e = 1; e < RD_VECTOR; e++) {\n"
    "                const RD_KEY x = RD_ACC_KEY(RD_PACKED(u, e, 0));\n"
    "                top = RD_PASSES(top, x) ? x : top;\n"
    "              }\n"
    "              if (found < 0 ||\n"
    "                  (back ? !RD_PASSES(top, best) : RD_PASSES(best, top))) {\n"
    "                best = top;\n"
    "                found = at < packets ? at : packets - 1;\n"
    "                RD_KEEP(u)\n"
    "              }\n"
    "            }\n"
    "          }\n"
    "          if (found >= 0) {\n"
    "#pragma unroll\n"
    "            for (int e = 0; e < RD_VECTOR; e++)\n"
    "              acc[0] = RD_COMBINE(acc[0],\n"
    "                                  RD_KEPT_AT(e, i + found * RD_VECTOR + e));\n"
    "          }\n";

/* What is left of the row. */
const char ga__rows_rest[] =
    "          for (RD_INT p = i + packets * RD_VECTOR + lane; p < inner_to; p += "
    "lanes)\n"
    "            acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(p));\n"
    "          i = inner_to;\n"
    "        }\n"
    "      }\n";

const char ga__rows_end[] =
    "    }\n"
    "    for (int s = RD_WIDTH / 2; s > 0; s /= 2)\n"
    "      for (int v = 0; v < s; v++) acc[v] = RD_COMBINE(acc[v], acc[v + s]);\n"
    "#if GA_WARP_SIZE > 1\n"
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
    "#endif\n"
    "    if (item == 0 && result < results) RD_STORE(w, acc[0])\n"
    "  }\n"
    "}\n";

/* ---- across columns ---- */

/* The items of dimension 0 own neighbouring results, RD_WIDTH each; on a GPU those of
 * dimension 1 share the reduced elements, lanes_outer along the outer axes, the others
 * along the inner one. A tile is lanes * RD_WIDTH of the `across` results along the
 * innermost kept axis; where packets begin before an array does, it begins by `shift`
 * columns sooner, for which the host leaves room (`slack`). */
const char ga__columns_begin[] =
    "#if RD_CPU\n"
    "  const RD_INT slack = 0, width = lanes_outer;\n"
    "#else\n"
    "  LOCAL_MEM RD_ACC shared[RD_BLOCK * RD_WIDTH];\n"
    "  const RD_INT item = (RD_INT)LID_1, items = (RD_INT)LDIM_1;\n"
    "  const RD_INT step_outer = lanes_outer, step_inner = items / lanes_outer;\n"
    "  const RD_INT lane_outer = item / step_inner, lane_inner = item % step_inner;\n"
    "  const RD_INT block = items * lanes, mine = item * lanes + lane;\n"
    "  const RD_INT slack = mode & RD_SHIFTED ? RD_WIDTH - 1 : 0;\n"
    "  const RD_INT width = lanes * RD_WIDTH;\n"
    "#endif\n"
    "  const RD_INT tiles_across = (across + slack + width - 1) / width;\n"
    "  for (; tile < tile_to; tile++) {\n"
    "    const RD_INT first = tile % tiles_across * width, count = across - first;\n"
    "    RD_INT rest = tile / tiles_across;\n"
    "    RD_KEPT_OFFSETS\n"
    "    w += first * RD_RESULT_STRIDE;\n";

/* Every reduced element of RD_COUNT columns of this item; RD_COLUMN(v) is the v-th,
 * counted from the tile's first. */
const char ga__columns_loop[] =
    "      for (RD_INT j = outer_from + lane_outer; j < outer_to;\n"
    "           j += step_outer) {\n"
    "        RD_OUTER_POINTERS\n"
    "        RD_INT i = inner_from + lane_inner;\n"
    "        while (i < inner_to) {\n"
    "          RD_ACC run[RD_COUNT];\n"
    "          RD_INT stop = i + 64 * step_inner;\n"
    "          if (stop > inner_to) stop = inner_to;\n"
    "          const RD_INT begin = i;\n"
    "          for (int v = 0; v < RD_COUNT; v++) run[v] = RD_IDENTITY;\n";
const char ga__columns_loop_end[] =
    "          for (; i < stop; i += step_inner) {\n"
    "            RD_INNER_POINTERS\n"
    "            for (int v = 0; v < RD_COUNT; v++)\n"
    "              run[v] = RD_JOIN(run[v], RD_ELEMENT(RD_COLUMN(v)), i == begin);\n"
    "          }\n"
    "          for (int v = 0; v < RD_COUNT; v++)\n"
    "            RD_TOTAL(v) = RD_COMBINE(RD_TOTAL(v), run[v]);\n"
    "        }\n"
    "      }\n";

/* On a GPU an item's columns are neighbours where packets are loaded, else `lanes`
 * apart. Items past the last result load what the last one does. Accumulators lie in
 * local memory from the beginning: runs alone take registers. */
const char ga__columns_gpu[] =
    "    bool packed = mode & 4;\n"
    "    RD_INT shift = -1;\n"
    "    RD_ALIGN\n"
    "    if (!packed || shift < 0) shift = 0;\n"
    "    if (shift > slack) { packed = false; shift = 0; }\n"
    "    if (count <= -shift) continue;\n"
    "    const int next = packed ? 1 : (int)lanes;\n"
    "    const RD_INT own = packed ? lane * RD_WIDTH - shift : lane;\n"
    "    const RD_INT low = first == 0 ? 0 : -shift;\n"
    "#define RD_COUNT RD_WIDTH\n"
    "#define RD_TOTAL(v) shared[(v) * block + mine]\n"
    "    for (int v = 0; v < RD_WIDTH; v++) RD_TOTAL(v) = RD_IDENTITY;\n";

const char ga__columns_packets[] =
    "    if (packed && own >= low && own + RD_WIDTH <= count) {\n"
    "      for (RD_INT j = outer_from + lane_outer; j < outer_to;\n"
    "           j += step_outer) {\n"
    "        RD_OUTER_POINTERS\n"
    "        RD_COLUMN_POINTERS\n"
    "        RD_INT i = inner_from + lane_inner;\n"
    "        while (i < inner_to) {\n"
    "          RD_RUN run[RD_WIDTH];\n"
    "          const RD_INT begin = i;\n"
    "          RD_INT stop = i + 16 * RD_UNROLL * step_inner;\n"
    "          ga_uint ordinal = 0;\n"
    "          if (stop > inner_to) stop = inner_to;\n"
    "          for (int v = 0; v < RD_WIDTH; v++) run[v] = RD_RUN_NOTHING;\n"
    "          for (; i < stop; i += RD_UNROLL * step_inner) {\n"
    "            RD_PACKETS\n"
    "#pragma unroll\n"
    "            for (int u = 0; u < RD_UNROLL; u++)\n"
    "              if (i + u * step_inner < inner_to) { RD_FETCH(u, i + u * "
    "step_inner) }\n"
    "#pragma unroll\n"
    "            for (int u = 0; u < RD_UNROLL; u++)\n"
    "              if (i + u * step_inner < inner_to) {\n"
    "#pragma unroll\n"
    "                for (int v = 0; v < RD_WIDTH; v++)\n"
    "                  run[v] = RD_RUN_ADD(run[v], u, v, i + u * step_inner,\n"
    "                                      u == 0 && i == begin, ordinal + u);\n"
    "              }\n"
    "            ordinal += RD_UNROLL;\n"
    "          }\n"
    "          for (int v = 0; v < RD_WIDTH; v++)\n"
    "            RD_TOTAL(v) = RD_COMBINE(RD_TOTAL(v), RD_RUN_END(run[v]));\n"
    "        }\n"
    "      }\n"
    "    } else\n";

const char ga__columns_gpu_loop[] =
    "    if (!packed || (own < count && own + RD_WIDTH > low)) {\n"
    "      int column[RD_WIDTH];\n"
    "      for (int v = 0; v < RD_WIDTH; v++) {\n"
    "        const RD_INT p = own + v * next;\n"
    "        column[v] = (int)(p < low ? low : p < count ? p : count - 1);\n"
    "      }\n"
    "#define RD_COLUMN(v) column[v]\n";

const char ga__columns_gpu_end[] =
    "    }\n"
    "#undef RD_COUNT\n"
    "#undef RD_COLUMN\n"
    "    if (items > 1) {\n"
    "      local_barrier();\n"
    "      for (RD_INT s = items / 2; s > 0; s /= 2) {\n"
    "        if (item < s)\n"
    "          for (int v = 0; v < RD_WIDTH; v++)\n"
    "            RD_TOTAL(v) = RD_COMBINE(RD_TOTAL(v),\n"
    "                                     shared[v * block + mine + s * lanes]);\n"
    "        local_barrier();\n"
    "      }\n"
    "    }\n"
    "    if (item == 0 && packed && RD_RESULT_STRIDE == 1 && !(mode & 2) &&\n"
    "        own >= low && own + RD_WIDTH <= count &&\n"
    "        (RD_RESULTS_ALIGNED(w + own))) {\n"
    "      RD_RESULT_PACKETS(w + own)\n"
    "    } else if (item == 0)\n"
    "      for (int v = 0; v < RD_WIDTH; v++)\n"
    "        if (own + v * next >= low && own + v * next < count)\n"
    "          RD_STORE(w + (own + v * next) * RD_RESULT_STRIDE, RD_TOTAL(v))\n"
    "#undef RD_TOTAL\n"
    "  }\n"
    "}\n";

/* On a CPU one item walks a tile of neighbouring columns, whose accumulators stay in
 * the cache, a few rows at once: as many streams of memory. */
const char ga__columns_cpu[] =
    "    const RD_INT wide = count < width ? count : width;\n"
    "    RD_TOTALS\n"
    "    for (RD_INT c = 0; c < wide; c++) RD_KEEP_TOTAL(c, RD_IDENTITY)\n"
    "    for (RD_INT j = outer_from; j < outer_to; j++) {\n"
    "      RD_OUTER_POINTERS\n"
    "      RD_INT i = inner_from;\n";

/* Where the compiler makes vectors of straight lines only, strips of columns. */
const char ga__columns_cpu_loop[] =
    "        for (; i + RD_ROWS <= inner_to; i += RD_ROWS) {\n"
    "          RD_INT c = 0;\n"
    "#if defined(RD_MANY) && defined(RD_LINE)\n"
    "          for (; c + 16 <= wide; c += 16) {\n"
    "            RD_MANY run = RD_MANY_AT(RD_LINE(i) + c);\n"
    "            for (int u = 1; u < RD_ROWS; u++)\n"
    "              run = RD_COMBINE(run, RD_MANY_AT(RD_LINE(i + u) + c));\n"
    "            vstore16(RD_COMBINE(vload16(0, totals + c), run), 0, totals + c);\n"
    "          }\n"
    "#elif GA_STRAIGHT_VECTORS\n"
    "          for (; c + RD_STRIP <= wide; c += RD_STRIP) {\n"
    "            RD_ACC run[RD_STRIP];\n"
    "            for (int v = 0; v < RD_STRIP; v++) run[v] = RD_ELEMENT(i, c + v);\n"
    "            for (int u = 1; u < RD_ROWS; u++)\n"
    "              for (int v = 0; v < RD_STRIP; v++)\n"
    "                run[v] = RD_JOIN(run[v], RD_ELEMENT(i + u, c + v), 0);\n"
    "            for (int v = 0; v < RD_STRIP; v++) {\n"
    "              RD_LOAD_TOTAL(c + v)\n"
    "              RD_KEEP_TOTAL(c + v, RD_COMBINE(total, run[v]))\n"
    "            }\n"
    "          }\n"
    "#endif\n"
    "          for (; c < wide; c++) {\n"
    "            RD_ACC run = RD_ELEMENT(i, c);\n"
    "#pragma unroll\n"
    "            for (int u = 1; u < RD_ROWS; u++)\n"
    "              run = RD_JOIN(run, RD_ELEMENT(i + u, c), 0);\n"
    "            RD_LOAD_TOTAL(c)\n"
    "            RD_KEEP_TOTAL(c, RD_COMBINE(total, run))\n"
    "          }\n"
    "        }\n"
    "        for (; i < inner_to; i++)\n"
    "          for (RD_INT c = 0; c < wide; c++) {\n"
    "            RD_LOAD_TOTAL(c)\n"
    "            RD_KEEP_TOTAL(c, RD_COMBINE(total, RD_ELEMENT(i, c)))\n"
    "          }\n";

const char ga__columns_cpu_end[] = "    }\n"
                                   "    for (RD_INT c = 0; c < wide; c++) {\n"
                                   "      RD_LOAD_TOTAL(c)\n"
                                   "      RD_STORE(w + c * RD_RESULT_STRIDE, total)\n"
                                   "    }\n"
                                   "  }\n"
                                   "}\n";
