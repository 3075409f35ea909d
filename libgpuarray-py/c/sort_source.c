/* The kernel texts of sorts and selections.
 *
 * Keys move as they are; where they are compared they are encoded: as unsigned numbers
 * in the same order, with -0.0 equal to 0.0 and every nan after all numbers. A complex
 * key is compared by which of its parts are nan, then by the real part, then by the
 * imaginary one. Every sort is stable. */
#include "c/sort_source.h"

#include <string.h>

#include "c/dtype.h"

/* ---- keys ---- */

static const char keys_scalar[] =
    "GA_INLINE ga_uint SO_DIGIT(SO_KEY key, int pass, int mode) {\n"
    "  const ga_uint digit = (ga_uint)(SO_ENCODE(key) >> (pass * SO_BITS));\n"
    "  return (digit ^ (mode & 8 ? ~0u : 0u)) & (SO_RADIX - 1);\n"
    "}\n"
    "GA_INLINE int SO_BEFORE(SO_KEY a, ga_uint ia, SO_KEY b, ga_uint ib, int mode) {\n"
    "  const SO_CODE ca = SO_ENCODE(a), cb = SO_ENCODE(b);\n"
    "  if (ca != cb) return (ca < cb) != ((mode & 8) != 0);\n"
    "  return ia < ib;\n"
    "}\n";
static const char keys_complex[] =
    "GA_INLINE ga_uint SO_CLASS(SO_KEY key) {\n"
    "  return (SO_ENCODE(key.x) == ~(SO_CODE)0 ? 2u : 0u) |\n"
    "         (SO_ENCODE(key.y) == ~(SO_CODE)0 ? 1u : 0u);\n"
    "}\n"
    "GA_INLINE ga_uint SO_DIGIT(SO_KEY key, int pass, int mode) {\n"
    "  const int half_passes = (SO_WIDTH + SO_BITS - 1) / SO_BITS;\n"
    "  ga_uint digit;\n"
    "  if (pass < half_passes)\n"
    "    digit = (ga_uint)(SO_ENCODE(key.y) >> (pass * SO_BITS));\n"
    "  else if (pass < 2 * half_passes)\n"
    "    digit = (ga_uint)(SO_ENCODE(key.x) >> ((pass - half_passes) * SO_BITS));\n"
    "  else\n"
    "    digit = SO_CLASS(key);\n"
    "  return (digit ^ (mode & 8 ? ~0u : 0u)) & (SO_RADIX - 1);\n"
    "}\n"
    "GA_INLINE int SO_BEFORE(SO_KEY a, ga_uint ia, SO_KEY b, ga_uint ib, int mode) {\n"
    "  const ga_uint na = SO_CLASS(a), nb = SO_CLASS(b);\n"
    "  const int down = (mode & 8) != 0;\n"
    "  if (na != nb) return (na < nb) != down;\n"
    "  const SO_CODE xa = SO_ENCODE(a.x), xb = SO_ENCODE(b.x);\n"
    "  if (xa != xb) return (xa < xb) != down;\n"
    "  const SO_CODE ya = SO_ENCODE(a.y), yb = SO_ENCODE(b.y);\n"
    "  if (ya != yb) return (ya < yb) != down;\n"
    "  return ia < ib;\n"
    "}\n";

/* ---- what kernels begin with ---- */

static const char head[] =
    "SO_KERNEL void SO_NAME(\n"
    "    GLOBAL_MEM const SO_KEY *in, ga_size in_off, GLOBAL_MEM SO_KEY *out,\n"
    "    ga_size out_off, GLOBAL_MEM const SO_VALUE *vin, ga_size vin_off,\n"
    "    GLOBAL_MEM SO_VALUE *vout, ga_size vout_off, GLOBAL_MEM ga_long *indices,\n"
    "    ga_size indices_off,\n";
static const char begin[] =
    "  in = (GLOBAL_MEM const SO_KEY *)((GLOBAL_MEM const char *)in + in_off);\n"
    "  out = (GLOBAL_MEM SO_KEY *)((GLOBAL_MEM char *)out + out_off);\n"
    "  vin = (GLOBAL_MEM const SO_VALUE *)((GLOBAL_MEM const char *)vin + vin_off);\n"
    "  vout = (GLOBAL_MEM SO_VALUE *)((GLOBAL_MEM char *)vout + vout_off);\n"
    "  indices = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)indices + indices_off);\n";

/* ---- a short row in local memory: a bitonic sort ---- */

