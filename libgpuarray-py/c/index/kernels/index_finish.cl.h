/* All loads of the item, then all stores. */
#if IX_HAS_SOURCE
for (ga_int k = 0; k < IX_PER; k++)
  if (live[k]) {
    v[k] = src[ps[k]];
  }
#endif
for (ga_int k = 0; k < IX_PER; k++)
  if (live[k]) {
#if IX_ADDS
    IX_ADD(dst + pd[k], v[k]);
#elif IX_OWNS
    atom_max_Ig(dst + pd[k], at[k] + 1);
#elif IX_CLAIMS
    dst[pd[k]] = (ga_ubyte)(v[k] == at[k] + 1);
#elif IX_SLOTS
    dst[pd[k]] = slot[k];
#else
    dst[pd[k]] = v[k];
#endif
  }
