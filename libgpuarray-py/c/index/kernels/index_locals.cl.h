/* What an item keeps of each of its elements: whether it is there, where it lies in dst
 * and src, its value, and its number in the walk or the slot that its indices lead to.
 */
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