static const char block[] =
    "    ga_ulong rows, ga_ulong n_, ga_ulong m_, ga_int mode) {\n"
    "  LOCAL_MEM SO_KEY keys[SO_ROOM];\n"
    "  LOCAL_MEM ga_ushort places[SO_ROOM];\n"
    "  const int lane = (int)LID_0, lanes = (int)LDIM_0, slots = (int)LDIM_1;\n"
    "  const int n = (int)n_, m = (int)m_, base = (int)LID_1 * m;\n"
    "SO_BEGIN"
    "  const ga_size step = (ga_size)GDIM_0 * slots;\n"
    "  for (ga_size first = (ga_size)GID_0 * slots; first < rows; first += step) {\n"
    "    const ga_size row = first + LID_1, at = row * n;\n"
    "    for (int j = lane; j < m; j += lanes) {\n"
    "      places[base + j] = (ga_ushort)j;\n"
    "      if (row < rows && j < n) keys[base + j] = in[at + j];\n"
    "    }\n"
    "    local_barrier();\n"
    "    for (int k = 2; k <= m; k <<= 1)\n"
    "      for (int j = k >> 1; j > 0; j >>= 1) {\n"
    "        for (int t = lane; t < m / 2; t += lanes) {\n"
    "          const int low = base + 2 * t - (t & (j - 1)), high = low + j;\n"
    "          const SO_KEY a = keys[low], b = keys[high];\n"
    "          const ga_ushort ia = places[low], ib = places[high];\n"
    "          const int is_less = ia < n && ib < n ? SO_BEFORE(b, ib, a, ia, mode)\n"
    "                                               : ib < ia;\n"
    "          if (is_less == (((low - base) & k) == 0)) {\n"
    "            keys[low] = b;\n"
    "            keys[high] = a;\n"
    "            places[low] = ib;\n"
    "            places[high] = ia;\n"
    "          }\n"
    "        }\n"
    "        local_barrier();\n"
    "      }\n"
    "    for (int j = lane; j < n; j += lanes)\n"
    "      if (row < rows) {\n"
    "        if (mode & 1) out[at + j] = keys[base + j];\n"
    "        if (mode & 4) indices[at + j] = (ga_long)places[base + j];\n"
    "        else if (SO_HAS_VALUES) vout[at + j] = vin[at + places[base + j]];\n"
    "      }\n"
    "    local_barrier();\n"
    "  }\n"
    "}\n";

/* The same on a CPU, an item a row: runs of 8 are merged. A slot is a key's code and
 * place in one number where that fits, so slots are compared at once. */
static const char slot_packed[] =
    "#define SO_SLOT ga_ulong\n"
    "#define SO_MAKE(s, key, place)                                               \\\n"
    "  s = (ga_ulong)(ga_uint)(SO_ENCODE(key) ^ (mode & 8 ? ~0u : 0u)) << 32 | "
    "(place)\n"
    "#define SO_LESS(a, b) ((a) < (b))\n"
    "#define SO_SLOT_PLACE(s) ((ga_uint)(s))\n";
static const char slot_struct[] =
    "typedef struct SO_SLOT { SO_KEY key; ga_uint place; } SO_SLOT;\n"
    "#define SO_MAKE(s, k, p) { (s).key = (k); (s).place = (p); }\n"
    "#define SO_LESS(a, b) SO_BEFORE((a).key, (a).place, (b).key, (b).place, mode)\n"
    "#define SO_SLOT_PLACE(s) ((s).place)\n";
