/* Tree over `a` of those of the TF_THREADS items of a block that are `lanes` apart.
 * With shuffles (TF_HAS_LANES) each warp first folds its own, while there are so few
 * columns; the rest is one warp's, which waits for no other. An item reads only its own
 * writes. */
#if TF_HAS_LANES && defined(GA_HAS_SHUFFLES)
ga_uint s;
for (s = 16; s >= lanes; s /= 2)
  a = TF_FOLD(a, TF_OF(a, (item ^ s) % 32));
const ga_uint few = lanes < 32 ? lanes : 32;
if (item % 32 < few)
  TF_SHARED[item / 32 * few + item % 32] = a;
s = TF_THREADS / 32 * few / 2;
#else
TF_SHARED[item] = a;
ga_uint s = TF_THREADS / 2;
#endif
local_barrier();
#pragma unroll 1
for (; s >= lanes; s /= 2) {
  if (item < s)
    TF_SHARED[item] = TF_FOLD(TF_SHARED[item], TF_SHARED[item + s]);
#ifdef GA_HAS_SHUFFLES
  if (s <= 32)
    ga_warp_barrier();
  else
#endif
    local_barrier();
}
