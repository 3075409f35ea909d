/* Positions, and with SP_FORM 1 keys of row and column, of which the column has `bits`
 * bits. */
KERNEL void SP_NAME(GLOBAL_MEM ga_uint *order, ga_size order_off,
                    GLOBAL_MEM ga_ulong *keys, ga_size keys_off,
                    GLOBAL_MEM const SP_INDEX *rows, ga_size rows_off,
                    GLOBAL_MEM const SP_INDEX *columns, ga_size columns_off,
                    ga_uint bits, ga_ulong n) {
  KERNEL_BEGIN;
  order = (GLOBAL_MEM ga_uint *)((GLOBAL_MEM char *)order + order_off);
  keys = (GLOBAL_MEM ga_ulong *)((GLOBAL_MEM char *)keys + keys_off);
  rows = (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)rows + rows_off);
  columns =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)columns + columns_off);
  SP_EACH(k, n) {
    order[k] = (ga_uint)k;
#if SP_FORM
    keys[k] = (ga_ulong)rows[k] << bits | (ga_ulong)columns[k];
#endif
  }
}
