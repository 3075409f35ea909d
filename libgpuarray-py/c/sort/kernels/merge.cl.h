/* CPU: merge sort of short rows, an item per row.
 *
 * A slot is code and position, packed into one number where that fits; for complex keys
 * the key and its position. SO_LESS compares slots of two runs, only with the later
 * run's slot first. */
#include "keys.cl.h"

#if SO_IS_COMPLEX
typedef struct SO_SLOT {
  SO_KEY key;
  ga_uint place;
} SO_SLOT;
#define SO_MAKE(s, k, p)                                                               \
  {                                                                                    \
    (s).key = (k);                                                                     \
    (s).place = (p);                                                                   \
  }
#define SO_LESS(a, b) SO_BEFORE((a).key, (a).place, (b).key, (b).place, mode)
#define SO_SLOT_PLACE(s) ((s).place)
#elif SO_IS_PACKED
#define SO_SLOT ga_ulong
#define SO_MAKE(s, key, place)                                                         \
  s = (ga_ulong)(ga_uint)(SO_ENCODE(key) ^ (mode & 8 ? ~0u : 0u)) << 32 | (place)
#define SO_LESS(a, b) ((a) < (b))
#define SO_SLOT_PLACE(s) ((ga_uint)(s))
#define SO_WORD(s) (s)
#else
typedef struct SO_SLOT {
  ga_ulong code;
  ga_uint place;
} SO_SLOT;
#define SO_MAKE(s, k, p)                                                               \
  {                                                                                    \
    (s).code = SO_ENCODE(k) ^ (mode & 8 ? ~(ga_ulong)0 : 0);                           \
    (s).place = (p);                                                                   \
  }
#define SO_LESS(a, b) ((a).code < (b).code)
#define SO_SLOT_PLACE(s) ((s).place)
#define SO_WORD(s) ((s).code)
#endif

#if SO_IS_COMPLEX
#define SO_RUN 8
#define SO_SORT_RUN                                                                    \
  {                                                                                    \
    const int end = n - start < SO_RUN ? n : start + SO_RUN;                           \
    for (int i = start; i < end; i++) {                                                \
      SO_SLOT slot;                                                                    \
      SO_MAKE(slot, in[at + i], (ga_uint)i);                                           \
      int j = i;                                                                       \
      for (; j > start && SO_LESS(slot, slots[j - 1]); j--)                            \
        slots[j] = slots[j - 1];                                                       \
      slots[j] = slot;                                                                 \
    }                                                                                  \
  }
#else
/* Rank sort of a run from `start` on: more comparisons than needed, but vectorized. */
#define SO_RUN 32
#define SO_SORT_RUN                                                                    \
  {                                                                                    \
    SO_SLOT run[SO_RUN];                                                               \
    ga_ulong words[SO_RUN];                                                            \
    const int have = n - start < SO_RUN ? n - start : SO_RUN;                          \
    const int padded = (have + 7) & ~7;                                                \
    for (int i = 0; i < padded; i++)                                                   \
      words[i] = ~(ga_ulong)0;                                                         \
    for (int i = 0; i < have; i++) {                                                   \
      SO_MAKE(run[i], in[at + start + i], (ga_uint)(start + i));                       \
      words[i] = SO_WORD(run[i]);                                                      \
    }                                                                                  \
    for (int i = 0; i < have; i++) {                                                   \
      const ga_ulong own = words[i];                                                   \
      ga_long rank = 0;                                                                \
      for (int j = 0; j < padded; j++)                                                 \
        rank += (words[j] < own) | ((words[j] == own) & (j < i));                      \
      slots[start + rank] = run[i];                                                    \
    }                                                                                  \
  }
#endif

SO_KERNEL void SO_NAME(SO_ARRAYS, ga_ulong rows, ga_ulong n_, ga_ulong m_,
                       ga_int mode) {
  KERNEL_BEGIN;
  LOCAL_MEM SO_SLOT slots[2 * SO_ROOM];
  const int n = (int)n_;
  SO_BEGIN;
  for (ga_size row = GID_0; row < rows; row += GDIM_0) {
    const ga_size at = row * n;
    int from = 0;
    for (int start = 0; start < n; start += SO_RUN)
      SO_SORT_RUN
    for (int width = SO_RUN; width < n; width *= 2) {
      const int to = SO_ROOM - from;
      for (int start = 0; start < n; start += 2 * width) {
        int i = start, end_i = start + width < n ? start + width : n;
        int j = end_i, end = n - start < 2 * width ? n : start + 2 * width;
        int k = start;
        while (i < end_i && j < end) {
          const SO_SLOT a = slots[from + i], b = slots[from + j];
          const int second = SO_LESS(b, a);
          slots[to + k++] = second ? b : a;
          j += second;
          i += 1 - second;
        }
        for (; i < end_i; i++)
          slots[to + k++] = slots[from + i];
        for (; j < end; j++)
          slots[to + k++] = slots[from + j];
      }
      from = to;
    }
    /* Keys may be sorted in place: gather before storing. */
    for (int j = 0; j < n; j++) {
      const ga_size place = at + SO_SLOT_PLACE(slots[from + j]);
      if (mode & 4)
        indices[at + j] = (ga_long)(place - at);
      else if (SO_HAS_VALUES)
        vout[at + j] = vin[place];
    }
    if (mode & 1) {
      LOCAL_MEM_ARG SO_KEY *keys = (LOCAL_MEM_ARG SO_KEY *)(slots + (SO_ROOM - from));
      for (int j = 0; j < n; j++)
        keys[j] = in[at + SO_SLOT_PLACE(slots[from + j])];
      for (int j = 0; j < n; j++)
        out[at + j] = keys[j];
    }
  }
}