static const char merging[] =
    "    ga_ulong rows, ga_ulong n_, ga_ulong m_, ga_int mode) {\n"
    "  LOCAL_MEM SO_SLOT slots[2 * SO_ROOM];\n"
    "  const int n = (int)n_;\n"
    "SO_BEGIN"
    "  for (ga_size row = GID_0; row < rows; row += GDIM_0) {\n"
    "    const ga_size at = row * n;\n"
    "    int from = 0;\n"
    "    for (int start = 0; start < n; start += 8) {\n"
    "      const int end = n - start < 8 ? n : start + 8;\n"
    "      for (int i = start; i < end; i++) {\n"
    "        SO_SLOT slot;\n"
    "        SO_MAKE(slot, in[at + i], (ga_uint)i);\n"
    "        int j = i;\n"
    "        for (; j > start && SO_LESS(slot, slots[j - 1]); j--)\n"
    "          slots[j] = slots[j - 1];\n"
    "        slots[j] = slot;\n"
    "      }\n"
    "    }\n"
    "    for (int width = 8; width < n; width *= 2) {\n"
    "      const int to = SO_ROOM - from;\n"
    "      for (int start = 0; start < n; start += 2 * width) {\n"
    "        int i = start, end_i = start + width < n ? start + width : n;\n"
    "        int j = end_i, end = n - start < 2 * width ? n : start + 2 * width;\n"
    "        int k = start;\n"
    "        while (i < end_i && j < end) {\n"
    "          const SO_SLOT a = slots[from + i], b = slots[from + j];\n"
    "          const int second = SO_LESS(b, a);\n"
    "          slots[to + k++] = second ? b : a;\n"
    "          j += second;\n"
    "          i += 1 - second;\n"
    "        }\n"
    "        for (; i < end_i; i++) slots[to + k++] = slots[from + i];\n"
    "        for (; j < end; j++) slots[to + k++] = slots[from + j];\n"
    "      }\n"
    "      from = to;\n"
    "    }\n"
    /* Keys may be sorted in place: they are put side by side before they are stored. */
    "    for (int j = 0; j < n; j++) {\n"
    "      const ga_size place = at + SO_SLOT_PLACE(slots[from + j]);\n"
    "      if (mode & 4) indices[at + j] = (ga_long)(place - at);\n"
    "      else if (SO_HAS_VALUES) vout[at + j] = vin[place];\n"
    "    }\n"
    "    if (mode & 1) {\n"
    "      LOCAL_MEM_ARG SO_KEY *keys =\n"
    "          (LOCAL_MEM_ARG SO_KEY *)(slots + (SO_ROOM - from));\n"
    "      for (int j = 0; j < n; j++)\n"
    "        keys[j] = in[at + SO_SLOT_PLACE(slots[from + j])];\n"
    "      for (int j = 0; j < n; j++) out[at + j] = keys[j];\n"
    "    }\n"
    "  }\n"
    "}\n";

/* ---- one pass over the keys for each digit (onesweep) ---- */

static const char histogram[] =
    "    GLOBAL_MEM SO_COUNT *bins, ga_size bins_off, ga_ulong rows, ga_ulong n,\n"
    "    ga_ulong blocks, ga_int mode) {\n"
    "  LOCAL_MEM ga_uint counts[SO_PASSES * SO_RADIX];\n"
    "  const int lane = (int)LID_0;\n"
    "SO_BEGIN"
    "  bins = (GLOBAL_MEM SO_COUNT *)((GLOBAL_MEM char *)bins + bins_off);\n"
    "  const ga_size row = (ga_size)GID_0 / blocks, part = (ga_size)GID_0 % blocks;\n"
    "  for (int i = lane; i < SO_PASSES * SO_RADIX; i += SO_THREADS) counts[i] = 0;\n"
    "  local_barrier();\n"
    "  in += row * n;\n"
    "  const ga_size step = blocks * (SO_THREADS * 4);\n"
    "  for (ga_size i = part * (SO_THREADS * 4) + lane; i < n; i += step) {\n"
    "    SO_KEY keys[4];\n"
    "    int count = 0;\n"
    "    for (int v = 0; v < 4; v++)\n"
    "      if (i + v * SO_THREADS < n) {\n"
    "        keys[v] = in[i + v * SO_THREADS];\n"
    "        count = v + 1;\n"
    "      }\n"
    "    for (int v = 0; v < 4; v++)\n"
    "      if (v < count)\n"
    "        for (int pass = 0; pass < SO_PASSES; pass++)\n"
    "          atom_add_Il(&counts[pass * SO_RADIX + SO_DIGIT(keys[v], pass, mode)],\n"
    "                      1u);\n"
    "  }\n"
    "  local_barrier();\n"
    "  bins += row * (SO_PASSES * SO_RADIX);\n"
    "  for (int i = lane; i < SO_PASSES * SO_RADIX; i += SO_THREADS)\n"
    "    if (counts[i] > 0) SO_ADD(&bins[i], counts[i]);\n"
    "}\n";

/* An item owns the keys warp * 32 * SO_ITEMS + v * 32 + lane. `place` of a digit is
 * where its first key of the tile goes, less that key's place in the sorted tile. */
