/* Matrices of some of the values of another one. SP_FORM 0, 1: counts, 1 for a value
 * that one of the result begins with, else 0, and 0 behind the last; 2, 3: the result,
 * by the scanned counts. 1, 3: COO, `lines` are the rows of the values, else where they
 * begin. */
#define SP_IS_LISTED (SP_FORM % 2)
#define SP_FILLS (SP_FORM / 2)

#define SP_PARAMETERS                                                                  \
  GLOBAL_MEM SP_INDEX *counts, ga_size counts_off, GLOBAL_MEM SP_VALUE *out,           \
      ga_size out_off, GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,      \
      GLOBAL_MEM SP_INDEX *out_lines, ga_size out_lines_off,                           \
      GLOBAL_MEM const ga_ubyte *mask, ga_size mask_off,                               \
      GLOBAL_MEM const SP_VALUE *values, ga_size values_off,                           \
      GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,                         \
      GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off, ga_ulong rows, ga_ulong n,  \
      ga_ulong room
#define SP_STARTS                                                                      \
  SP_WRITTEN(SP_INDEX, counts);                                                        \
  SP_WRITTEN(SP_VALUE, out);                                                           \
  SP_WRITTEN(SP_INDEX, out_indices);                                                   \
  SP_WRITTEN(SP_INDEX, out_lines);                                                     \
  SP_READ(ga_ubyte, mask);                                                             \
  SP_READ(SP_VALUE, values);                                                           \
  SP_READ(SP_INDEX, indices);                                                          \
  SP_READ(SP_INDEX, lines)

#if SP_IS_LISTED
#define SP_PUT_LINE(place, k) out_lines[place] = lines[k]
#define SP_PUT_LINES
#else
#define SP_PUT_LINE(place, k)
#define SP_PUT_LINES                                                                   \
  SP_EACH(row, rows + 1) {                                                             \
    const ga_ulong at = (ga_ulong)lines[row];                                          \
    out_lines[row] = counts[at < n ? at : n];                                          \
  }
#endif
/* Puts `value` for each that is counted, behind the statements that make it. */
#define SP_PUT_CHOSEN(k, value, make)                                                  \
  SP_EACH(k, n) {                                                                      \
    const ga_ulong place = (ga_ulong)counts[k];                                        \
    if ((ga_ulong)counts[k + 1] == place || place >= room)                             \
      continue;                                                                        \
    make;                                                                              \
    out[place] = value;                                                                \
    out_indices[place] = indices[k];                                                   \
    SP_PUT_LINE(place, k);                                                             \
  }                                                                                    \
  SP_PUT_LINES
