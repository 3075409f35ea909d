/* Offsets of element k, from its row's and xk. */
#if IX_HAS_KEEP
live[k] = live[k] && keep[keep_y + (IX_INT)xk * IX_KEEP_STEP];
#endif
#if IX_CHECKS && !IX_SLOTS
live[k] = live[k] && ok;
#endif
#if IX_TAKES || IX_CLAIMS
pd[k] = dst_y + (IX_INT)xk * IX_DST_STEP;
ps[k] = place + src_y + (IX_INT)xk * IX_SRC_STEP;
#elif IX_SLOTS
pd[k] = dst_y + (IX_INT)xk * IX_DST_STEP;
slot[k] = ok ? (IX_DST)place : ~(IX_DST)0;
#else
pd[k] = place + dst_y + (IX_INT)xk * IX_DST_STEP;
#if IX_HAS_SOURCE
ps[k] = src_y + (IX_INT)xk * IX_SRC_STEP;
#endif
#endif
#if IX_OWNS || IX_CLAIMS
at[k] = y * nx + xk;
#endif
