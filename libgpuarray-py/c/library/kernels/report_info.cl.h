/* Reports each matrix whose LAPACK info is not 0. */
KERNEL void REPORT_INFO_NAME(GLOBAL_MEM const ga_int *info, ga_size info_off, ga_size n,
                             GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint site) {
  KERNEL_BEGIN;
  info = (GLOBAL_MEM const ga_int *)((GLOBAL_MEM const char *)info + info_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    if (info[i] != 0)
      ga_report_index(word, word_off, site, (ga_long)i, (ga_long)-1);
}
