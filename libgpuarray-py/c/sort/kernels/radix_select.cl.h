/* Top-k by radix select in registers, for devices with warp intrinsics.
 *
 * A work group reads a chunk once: item `lane` holds the codes of keys v * lanes +
 * lane; padding has the largest code, after the real keys. From the highest digit down,
 * `prefix` under `mask` are the k-th key's known digits, and `wanted` keys are still to
 * be found among those that share them. */
#include "keys.cl.h"

/* `before`: the sum over the items of the warp before this one. */
#define SO_SUM_BEFORE(before, own)                                                     \
  ga_uint before = own;                                                                \
  for (int s = 1; s < 32; s <<= 1) {                                                   \
    const ga_uint other = ga_shuffle_up(before, s);                                    \
    if (one >= s)                                                                      \
      before += other;                                                                 \
  }                                                                                    \
  before -= own;
#define SO_ALL (~(SO_CODE)0 >> (8 * sizeof(SO_CODE) - SO_WIDTH))

SO_KERNEL void SO_NAME(SO_ARRAYS, GLOBAL_MEM const ga_long *from, ga_size from_off,
                       ga_ulong rows, ga_ulong n, ga_ulong chunk, ga_ulong chunks,
                       ga_ulong k, ga_int mode) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_uint counts[SO_RADIX];
  LOCAL_MEM ga_uint marks[SO_OWN * SO_PICK_WARPS];
  LOCAL_MEM ga_uint found[4];
  LOCAL_MEM SO_CODE ranked[SO_RANKED];
  LOCAL_MEM ga_ushort places[SO_OWN * SO_PICK_WARPS * 8];
  const int lane = (int)LID_0, lanes = (int)LDIM_0, one = lane & 31;
  const int warp = lane >> 5, warps = lanes >> 5;
  const ga_uint below = (1u << one) - 1;
  const SO_CODE turned = mode & 8 ? ~(SO_CODE)0 : 0;
  SO_BEGIN;
  from = (GLOBAL_MEM const ga_long *)((GLOBAL_MEM const char *)from + from_off);
  const ga_size id = GID_0, row = id / chunks, part = id - row * chunks;
  const ga_size more = n - chunks * chunk;
  const ga_size begin = part * chunk + (part < more ? part : more);
  const int length = (int)(chunk + (part < more ? 1 : 0));
  GLOBAL_MEM const SO_KEY *keys = in + row * n + begin;
  SO_CODE code[SO_OWN];
  {
    SO_KEY key[SO_OWN];
    for (int v = 0; v < SO_OWN; v++)
      if (v * lanes + lane < length)
        key[v] = keys[v * lanes + lane];
    for (int v = 0; v < SO_OWN; v++) {
      code[v] = ~(SO_CODE)0;
      if (v * lanes + lane < length)
        code[v] = (SO_ENCODE(key[v]) ^ turned) & SO_ALL;
    }
  }
  SO_CODE prefix = 0, mask = 0;
  ga_uint wanted = (ga_uint)k, equal = 0;
  for (int shift = SO_WIDTH - SO_BITS; shift >= 0 && wanted != equal;
       shift -= SO_BITS) {
    for (int d = lane; d < SO_RADIX; d += lanes)
      counts[d] = 0;
    local_barrier();
    for (int v = 0; v < SO_OWN; v++)
      if ((code[v] & mask) == prefix)
        atom_add_Il(&counts[(ga_uint)(code[v] >> shift) & (SO_RADIX - 1)], 1u);
    local_barrier();
    if (warp == 0) {
      ga_uint own[SO_RADIX / 32], sum = 0;
      for (int d = 0; d < SO_RADIX / 32; d++) {
        own[d] = counts[one * (SO_RADIX / 32) + d];
        sum += own[d];
      }
      SO_SUM_BEFORE(before, sum)
      for (int d = 0; d < SO_RADIX / 32; d++) {
        if (before < wanted && wanted <= before + own[d]) {
          found[0] = (ga_uint)(one * (SO_RADIX / 32) + d);
          found[1] = wanted - before;
          found[2] = own[d];
        }
        before += own[d];
      }
    }
    local_barrier();
    prefix |= (SO_CODE)found[0] << shift;
    mask |= (SO_CODE)(SO_RADIX - 1) << shift;
    wanted = found[1];
    equal = found[2];
  }

  /* Take all keys below the prefix, and of the equal ones the first. Both are counted
   * in one integer, equal ones in its upper half. */
  for (int v = 0; v < SO_OWN; v++) {
    const SO_CODE high = code[v] & mask;
    const ga_uint less = ga_ballot(high < prefix);
    const ga_uint same = ga_ballot(high == prefix);
    if (one == 0)
      marks[v * warps + warp] = (ga_uint)ga_popcount(less) | (ga_uint)ga_popcount(same)
                                                                 << 16;
  }
  local_barrier();
  if (warp == 0) {
    ga_uint sum = 0;
    const int each = (SO_OWN * warps + 31) / 32, all = SO_OWN * warps;
    for (int i = one * each; i < (one + 1) * each; i++)
      if (i < all)
        sum += marks[i];
    SO_SUM_BEFORE(before, sum)
    for (int i = one * each; i < (one + 1) * each; i++)
      if (i < all) {
        const ga_uint mark = marks[i];
        marks[i] = before;
        before += mark;
      }
  }
  local_barrier();
  for (int v = 0; v < SO_OWN; v++) {
    const SO_CODE high = code[v] & mask;
    const ga_uint less = ga_ballot(high < prefix);
    const ga_uint same = ga_ballot(high == prefix);
    const ga_uint before = marks[v * warps + warp];
    const ga_uint equals = (before >> 16) + ga_popcount(same & below);
    if (high < prefix || (high == prefix && equals < wanted)) {
      const ga_uint at = (before & 0xffff) + ga_popcount(less & below) +
                         (equals < wanted ? equals : wanted);
      places[at] = (ga_ushort)(v * lanes + lane);
      if (mode & 32)
        ranked[at] = code[v];
    }
  }
  local_barrier();

  /* Rank sort of the k results. */
  for (int j = lane; j < (int)k; j += lanes) {
    const ga_size i = places[j];
    int at = j;
    if (mode & 32) {
      const SO_CODE own = ranked[j];
      at = 0;
      for (int m = 0; m < (int)k; m++)
        at += ranked[m] < own || (ranked[m] == own && m < j);
    }
    if (mode & 1)
      out[id * k + at] = keys[i];
    if (mode & 4)
      indices[id * k + at] =
          mode & 16 ? from[row * n + begin + i] : (ga_long)(begin + i);
  }
}
