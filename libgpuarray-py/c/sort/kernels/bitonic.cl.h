/* Bitonic sort of short rows in local memory; ties by position, so stable. */
#include "keys.cl.h"

SO_KERNEL void SO_NAME(SO_ARRAYS, ga_ulong rows, ga_ulong n_, ga_ulong m_,
                       ga_int mode) {
  KERNEL_BEGIN;
  LOCAL_MEM SO_KEY keys[SO_ROOM];
  LOCAL_MEM ga_ushort places[SO_ROOM];
  const int lane = (int)LID_0, lanes = (int)LDIM_0, slots = (int)LDIM_1;
  const int n = (int)n_, m = (int)m_, base = (int)LID_1 * m;
  SO_BEGIN;
  const ga_size step = (ga_size)GDIM_0 * slots;
  for (ga_size first = (ga_size)GID_0 * slots; first < rows; first += step) {
    const ga_size row = first + LID_1, at = row * n;
    for (int j = lane; j < m; j += lanes) {
      places[base + j] = (ga_ushort)j;
      if (row < rows && j < n)
        keys[base + j] = in[at + j];
    }
    local_barrier();
    for (int k = 2; k <= m; k <<= 1)
      for (int j = k >> 1; j > 0; j >>= 1) {
        for (int t = lane; t < m / 2; t += lanes) {
          const int low = base + 2 * t - (t & (j - 1)), high = low + j;
          const SO_KEY a = keys[low], b = keys[high];
          const ga_ushort ia = places[low], ib = places[high];
          const int is_less =
              ia < n && ib < n ? SO_BEFORE(b, ib, a, ia, mode) : ib < ia;
          if (is_less == (((low - base) & k) == 0)) {
            keys[low] = b;
            keys[high] = a;
            places[low] = ib;
            places[high] = ia;
          }
        }
        local_barrier();
      }
    for (int j = lane; j < n; j += lanes)
      if (row < rows) {
        if (mode & 1)
          out[at + j] = keys[base + j];
        if (mode & 4)
          indices[at + j] = (ga_long)places[base + j];
        else if (SO_HAS_VALUES)
          vout[at + j] = vin[at + places[base + j]];
      }
    local_barrier();
  }
}