static const char sweep[] =
    "    GLOBAL_MEM const SO_COUNT *bins, ga_size bins_off,\n"
    "    GLOBAL_MEM SO_COUNT *state, ga_size state_off, ga_ulong rows, ga_ulong n,\n"
    "    ga_ulong tiles, ga_int pass, ga_int mode) {\n"
    "  LOCAL_MEM ga_uint counts[SO_WARPS * 256];\n"
    "  LOCAL_MEM SO_KEY keys[SO_TILE];\n"
    "#if SO_HAS_VALUES\n"
    "  LOCAL_MEM SO_VALUE values[SO_TILE];\n"
    "#endif\n"
    "  LOCAL_MEM SO_COUNT place[256];\n"
    "  LOCAL_MEM ga_uint sums[512];\n"
    "  LOCAL_MEM ga_uint ticket[1];\n"
    "  const int id = (int)LID_0, lane = id & 31, warp = id >> 5;\n"
    "  const ga_uint below = (1u << lane) - 1;\n"
    "SO_BEGIN"
    "  bins = (GLOBAL_MEM const SO_COUNT *)((GLOBAL_MEM const char *)bins + "
    "bins_off);\n"
    "  state = (GLOBAL_MEM SO_COUNT *)((GLOBAL_MEM char *)state + state_off);\n"
    "  if (id == 0) ticket[0] = atom_add_Ig((GLOBAL_MEM ga_uint *)state, 1);\n"
    "  for (int i = id; i < SO_WARPS * 256; i += SO_THREADS) counts[i] = 0;\n"
    "  local_barrier();\n"
    "  const ga_size row = ticket[0] / tiles, tile = ticket[0] - row * tiles;\n"
    "  const ga_size start = tile * SO_TILE;\n"
    "  const int count = (int)(n - start < SO_TILE ? n - start : SO_TILE);\n"
    "  const int own = warp * 32 * SO_ITEMS + lane;\n"
    "  in += row * n + start;\n"
    "  out += row * n;\n"
    "  bins += (row * SO_PASSES + pass) * 256;\n"
    "  state = (GLOBAL_MEM SO_COUNT *)((GLOBAL_MEM char *)state + 8) +\n"
    "          row * tiles * 256;\n"
    "  SO_KEY key[SO_ITEMS];\n"
    "  ga_uint rank[SO_ITEMS];\n"
    "  for (int v = 0; v < SO_ITEMS; v++)\n"
    "    if (own + v * 32 < count) key[v] = in[own + v * 32];\n"
    "#define SO_OWN_DIGIT(v) \\\n"
    "  (own + (v) * 32 < count ? SO_DIGIT(key[v], pass, mode) : 255u)\n"
    /* Ranks among the warp's keys of a digit. */
    "  for (int v = 0; v < SO_ITEMS; v++) {\n"
    "    const ga_uint digit = SO_OWN_DIGIT(v);\n"
    "    ga_uint peers = 0xffffffffu;\n"
    "    for (int bit = 0; bit < 8; bit++) {\n"
    "      const ga_uint set = ga_ballot(digit >> bit & 1);\n"
    "      peers &= digit >> bit & 1 ? set : ~set;\n"
    "    }\n"
    "    LOCAL_MEM_ARG ga_uint *counter = &counts[warp * 256 + digit];\n"
    "    const ga_uint before = *counter;\n"
    "    ga_warp_barrier();\n"
    "    if ((peers & below) == 0) *counter = before + ga_popcount(peers);\n"
    "    ga_warp_barrier();\n"
    "    rank[v] = before + ga_popcount(peers & below);\n"
    "  }\n"
    "  local_barrier();\n"
    /* Item `id` has digit `id`: how many the tile has, and where they begin in it. */
    "  ga_uint total = 0;\n"
    "  for (int w = 0; w < SO_WARPS; w++) {\n"
    "    const ga_uint of_warp = counts[w * 256 + id];\n"
    "    counts[w * 256 + id] = total;\n"
    "    total += of_warp;\n"
    "  }\n"
    "  const SO_COUNT real = total - (id == 255 ? SO_TILE - count : 0);\n"
    "  volatile GLOBAL_MEM SO_COUNT *word =\n"
    "      (volatile GLOBAL_MEM SO_COUNT *)(state + tile * 256 + id);\n"
    "  *word = real | (tile == 0 ? SO_PREFIX : SO_TOTAL);\n"
    "  int turn = 0;\n"
    "  sums[id] = total;\n"
    "  local_barrier();\n"
    "  for (int s = 1; s < 256; s <<= 1) {\n"
    "    ga_uint sum = sums[turn + id];\n"
    "    if (id >= s) sum += sums[turn + id - s];\n"
    "    turn = 256 - turn;\n"
    "    sums[turn + id] = sum;\n"
    "    local_barrier();\n"
    "  }\n"
    "  const ga_uint begins = sums[turn + id] - total;\n"
    "  for (int w = 0; w < SO_WARPS; w++) counts[w * 256 + id] += begins;\n"
    "  local_barrier();\n"
    "  for (int v = 0; v < SO_ITEMS; v++) {\n"
    "    rank[v] += counts[warp * 256 + SO_OWN_DIGIT(v)];\n"
    "    keys[rank[v]] = key[v];\n"
    "  }\n"
    "#if SO_HAS_VALUES\n"
    "  vin += row * n + start;\n"
    "  for (int v = 0; v < SO_ITEMS; v++)\n"
    "    if (own + v * 32 < count)\n"
    "      values[rank[v]] = mode & 2 ? SO_INDEX(start + own + v * 32)\n"
    "                                 : vin[own + v * 32];\n"
    "#endif\n"
    /* Sums of the tiles before; whole numbers, so any order gives the same. */
    "  SO_COUNT before = 0;\n"
    "  if (tile > 0) {\n"
    "    const volatile GLOBAL_MEM SO_COUNT *other = word;\n"
    "    SO_COUNT seen;\n"
    "    do {\n"
    "      other -= 256;\n"
    "      do seen = *other; while ((seen & (SO_PREFIX | SO_TOTAL)) == 0);\n"
    "      before += seen & ~(SO_PREFIX | SO_TOTAL);\n"
    "    } while ((seen & SO_PREFIX) == 0);\n"
    "    *word = (before + real) | SO_PREFIX;\n"
    "  }\n"
    "  place[id] = bins[id] + before - begins;\n"
    "  local_barrier();\n"
    "  for (int v = 0; v < SO_ITEMS; v++) {\n"
    "    const int j = v * SO_THREADS + id;\n"
    "    if (j < count) {\n"
    "      const SO_KEY moved = keys[j];\n"
    "      const ga_size at = (SO_COUNT)(place[SO_DIGIT(moved, pass, mode)] + j);\n"
    "      if (mode & 1) out[at] = moved;\n"
    "#if SO_HAS_VALUES\n"
    "      if (mode & 4) indices[row * n + at] = (ga_long)SO_NUMBER(values[j]);\n"
    "      else vout[row * n + at] = values[j];\n"
    "#endif\n"
    "    }\n"
    "  }\n"
    "}\n";

