/* Sorted pairs or keys apart again. SP_FORM 0: values and indices from pairs; 1: the
 * columns from keys, of which they are the low `bits` bits; 2: the rows, too. */
#define SP_IS_PAIR (SP_FORM == 0)
#if SP_IS_PAIR
#define SP_MADE SP_PAIR
#else
#define SP_MADE SP_KEY
#endif

KERNEL void SP_NAME(GLOBAL_MEM SP_GIVEN *other, ga_size other_off,
                    GLOBAL_MEM SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_MADE *sorted, ga_size sorted_off, ga_ulong n,
                    ga_uint bits) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_GIVEN, other);
  SP_WRITTEN(SP_INDEX, indices);
  SP_READ(SP_MADE, sorted);
  (void)bits;
  SP_EACH(k, n) {
    const SP_MADE own = sorted[k];
#if SP_IS_PAIR
    other[k] = SP_PAIR_VALUE(own);
    indices[k] = (SP_INDEX)SP_PAIR_INDEX(own);
#else
    indices[k] = (SP_INDEX)(own & (((SP_KEY)1 << bits) - 1));
#if SP_FORM == 2
    other[k] = (SP_GIVEN)(own >> bits);
#endif
#endif
  }
}
