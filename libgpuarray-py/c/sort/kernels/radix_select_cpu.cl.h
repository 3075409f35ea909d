/* CPU: top-k by radix select of a bounded candidate list.
 *
 * An item scans a chunk once and holds codes and positions of candidates, in order.
 * When the list is full it is reduced to the first k, and from then on only keys below
 * the largest of them are candidates: of equal keys the first stay. */
#include "keys.cl.h"

#define SO_ALL (~(SO_CODE)0 >> (8 * sizeof(SO_CODE) - SO_WIDTH))

SO_KERNEL void SO_NAME(SO_ARRAYS, GLOBAL_MEM const ga_long *from, ga_size from_off,
                       ga_ulong rows, ga_ulong n, ga_ulong chunk, ga_ulong chunks,
                       ga_ulong k, ga_int mode) {
  KERNEL_BEGIN;
#define SO_STEP 16
#define SO_CODE_AT(i) ((SO_ENCODE(keys[i]) ^ turned) & SO_ALL)
  LOCAL_MEM SO_CODE codes[SO_HELD];
  LOCAL_MEM ga_uint places[SO_HELD];
  LOCAL_MEM ga_uint counts[SO_RADIX];
  const int room = 4 * k < 256 ? 256 : 4 * k < SO_HELD ? 4 * (int)k : SO_HELD;
  const SO_CODE turned = mode & 8 ? ~(SO_CODE)0 : 0;
  SO_BEGIN;
  from = (GLOBAL_MEM const ga_long *)((GLOBAL_MEM const char *)from + from_off);
  for (ga_size id = GID_0; id < rows * chunks; id += GDIM_0) {
    const ga_size row = id / chunks, part = id - row * chunks;
    const ga_size more = n - chunks * chunk;
    const ga_size begin = part * chunk + (part < more ? part : more);
    const ga_uint length = (ga_uint)chunk + (part < more ? 1u : 0u);
    GLOBAL_MEM const SO_KEY *keys = in + row * n + begin;
    SO_CODE bound = 0;
    int held = 0, is_bound = 0;
    for (ga_uint i = 0; i < length || held > (int)k;) {
      if (is_bound)
        for (int any = 0; i + SO_STEP <= length; i += SO_STEP) {
          for (int v = 0; v < SO_STEP; v++)
            any |= SO_CODE_AT(i + v) < bound;
          if (any)
            break;
        }
      const ga_uint end = length - i < SO_STEP ? length : i + SO_STEP;
      for (; i < end; i++) {
        const SO_CODE code = SO_CODE_AT(i);
        if (!is_bound || code < bound) {
          codes[held] = code;
          places[held++] = i;
        }
      }
      if (i < length && held <= room - SO_STEP)
        continue;
      if (held <= (int)k)
        continue;

      /* Radix select of the k-th candidate: `bound` under `mask` are its known digits,
       * and `wanted` are still to be found among those that share them. */
      SO_CODE mask = 0;
      ga_uint wanted = (ga_uint)k, equal = 0, last = 0;
      bound = 0;
      for (int shift = SO_WIDTH - SO_BITS; shift >= 0 && wanted != equal;
           shift -= SO_BITS) {
        for (int d = 0; d < SO_RADIX; d++)
          counts[d] = 0;
        for (int j = 0; j < held; j++)
          if ((codes[j] & mask) == bound)
            counts[(ga_uint)(codes[j] >> shift) & (SO_RADIX - 1)]++;
        ga_uint d = 0;
        for (; wanted > counts[d]; d++)
          wanted -= counts[d];
        equal = counts[d];
        bound |= (SO_CODE)d << shift;
        mask |= (SO_CODE)(SO_RADIX - 1) << shift;
      }
      int kept = 0;
      SO_CODE most = 0;
      for (int j = 0; j < held; j++) {
        const SO_CODE code = codes[j], high = code & mask;
        if (high < bound || (high == bound && last++ < wanted)) {
          if (code > most)
            most = code;
          places[kept] = places[j];
          codes[kept++] = code;
        }
      }
      held = kept;
      bound = most;
      is_bound = 1;
    }

    if (mode & 32)
      for (int j = 1; j < (int)k; j++) {
        const SO_CODE code = codes[j];
        const ga_uint place = places[j];
        int at = j;
        for (; at > 0 && code < codes[at - 1]; at--) {
          codes[at] = codes[at - 1];
          places[at] = places[at - 1];
        }
        codes[at] = code;
        places[at] = place;
      }
    for (int j = 0; j < (int)k; j++) {
      const ga_size i = places[j];
      if (mode & 1)
        out[id * k + j] = keys[i];
      if (mode & 4)
        indices[id * k + j] =
            mode & 16 ? from[row * n + begin + i] : (ga_long)(begin + i);
    }
  }
}