/* ---- one digit of chunks, an item each ---- */

static const char chunks_head[] =
    "    GLOBAL_MEM ga_uint *counts, ga_size counts_off, ga_ulong rows, ga_ulong n,\n"
    "    ga_ulong chunk, ga_ulong chunks, ga_int pass, ga_int mode) {\n"
    "SO_BEGIN"
    "  counts = (GLOBAL_MEM ga_uint *)((GLOBAL_MEM char *)counts + counts_off);\n"
    "  const ga_size step = (ga_size)GDIM_0 * LDIM_0;\n"
    "  for (ga_size id = (ga_size)GID_0 * LDIM_0 + LID_0; id < rows * chunks;\n"
    "       id += step) {\n"
    "    const ga_size row = id / chunks, part = id % chunks;\n"
    "    const ga_size from = row * n + part * chunk;\n"
    "    const ga_size end = row * n + n, to = end - from < chunk ? end : from + "
    "chunk;\n"
    "    GLOBAL_MEM ga_uint *count = counts + row * SO_RADIX * chunks + part;\n"
    "    ga_uint own[SO_RADIX];\n";
static const char count_body[] =
    "    for (int d = 0; d < SO_RADIX; d++) own[d] = 0;\n"
    "    for (ga_size i = from; i < to; i++) own[SO_DIGIT(in[i], pass, mode)]++;\n"
    "    for (int d = 0; d < SO_RADIX; d++) count[d * chunks] = own[d];\n"
    "  }\n"
    "}\n";
static const char scatter_body[] =
    "    for (int d = 0; d < SO_RADIX; d++) own[d] = count[d * chunks];\n"
    "    for (ga_size i = from; i < to; i++) {\n"
    "      const SO_KEY key = in[i];\n"
    "      const ga_size at = row * n + own[SO_DIGIT(key, pass, mode)]++;\n"
    "      if (mode & 1) out[at] = key;\n"
    "#if SO_HAS_VALUES\n"
    "      const SO_VALUE value = mode & 2 ? SO_INDEX(i - row * n) : vin[i];\n"
    "      if (mode & 4) indices[at] = (ga_long)SO_NUMBER(value);\n"
    "      else vout[at] = value;\n"
    "#endif\n"
    "    }\n"
    "  }\n"
    "}\n";

/* ---- the first k ---- */

/* From the highest digit down: `wanted` of the keys that have all digits so far in
 * common with the k-th are still to be had. What is below is taken, and of those equal
 * to the k-th the first. */
