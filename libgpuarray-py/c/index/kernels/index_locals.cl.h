/* Registers per element: validity, offsets in dst and src, value, position or slot
 * number. */
ga_int live[IX_PER];
IX_INT pd[IX_PER];
#if IX_HAS_SOURCE
IX_INT ps[IX_PER];
IX_SRC v[IX_PER];
#endif
#if IX_OWNS || IX_CLAIMS
ga_uint at[IX_PER];
#elif IX_SLOTS
IX_DST slot[IX_PER];
#endif
