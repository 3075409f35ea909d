/* Onesweep: a radix sort pass that reads and writes the keys once, by decoupled
 * look-back.
 *
 * An item owns the keys warp * 32 * SO_ITEMS + v * 32 + lane. A tile's digit counts are
 * published before its keys are ranked, which hides the latency of the look-back.
 * place[digit]: destination of the tile's first key with this digit, minus its index in
 * the sorted tile. `pass` is read back from local memory before the ranking, so that
 * the compiler recomputes digits instead of keeping them in registers (spilling);
 * values are read when keys need none any more. Local memory has the keys, and values,
 * or the warps' counters before. */
#include "keys.cl.h"

#define SO_POOL GA_DECL_SHARED_PARAM(ga_uint4, pool)

SO_KERNEL void SO_NAME(SO_ARRAYS, GLOBAL_MEM const SO_COUNT *bins, ga_size bins_off,
                       GLOBAL_MEM SO_COUNT *state, ga_size state_off, ga_ulong rows,
                       ga_ulong n, ga_ulong tiles, ga_int pass, ga_int mode SO_POOL) {
  KERNEL_BEGIN;
  GA_DECL_SHARED_BODY(ga_uint4, pool)
  LOCAL_MEM_ARG SO_KEY *keys = (LOCAL_MEM_ARG SO_KEY *)pool;
  LOCAL_MEM_ARG ga_ushort *counts =
      (LOCAL_MEM_ARG ga_ushort *)((LOCAL_MEM_ARG char *)pool + SO_KEYS_SIZE);
#if SO_HAS_VALUES
  LOCAL_MEM_ARG SO_VALUE *values = (LOCAL_MEM_ARG SO_VALUE *)counts;
#endif
  LOCAL_MEM ga_uint totals[256];
  LOCAL_MEM SO_COUNT place[256];
  LOCAL_MEM ga_uint sums[8];
  LOCAL_MEM ga_uint given[2];
  const int id = (int)LID_0, lane = id & 31, warp = id >> 5;
  const int is_digit = id < 256;
  const ga_uint below = (1u << lane) - 1;
  SO_BEGIN;
  bins = (GLOBAL_MEM const SO_COUNT *)((GLOBAL_MEM const char *)bins + bins_off);
  state = (GLOBAL_MEM SO_COUNT *)((GLOBAL_MEM char *)state + state_off);
  if (id == 0) {
    given[0] = atom_add_Ig((GLOBAL_MEM ga_uint *)state, 1);
    given[1] = (ga_uint)pass;
  }
  if (is_digit)
    totals[id] = 0;
  for (int i = id; i < SO_WARPS * 256; i += SO_THREADS)
    counts[i] = 0;
  local_barrier();
  const ga_uint row = given[0] / (ga_uint)tiles;
  const ga_uint tile = given[0] - row * (ga_uint)tiles;
  const ga_size start = (ga_size)tile * SO_TILE;
  const int count = (int)(n - start < SO_TILE ? n - start : SO_TILE);
  const int own = warp * 32 * SO_ITEMS + lane;
  in += row * n + start + own;
  out += row * n;
  bins += ((ga_size)row * SO_PASSES + pass) * 256;
  state = (GLOBAL_MEM SO_COUNT *)((GLOBAL_MEM char *)state + 8) +
          (row * tiles + tile) * 256;
  SO_KEY key[SO_ITEMS];
  if (count == SO_TILE) {
    for (int v = 0; v < SO_ITEMS; v++)
      key[v] = in[v * 32];
  } else {
    for (int v = 0; v < SO_ITEMS; v++)
      if (own + v * 32 < count)
        key[v] = in[v * 32];
  }

/* Item `id` handles digit `id`: its count in the tile, and the exclusive prefix. The
 * look-back reads SO_LOOK earlier tiles at a time. */
#define SO_OWN_DIGIT(v, pass)                                                          \
  (own + (v) * 32 < count ? SO_DIGIT(key[v], pass, mode) : 255u)
  for (int v = 0; v < SO_ITEMS; v++)
    atom_add_Il(&totals[SO_OWN_DIGIT(v, pass)], 1u);
  local_barrier();
  const ga_uint total = is_digit ? totals[id] : 0;
  const SO_COUNT real = total - (id == 255 ? SO_TILE - count : 0);
  volatile GLOBAL_MEM SO_COUNT *word = (volatile GLOBAL_MEM SO_COUNT *)(state + id);
  ga_uint begins = total;
  if (is_digit) {
    *word = real | (tile == 0 ? SO_PREFIX : SO_TOTAL);
    for (int s = 1; s < 32; s <<= 1) {
      const ga_uint other = ga_shuffle_up(begins, s);
      if (lane >= s)
        begins += other;
    }
    if (lane == 31)
      sums[warp] = begins;
    begins -= total;
  }

  /* Rank of a key among the warp's: match equal digits by ballots. */
  const int again = (int)given[1];
  LOCAL_MEM_ARG ga_ushort *mine = counts + warp * 256;
  ga_uint rank[SO_ITEMS];
  for (int v = 0; v < SO_ITEMS; v++) {
    const ga_uint digit = SO_OWN_DIGIT(v, again);
    ga_uint peers = 0xffffffffu;
    for (int bit = 0; bit < 8; bit++) {
      const ga_uint set = digit >> bit & 1;
      peers &= ga_ballot((int)set) ^ (set - 1);
    }
    const ga_uint first = mine[digit];
    ga_warp_barrier();
    if ((peers & below) == 0)
      mine[digit] = (ga_ushort)(first + ga_popcount(peers));
    ga_warp_barrier();
    rank[v] = first + ga_popcount(peers & below);
  }
  local_barrier();
  if (is_digit) { /* and among the tile's */
    for (int w = 0; w < 8; w++)
      if (w < warp)
        begins += sums[w];
    ga_uint next = begins;
    for (int w = 0; w < SO_WARPS; w++) {
      const ga_uint of_warp = counts[w * 256 + id];
      counts[w * 256 + id] = (ga_ushort)next;
      next += of_warp;
    }
  }
  local_barrier();
  const int once_more = (int)given[1];
  for (int v = 0; v < SO_ITEMS; v++) {
    rank[v] += mine[SO_OWN_DIGIT(v, once_more)];
    keys[rank[v]] = key[v];
  }
#if SO_HAS_VALUES
  SO_VALUE value[SO_ITEMS];
  const ga_size first = row * n + start + own;
  for (int v = 0; v < SO_ITEMS; v++)
    if (own + v * 32 < count) {
#if SO_HAS_HALVES
      if (mode & 128)
        value[v] = (ga_ulong)((GLOBAL_MEM const ga_uint *)indices)[first + v * 32]
                       << 32 |
                   ((GLOBAL_MEM const ga_uint *)vin)[first + v * 32];
      else
#endif
        value[v] = mode & 2 ? SO_INDEX(start + own + v * 32) : vin[first + v * 32];
    }
  local_barrier(); /* behind the last look at the counters */
  for (int v = 0; v < SO_ITEMS; v++)
    values[rank[v]] = value[v];
#endif

  /* The look-back's sum; integers, so the order does not matter. */
#define SO_SEE                                                                         \
  for (ga_uint l = 0; l < SO_LOOK; l++) {                                              \
    seen[l] = SO_PREFIX;                                                               \
    if (left > l)                                                                      \
      seen[l] = other[-256 * (int)l];                                                  \
  }
  if (is_digit) {
    const volatile GLOBAL_MEM SO_COUNT *other = word - 256;
    SO_COUNT seen[SO_LOOK], before = 0;
    ga_uint left = tile;
    if (tile > 0) {
      SO_SEE
      for (int done = 0; !done;) {
        for (int l = 0; l < SO_LOOK; l++)
          if (!done) {
            while ((seen[l] & (SO_PREFIX | SO_TOTAL)) == 0)
              seen[l] = other[-256 * l];
            before += seen[l] & ~(SO_PREFIX | SO_TOTAL);
            done = (seen[l] & SO_PREFIX) != 0;
          }
        if (!done) {
          other -= 256 * SO_LOOK;
          left -= SO_LOOK;
          SO_SEE
        }
      }
      *word = (before + real) | SO_PREFIX;
    }
    place[id] = bins[id] + before - begins;
  }
  local_barrier();

  for (int v = 0; v < SO_ITEMS; v++) {
    const int j = v * SO_THREADS + id;
    if (j < count) {
      const SO_KEY moved = keys[j];
      const ga_size at = (SO_COUNT)(place[SO_DIGIT(moved, pass, mode)] + j);
      if (mode & 1)
        out[at] = moved;
#if SO_HAS_VALUES
      if (mode & 4)
        indices[row * n + at] = (ga_long)SO_NUMBER(values[j]);
#if SO_HAS_HALVES
      else if (mode & 64) {
        ((GLOBAL_MEM ga_uint *)vout)[row * n + at] = (ga_uint)values[j];
        ((GLOBAL_MEM ga_uint *)indices)[row * n + at] = (ga_uint)(values[j] >> 32);
      }
#endif
      else
        vout[row * n + at] = values[j];
#endif
    }
  }
}