static const char selection[] =
    "    GLOBAL_MEM const ga_long *from, ga_size from_off, ga_ulong rows, ga_ulong n,\n"
    "    ga_ulong chunk, ga_ulong chunks, ga_ulong k, ga_int mode) {\n"
    "  LOCAL_MEM ga_uint counts[SO_RADIX];\n"
    "  LOCAL_MEM ga_uint found[SO_PASSES];\n"
    "  LOCAL_MEM ga_uint left[2];\n"
    "  LOCAL_MEM ga_uint sums[4 * SO_THREADS];\n"
    "  const int lane = (int)LID_0, lanes = (int)LDIM_0;\n"
    "SO_BEGIN"
    "  from = (GLOBAL_MEM const ga_long *)((GLOBAL_MEM const char *)from + from_off);\n"
    "  for (ga_size id = GID_0; id < rows * chunks; id += GDIM_0) {\n"
    "    const ga_size row = id / chunks, begin = (id - row * chunks) * chunk;\n"
    "    const ga_size length = n - begin < chunk ? n - begin : chunk;\n"
    "    GLOBAL_MEM const SO_KEY *keys = in + row * n + begin;\n"
    "    ga_uint wanted = (ga_uint)k;\n"
    "    for (int pass = SO_PASSES - 1; pass >= 0; pass--) {\n"
    "      for (int d = lane; d < SO_RADIX; d += lanes) counts[d] = 0;\n"
    "      local_barrier();\n"
    "      for (ga_size i = lane; i < length; i += lanes) {\n"
    "        const SO_KEY key = keys[i];\n"
    "        int same = 1;\n"
    "        for (int p = SO_PASSES - 1; p > pass; p--)\n"
    "          if (SO_DIGIT(key, p, mode) != found[p]) same = 0;\n"
    "        if (same) SO_COUNT_LOCAL(counts[SO_DIGIT(key, pass, mode)]);\n"
    "      }\n"
    "      local_barrier();\n"
    "      if (lane == 0) {\n"
    "        int d = 0;\n"
    "        for (; d < SO_RADIX - 1 && wanted > counts[d]; d++) wanted -= counts[d];\n"
    "        found[pass] = d;\n"
    "        left[0] = wanted;\n"
    "      }\n"
    "      local_barrier();\n"
    "      wanted = left[0];\n"
    "      local_barrier();\n"
    "    }\n"
    /* Places in the result: by a scan of how many below and how many equal there are.
     */
    "    ga_uint less = 0, equal = 0;\n"
    "    for (ga_size i0 = 0; i0 < length; i0 += lanes) {\n"
    "      const ga_size i = i0 + lane;\n"
    "      int order = 1;\n"
    "      SO_KEY key = keys[i < length ? i : 0];\n"
    "      if (i < length) {\n"
    "        order = 0;\n"
    "        for (int p = SO_PASSES - 1; p >= 0 && order == 0; p--) {\n"
    "          const ga_uint d = SO_DIGIT(key, p, mode);\n"
    "          order = d < found[p] ? -1 : d > found[p] ? 1 : 0;\n"
    "        }\n"
    "      }\n"
    "      int turn = 0;\n"
    "      sums[lane] = order < 0;\n"
    "      sums[2 * SO_THREADS + lane] = order == 0;\n"
    "      local_barrier();\n"
    "      for (int s = 1; s < lanes; s <<= 1) {\n"
    "        ga_uint a = sums[turn + lane], b = sums[2 * SO_THREADS + turn + lane];\n"
    "        if (lane >= s) {\n"
    "          a += sums[turn + lane - s];\n"
    "          b += sums[2 * SO_THREADS + turn + lane - s];\n"
    "        }\n"
    "        turn = SO_THREADS - turn;\n"
    "        sums[turn + lane] = a;\n"
    "        sums[2 * SO_THREADS + turn + lane] = b;\n"
    "        local_barrier();\n"
    "      }\n"
    "      const ga_uint a = less + sums[turn + lane];\n"
    "      const ga_uint b = equal + sums[2 * SO_THREADS + turn + lane];\n"
    "      const ga_uint equal_before = order == 0 ? b - 1 : b;\n"
    "      const ga_uint less_before = order < 0 ? a - 1 : a;\n"
    "      const ga_uint at = less_before +\n"
    "                         (equal_before < wanted ? equal_before : wanted);\n"
    "      if (order < 0 || (order == 0 && equal_before < wanted)) {\n"
    "        out[id * k + at] = key;\n"
    "        indices[id * k + at] =\n"
    "            mode & 16 ? from[row * n + begin + i] : (ga_long)(begin + i);\n"
    "      }\n"
    "      less += sums[turn + lanes - 1];\n"
    "      equal += sums[2 * SO_THREADS + turn + lanes - 1];\n"
    "      local_barrier();\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char tail[] =
    "#undef SO_NAME\n#undef SO_ENCODE\n#undef SO_CLASS\n#undef SO_DIGIT\n"
    "#undef SO_BEFORE\n#undef SO_KEY\n#undef SO_CODE\n#undef SO_VALUE\n"
    "#undef SO_HAS_VALUES\n#undef SO_BITS\n#undef SO_RADIX\n#undef SO_WIDTH\n"
    "#undef SO_PASSES\n#undef SO_COUNT\n#undef SO_PREFIX\n#undef SO_TOTAL\n"
    "#undef SO_ADD\n#undef SO_THREADS\n#undef SO_WARPS\n#undef SO_ITEMS\n"
    "#undef SO_TILE\n#undef SO_ROOM\n#undef SO_INDEX\n#undef SO_NUMBER\n"
    "#undef SO_SLOT\n#undef SO_MAKE\n#undef SO_LESS\n#undef SO_SLOT_PLACE\n"
    "#undef SO_OWN_DIGIT\n#undef SO_KERNEL\n#undef SO_COUNT_LOCAL\n";

