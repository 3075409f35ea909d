/* CPU rows: a work group takes a range of chunks. Blocks of eight elements, so that the
 * chain of dependent combinations is one per block. The loop is included twice:
 * contiguous (vectorizable) and strided. */
#include "words.cl.h"

SC_KERNEL void SC_NAME(SC_PARAMETERS) {
  KERNEL_BEGIN;
  SC_BEGIN;
  const SC_INT total = rows * chunks;
  const SC_INT per = (total + (SC_INT)GDIM_0 - 1) / (SC_INT)GDIM_0;
  SC_INT id = (SC_INT)GID_0 * per;
  const SC_INT last = total - id < per ? total : id + per;
  for (; id < last; id++) {
    const SC_INT row = id / chunks, at_chunk = id % chunks;
    const SC_INT from = at_chunk * chunk;
    const SC_INT to = length - from < chunk ? length : from + chunk;
    SC_ACC carry = SC_IDENTITY;
    SC_INT p = from;
    SC_LINE
    if ((mode & 4) && at_chunk > 0) {
      carry = part[id];
    } else if (p < to) {
      carry = SC_LOAD(xp + (ga_ssize)p * xs);
      if (!(mode & 2))
        SC_STORE(op + (ga_ssize)p * os, (mode & 1) ? SC_IDENTITY : carry);
      p++;
    }
    if ((mode & 8)) {
#define SC_AT_X(i) SC_LOAD((GLOBAL_MEM const SC_IN *)xp + (i))
#define SC_AT_O(i, v) SC_STORE((GLOBAL_MEM SC_OUT *)op + (i), v)
#include "cpu_rows_loop.cl.h"
    } else {
#undef SC_AT_X
#undef SC_AT_O
#define SC_AT_X(i) SC_LOAD(xp + (ga_ssize)(i) * xs)
#define SC_AT_O(i, v) SC_STORE(op + (ga_ssize)(i) * os, v)
#include "cpu_rows_loop.cl.h"
    }
    for (; p < to; p++) {
      const SC_ACC before = carry;
      carry = SC_COMBINE(carry, SC_LOAD(xp + (ga_ssize)p * xs));
      if (!(mode & 2))
        SC_STORE(op + (ga_ssize)p * os, (mode & 1) ? before : carry);
    }
    if (mode & 2)
      part[id] = carry;
  }
}
