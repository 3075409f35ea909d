/* CPU columns: a work group takes a range of strips, its items walk down a strip
 * together, SC_OWN columns each. The loop is included twice: contiguous (vectorizable)
 * and strided. */
#include "words.cl.h"

SC_KERNEL void SC_NAME(SC_PARAMETERS) {
  KERNEL_BEGIN;
  SC_BEGIN;
#define SC_OWN (SC_STRIP / SC_LANES)
#define SC_COLUMN(v) ((v) * SC_LANES + lane)
  const SC_INT strips = (across + SC_STRIP - 1) / SC_STRIP;
  const SC_INT total = rows * strips * chunks;
  const SC_INT per = (total + (SC_INT)GDIM_0 - 1) / (SC_INT)GDIM_0;
  SC_INT id = (SC_INT)GID_0 * per;
  const SC_INT last = total - id < per ? total : id + per;
  for (; id < last; id++) {
    const SC_INT at_chunk = id % chunks, block = id / chunks;
    const SC_INT row = block / strips, first = block % strips * SC_STRIP;
    const SC_INT from = at_chunk * chunk;
    const SC_INT to = length - from < chunk ? length : from + chunk;
    const int lane = (int)LID_0;
    const int width = (int)(across - first < SC_STRIP ? across - first : SC_STRIP);
    const int count = (width + SC_LANES - 1 - lane) / SC_LANES;
    const ga_ssize place = ((ga_ssize)row * chunks + at_chunk) * across + first;
    SC_ACC acc[SC_OWN];
    SC_INT p = from;
    SC_LINE
    xp += (ga_ssize)first * xc;
    op += (ga_ssize)first * oc;
    if ((mode & 4) && at_chunk > 0) {
      for (int v = 0; v < count; v++)
        acc[v] = part[place + SC_COLUMN(v)];
    } else if (p < to) {
      for (int v = 0; v < count; v++) {
        acc[v] = SC_LOAD(xp + (ga_ssize)p * xs + SC_COLUMN(v) * xc);
        if (!(mode & 2))
          SC_STORE(op + (ga_ssize)p * os + SC_COLUMN(v) * oc,
                   (mode & 1) ? SC_IDENTITY : acc[v]);
      }
      p++;
    }
    if ((mode & 8) && count == SC_OWN) {
#define SC_WIDTH SC_OWN
#define SC_AT_X(i) SC_LOAD((GLOBAL_MEM const SC_IN *)xt + (i))
#define SC_AT_O(i, v) SC_STORE((GLOBAL_MEM SC_OUT *)ot + (i), v)
#include "cpu_columns_loop.cl.h"
    } else {
#undef SC_WIDTH
#undef SC_AT_X
#undef SC_AT_O
#define SC_WIDTH count
#define SC_AT_X(i) SC_LOAD(xt + (ga_ssize)(i) * xc)
#define SC_AT_O(i, v) SC_STORE(ot + (ga_ssize)(i) * oc, v)
#include "cpu_columns_loop.cl.h"
    }
    if (mode & 2)
      for (int v = 0; v < count; v++)
        part[place + SC_COLUMN(v)] = acc[v];
  }
}