/* ---- the words ---- */

static bool is_complex(int typecode) {
  return ga__dtype_kind(typecode) == 'c';
}

/* Bytes of what is encoded: a key, or one of its two parts. */
static unsigned int part_size(int typecode) {
  return (unsigned int)gpuarray_get_elsize(typecode) / (is_complex(typecode) ? 2 : 1);
}

unsigned int ga__sort_passes(const ga_sort_spec *spec) {
  const unsigned int bits = (unsigned int)spec->bits;
  const unsigned int each = (8 * part_size(spec->typecode) + bits - 1) / bits;
  return is_complex(spec->typecode) ? 2 * each + 1 : each;
}

/* A tile's keys and values take about 20 KiB of local memory. */
static unsigned int sweep_items(const ga_sort_spec *spec) {
  const size_t size =
      gpuarray_get_elsize(spec->typecode) + (unsigned int)spec->value_size;
  return size <= 4 ? 19 : size <= 8 ? 13 : size <= 12 ? 9 : size <= 16 ? 7 : 4;
}

unsigned int ga__sort_tile(const ga_sort_spec *spec) {
  return GA_SORT_THREADS * sweep_items(spec);
}

unsigned int ga__sort_room(int typecode) {
  return gpuarray_get_elsize(typecode) <= 4 ? 2048 : 1024;
}

static const char *unsigned_name(unsigned int size) {
  return size == 1   ? "ga_ubyte"
         : size == 2 ? "ga_ushort"
         : size == 4 ? "ga_uint"
                     : "ga_ulong";
}

static const char *raw_name(unsigned int size) {
  return size == 16 ? "ga_ulong2" : unsigned_name(size);
}

/* The bits of infinity, without the sign. */
static const char *infinity_text(int typecode) {
  switch (typecode) {
  case GA_HALF:
    return "0x7c00u";
  case GA_BFLOAT16:
    return "0x7f80u";
  case GA_DOUBLE:
  case GA_CDOUBLE:
    return "0x7ff0000000000000UL";
  default:
    return "0x7f800000u";
  }
}

/* SO_ENCODE: the code of a key, or of a part of one. */
static void add_encoding(ga_strbuf *sb, int typecode) {
  const unsigned int size = part_size(typecode), width = 8 * size;
  const char kind = ga__dtype_kind(typecode);
  ga__strbuf_addf(sb, "GA_INLINE SO_CODE SO_ENCODE(%s raw) {\n", unsigned_name(size));
  if (kind == 'i') {
    ga__strbuf_addf(sb, "  return (SO_CODE)raw ^ ((SO_CODE)1 << %u);\n}\n", width - 1);
  } else if (kind == 'f' || kind == 'c') {
    ga__strbuf_addf(sb,
                    "  const SO_CODE sign = (SO_CODE)1 << %u;\n"
                    "  const SO_CODE code = (SO_CODE)raw, size = code & (sign - 1);\n"
                    "  if (size > %s) return ~(SO_CODE)0;\n"
                    "  return code & sign ? (sign - size) : code | sign;\n}\n",
                    width - 1, infinity_text(typecode));
  } else {
    ga__strbuf_add(sb, "  return (SO_CODE)raw;\n}\n");
  }
}

static void add_keys(ga_strbuf *sb, int typecode) {
  const unsigned int size = part_size(typecode);
  const bool pairs = is_complex(typecode);
  const char *name = pairs ? size == 4 ? "ga_uint2" : "ga_ulong2" : unsigned_name(size);
  ga__strbuf_addf(sb,
                  "#define SO_KEY %s\n#define SO_CODE %s\n#define SO_WIDTH %u\n"
                  "#define SO_ROOM %u\n",
                  name, size == 8 ? "ga_ulong" : "ga_uint", 8 * size,
                  ga__sort_room(typecode));
  add_encoding(sb, typecode);
  ga__strbuf_add(sb, pairs ? keys_complex : keys_scalar);
}

