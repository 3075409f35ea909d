/* Tree that folds a0, a1, ... over the `lanes` items of each row of a block;
 * TREE_FOLDS(F): F(fold) for each fold. In warps by TREE_OF(fold), or else in local
 * memory, shared0, shared1, ... All items get the same bits. Unless TREE_IS_ALONE the
 * block has other folds to come, so it waits for all of its items first. `lanes` is a
 * power of 2, so no index takes a division. */
#define TREE_MEET(fold)                                                                \
  a##fold = TREE_FOLD(fold)(a##fold, TREE_OF(fold)(a##fold, (item ^ s) % 32));
#define TREE_SHARE(fold) shared##fold[item / 32] = a##fold;
#define TREE_TAKE(fold)                                                                \
  a##fold = shared##fold[(item / 32 & -parts) + (item & (parts - 1))];
#define TREE_FIRST(fold) a##fold = TREE_OF(fold)(a##fold, (item & -wide) % 32);
#define TREE_SHARE_ALL(fold) shared##fold[item] = a##fold;
#define TREE_HALVE(fold)                                                               \
  shared##fold[item] = TREE_FOLD(fold)(shared##fold[item], shared##fold[item + s]);
#define TREE_TAKE_FIRST(fold) a##fold = shared##fold[item - lane];
if (lanes > 1) {
#ifdef GA_HAS_SHUFFLES
  const ga_uint wide = (ga_uint)lanes, parts = wide / 32;
  for (ga_uint s = parts > 0 ? 16 : wide / 2; s > 0; s /= 2) {
    TREE_FOLDS(TREE_MEET)
  }
  if (parts > 1) {
    if (item % 32 == 0) {
      TREE_FOLDS(TREE_SHARE)
    }
    local_barrier();
    TREE_FOLDS(TREE_TAKE)
    for (ga_uint s = parts / 2; s > 0; s /= 2) {
      TREE_FOLDS(TREE_MEET)
    }
#if TREE_IS_ALONE
    local_barrier();
#endif
  }
  TREE_FOLDS(TREE_FIRST)
#else
  TREE_FOLDS(TREE_SHARE_ALL)
  local_barrier();
  for (ga_int s = lanes / 2; s > 0; s /= 2) {
    if (lane < s) {
      TREE_FOLDS(TREE_HALVE)
    }
    local_barrier();
  }
  TREE_FOLDS(TREE_TAKE_FIRST)
  local_barrier();
#endif
}
