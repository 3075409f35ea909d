/* Decoupled look-back: computes this tile's prefix, `carry` and has_carry.
 *
 * A tile publishes its total; its prefix is the prefix of its group of tiles combined
 * with the totals of the earlier tiles in the group. A group's last tile publishes the
 * next group's prefix. So the order of combination does not depend on timing (a plain
 * look-back stops at whichever prefix it finds): the result is deterministic. */
{
  const SC_INT radix = mode >> 8, group = at_chunk / radix;
  const int d = (int)(at_chunk - group * radix);
  const SC_INT groups = (chunks + radix - 1) / radix;
  const ga_ssize base = (ga_ssize)row * (chunks + groups) * across + column;
  const ga_ssize first_part = base + (ga_ssize)group * radix * across;
  const ga_ssize prefix = base + (ga_ssize)(chunks + group) * across;
  if (SC_I == 0 && d < radix - 1 && valid)
    SC_PUT(part + (first_part + d * across) * SC_WORDS, total);
#if SC_ROWS
  /* Rows: one warp reads the totals, SC_EACH per lane, all loads in flight. The next
   * group's prefix is published before this tile is finished, since others wait for
   * it. */
  if (SC_I < 32) {
    const volatile GLOBAL_MEM ga_ulong *p =
        (const volatile GLOBAL_MEM ga_ulong *)(part + first_part * SC_WORDS);
    ga_ulong raw[SC_EACH][SC_WORDS];
    for (int e = 0; e < SC_EACH; e++)
      for (int w = 0; w < SC_WORDS; w++)
        if (e * 32 + SC_I < d)
          raw[e][w] = p[(e * 32 + SC_I) * SC_WORDS + w];
    SC_ACC seen = SC_IDENTITY;
    for (int e = 0; e < SC_EACH; e++) {
      const int n = d - e * 32 < 32 ? d - e * 32 : 32;
      union {
        SC_ACC value;
        ga_uint words[SC_WORDS];
      } u;
      u.value = SC_IDENTITY;
      if (SC_I < n)
        for (int w = 0; w < SC_WORDS; w++) {
          while ((raw[e][w] >> 32) == 0)
            raw[e][w] = p[(e * 32 + SC_I) * SC_WORDS + w];
          u.words[w] = (ga_uint)raw[e][w];
        }
      ga_warp_barrier();
      if (n > 0) {
        SC_ACC some = u.value;
        SC_SCAN_WARP(some, SC_I, 32)
        some = SC_FROM(some, n - 1);
        seen = e > 0 ? SC_COMBINE(seen, some) : some;
      }
    }
    if (SC_I == 0) {
      if (group > 0) {
        const SC_ACC early = SC_GET(part + prefix * SC_WORDS);
        seen = d > 0 ? SC_COMBINE(early, seen) : early;
      }
      if (d == radix - 1 && at_chunk + 1 < chunks)
        SC_PUT(part + (prefix + 1) * SC_WORDS,
               at_chunk > 0 ? SC_COMBINE(seen, total) : total);
      ahead[0] = seen;
    }
  }
  local_barrier();
  if (at_chunk > 0)
    carry = ahead[0];
#else
  SC_ACC seen = SC_IDENTITY;
  if (SC_I < d && valid)
    seen = SC_GET(part + (first_part + (ga_ssize)SC_I * across) * SC_WORDS);
  else if (SC_I == SC_COUNT - 1 && group > 0 && valid)
    seen = SC_GET(part + prefix * SC_WORDS);
  if (SC_I == SC_COUNT - 1)
    ahead[lane] = seen;
  SC_SCAN(seen, d)
  if (group > 0) {
    carry = ahead[lane];
    if (d > 0)
      carry = SC_COMBINE(carry, sums[turn + SC_POS(d - 1)]);
  } else if (d > 0) {
    carry = sums[turn + SC_POS(d - 1)];
  }
  if (SC_I == 0 && d == radix - 1 && at_chunk + 1 < chunks && valid)
    SC_PUT(part + (prefix + across) * SC_WORDS,
           at_chunk > 0 ? SC_COMBINE(carry, total) : total);
#endif
  has_carry = at_chunk > 0;
}