static void add_words(ga_strbuf *sb, const ga_sort_spec *spec) {
  const unsigned int value = (unsigned int)spec->value_size;
  ga__strbuf_add(sb, spec->kind == GA_SORT_SWEEP
                         ? "#define SO_KERNEL KERNEL_OF(SO_THREADS, 4)\n"
                         : "#define SO_KERNEL KERNEL\n");
  ga__strbuf_addf(sb,
                  "#define SO_BITS %d\n#define SO_RADIX %u\n#define SO_PASSES %u\n"
                  "#define SO_THREADS %d\n#define SO_WARPS %d\n#define SO_ITEMS %u\n"
                  "#define SO_TILE %u\n#define SO_HAS_VALUES %d\n#define SO_VALUE %s\n",
                  spec->bits, 1u << spec->bits, ga__sort_passes(spec), GA_SORT_THREADS,
                  GA_SORT_THREADS / 32, sweep_items(spec), ga__sort_tile(spec),
                  value > 0, value ? raw_name(value) : "ga_uint");
  ga__strbuf_add(sb, value == 4 || value == 8
                         ? "#define SO_INDEX(i) ((SO_VALUE)(i))\n"
                           "#define SO_NUMBER(value) (value)\n"
                         : "#define SO_INDEX(i) vin[0]\n#define SO_NUMBER(value) 0\n");
  ga__strbuf_add(sb, spec->is_large ? "#define SO_COUNT ga_ulong\n"
                                      "#define SO_PREFIX ((ga_ulong)2 << 62)\n"
                                      "#define SO_TOTAL ((ga_ulong)1 << 62)\n"
                                      "#define SO_ADD(p, v) atom_add_Lg(p, v)\n"
                                    : "#define SO_COUNT ga_uint\n"
                                      "#define SO_PREFIX (2u << 30)\n"
                                      "#define SO_TOTAL (1u << 30)\n"
                                      "#define SO_ADD(p, v) atom_add_Ig(p, v)\n");
  ga__strbuf_add(sb, spec->is_cpu
                         ? "#define SO_COUNT_LOCAL(x) (x)++\n"
                         : "#define SO_COUNT_LOCAL(x) atom_add_Il(&(x), 1u)\n");
}

/* Kernel text in which a line SO_BEGIN stands for what all have in common. */
static void add_body(ga_strbuf *sb, const char *text) {
  const char *at = strstr(text, "SO_BEGIN");
  ga__strbuf_addn(sb, text, (size_t)(at - text));
  ga__strbuf_add(sb, begin);
  ga__strbuf_add(sb, at + strlen("SO_BEGIN"));
}

static const char *stem_of(int kind) {
  static const char *const stems[] = {"sort_block", "sort_histogram", "sort_sweep",
                                      "sort_count", "sort_scatter",   "sort_select"};
  return stems[kind];
}

static void add_kernel(ga_strbuf *sb, const ga_sort_spec *spec) {
  if (spec->kind == GA_SORT_BLOCK && spec->is_cpu)
    ga__strbuf_add(sb, gpuarray_get_elsize(spec->typecode) <= 4 ? slot_packed
                                                                : slot_struct);
  ga__strbuf_add(sb, head);
  switch (spec->kind) {
  case GA_SORT_BLOCK:
    add_body(sb, spec->is_cpu ? merging : block);
    break;
  case GA_SORT_HISTOGRAM:
    add_body(sb, histogram);
    break;
  case GA_SORT_SWEEP:
    add_body(sb, sweep);
    break;
  case GA_SORT_SELECT:
    add_body(sb, selection);
    break;
  default:
    add_body(sb, chunks_head);
    ga__strbuf_add(sb, spec->kind == GA_SORT_COUNT ? count_body : scatter_body);
  }
}

int ga__sort_source(ga_source *out, const gpucontext *ctx, const void *spec_) {
  const ga_sort_spec *spec = spec_;
  ga_strbuf text = {0}, body = {0};
  (void)ctx;
  add_words(&text, spec);
  add_keys(&text, spec->typecode);
  add_kernel(&text, spec);
  ga__strbuf_add(&text, tail);
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, stem_of(spec->kind), text.text);
    const bool named = spec->kind == GA_SORT_BLOCK && spec->is_cpu &&
                       gpuarray_get_elsize(spec->typecode) > 4;
    ga__strbuf_addf(&body,
                    "#define SO_NAME %s\n#define SO_ENCODE %s_encode\n"
                    "#define SO_CLASS %s_class\n#define SO_DIGIT %s_digit\n"
                    "#define SO_BEFORE %s_before\n%s%s%s",
                    out->name, out->name, out->name, out->name, out->name,
                    named ? "#define SO_SLOT " : "", named ? out->name : "",
                    named ? "_slot\n" : "");
    ga__strbuf_add(&body, text.text);
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
