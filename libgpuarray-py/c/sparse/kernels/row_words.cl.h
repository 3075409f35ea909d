/* Parameters of products of compressed rows with columns of x, y = alpha A x + beta y,
 * and the store of a sum. Rows of more than `limit` values are left to other launches,
 * which take up to `piece_size` of them at a time: `list` has the number of such
 * pieces, and that of rows with several; for each piece its row and its first value;
 * and behind `room` of those, for each row with several pieces, the first. */
#define SP_PARAMETERS                                                                  \
  GLOBAL_MEM SP_VALUE *y, ga_size y_off, SP_MATRIX, GLOBAL_MEM const SP_VALUE *x,      \
      ga_size x_off, GLOBAL_MEM ga_ulong *list, ga_size list_off,                      \
      GLOBAL_MEM SP_WORK *parts, ga_size parts_off, ga_ulong rows, ga_ulong columns,   \
      ga_ulong n, ga_ulong width, ga_long x_row, ga_long y_row, ga_long y_column,      \
      ga_long shift, ga_ulong limit, ga_ulong piece_size, ga_ulong room,               \
      SP_REAL alpha, SP_REAL alpha_im, SP_REAL beta, SP_REAL beta_im, ga_int has_beta
#define SP_STARTS                                                                      \
  SP_WRITTEN(SP_VALUE, y);                                                             \
  SP_READ_MATRIX;                                                                      \
  SP_READ(SP_VALUE, x);                                                                \
  SP_WRITTEN(ga_ulong, list);                                                          \
  SP_WRITTEN(SP_WORK, parts);                                                          \
  (void)piece_size

/* `begin` and `end` of the values of a row, within the array whatever it holds. */
#define SP_BOUNDS(row)                                                                 \
  ga_ulong begin = (ga_ulong)indptr[row], end = (ga_ulong)indptr[(row) + 1];           \
  end = end < n ? end : n;                                                             \
  begin = begin < end ? begin : end

/* Adds a row to the list of long ones, and empties it. */
#define SP_LIST_ROW(row)                                                               \
  {                                                                                    \
    const SP_COUNT size = (SP_COUNT)piece_size, first = (SP_COUNT)begin;               \
    const SP_COUNT pieces = ((SP_COUNT)end - first - 1) / size + 1;                    \
    const ga_ulong at = atom_add_Ig((GLOBAL_MEM ga_uint *)list, (ga_uint)pieces);      \
    for (SP_COUNT piece = 0; piece < pieces && at + piece < room; piece++) {           \
      list[2 + 2 * (at + piece)] = row;                                                \
      list[3 + 2 * (at + piece)] = first + piece * size;                               \
    }                                                                                  \
    if (pieces > 1) {                                                                  \
      const ga_ulong several = atom_add_Ig((GLOBAL_MEM ga_uint *)list + 1, 1);         \
      if (several < room)                                                              \
        list[2 + 2 * room + several] = at;                                             \
    }                                                                                  \
  }

#define SP_PUT(row, c, sum)                                                            \
  {                                                                                    \
    const ga_ssize place = (ga_ssize)(row) * y_row + (ga_ssize)(c) * y_column;         \
    SP_WORK value = SP_MUL(SP_NUMBER(alpha, alpha_im), sum);                           \
    if (has_beta)                                                                      \
      value = SP_ADD(value, SP_MUL(SP_NUMBER(beta, beta_im), SP_LOAD(y[place])));      \
    y[place] = SP_STORE(value);                                                        \
  }
