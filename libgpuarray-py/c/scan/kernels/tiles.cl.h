/* GPU tiles: an item combines its own adjacent elements, then the items' totals are
 * scanned in local memory. With SC_LOOKS (decoupled look-back) the axis is read once;
 * else chunks are summed in a first pass.
 *
 * Item SC_I of SC_COUNT along the axis; SC_POS(i): index of item i in local memory. */
#include "words.cl.h"

#include "lookback.cl.h"

#if SC_ROWS
#define SC_I lane
#define SC_COUNT lanes
#define SC_POS(i) (slot * lanes + (i))
#else
#define SC_I slot
#define SC_COUNT slots
#define SC_POS(i) ((i) * lanes + lane)
#endif

SC_KERNEL void SC_NAME(SC_PARAMETERS) {
  KERNEL_BEGIN;
  SC_BEGIN;
  LOCAL_MEM SC_ACC sums[2 * SC_BLOCK];
#if SC_ROWS
  LOCAL_MEM SC_ACC tile[SC_BLOCK * SC_ITEMS];
#endif
#if SC_WHOLE
  const int lane = (int)LID_0, lanes = SC_BLOCK, slot = 0, slots = 1;
#else
  const int lane = (int)LID_0, lanes = (int)LDIM_0;
  const int slot = (int)LID_1, slots = (int)LDIM_1;
#endif
  const SC_INT step = SC_COUNT * SC_ITEMS;
#if SC_LOOKS
  LOCAL_MEM ga_uint ticket[1];
  LOCAL_MEM SC_ACC ahead[SC_ROWS ? 1 : SC_BLOCK];
  if (lane == 0 && slot == 0)
    ticket[0] = atom_add_Ig((GLOBAL_MEM ga_uint *)part, 1);
  part++;
  local_barrier();
  const SC_INT id = (SC_INT)ticket[0];
#else
  const SC_INT id = (SC_INT)GID_0;
#endif
#if SC_ROWS
  const SC_INT blocks = (rows + slots - 1) / slots;
  const SC_INT at_chunk = id / blocks;
  SC_INT row = (id - at_chunk * blocks) * slots + slot;
  const int valid = row < rows;
  const SC_INT column = 0;
  if (!valid)
    row = rows - 1;
#else
  const SC_INT tiles_across = (across + lanes - 1) / lanes;
  const SC_INT blocks = rows * tiles_across;
  const SC_INT at_chunk = id / blocks, block = id - at_chunk * blocks;
  const SC_INT row = block / tiles_across;
  SC_INT column = (block - row * tiles_across) * lanes + lane;
  const int valid = column < across;
  if (!valid)
    column = across - 1;
#endif
  const SC_INT from = at_chunk * chunk;
  const SC_INT to = length - from < chunk ? length : from + chunk;
  const ga_ssize place = ((ga_ssize)row * chunks + at_chunk) * across + column;
  SC_LINE
  xp += (ga_ssize)column * xc;
  op += (ga_ssize)column * oc;
  SC_ACC carry = SC_IDENTITY;
  int has_carry = 0;
#if !SC_LOOKS
  if ((mode & 4) && at_chunk > 0) {
    carry = part[place];
    has_carry = 1;
  }
#endif
  for (SC_INT start = from; start < to; start += step) {
    const int count = (int)(to - start < step ? to - start : step);
    SC_ACC acc[SC_ITEMS];

/* Rows: coalesced loads, transposed through local memory. Columns need no transpose. */
#if SC_ROWS
    GLOBAL_MEM const char *xt = xp + (ga_ssize)start * xs;
    if (mode & 8) {
      GLOBAL_MEM const SC_IN *xu = (GLOBAL_MEM const SC_IN *)xt + lane;
      for (int v = 0; v < SC_ITEMS; v++) {
        acc[v] = SC_IDENTITY;
        if (v * lanes + lane < count && valid)
          acc[v] = SC_LOAD(xu + v * lanes);
      }
    } else {
      xt += (ga_ssize)lane * xs;
      for (int v = 0; v < SC_ITEMS; v++, xt += (ga_ssize)lanes * xs) {
        acc[v] = SC_IDENTITY;
        if (v * lanes + lane < count && valid)
          acc[v] = SC_LOAD(xt);
      }
    }
    for (int v = 0; v < SC_ITEMS; v++)
      tile[slot * lanes * SC_ITEMS + v * lanes + lane] = acc[v];
    local_barrier();
    for (int v = 0; v < SC_ITEMS; v++)
      acc[v] = tile[(slot * lanes + lane) * SC_ITEMS + v];
#else
    const int own = slot * SC_ITEMS;
    GLOBAL_MEM const char *xt = xp + ((ga_ssize)start + own) * xs;
    for (int v = 0; v < SC_ITEMS; v++) {
      acc[v] = SC_IDENTITY;
      if (own + v < count && valid)
        acc[v] = SC_LOAD(xt + v * xs);
    }
#endif

/* `before`: of the preceding items, if any; `total`: of all. */
#if SC_ROWS && SC_WARPS
    /* Warp scans, then the warps' totals in sequence. */
    for (int v = 1; v < SC_ITEMS; v++)
      acc[v] = SC_COMBINE(acc[v - 1], acc[v]);
    SC_ACC sum = acc[SC_ITEMS - 1];
    SC_SCAN_WARP(sum, lane & 31, (lanes < 32 ? lanes : 32))
    SC_ACC before = carry, total = carry;
    const SC_ACC other = SC_UP(sum, 1);
    if ((lane & 31) > 0)
      before = other;
    if (lanes <= 32) {
      total = SC_FROM(sum, (slot * lanes & 31) + lanes - 1);
      ga_warp_barrier();
    } else {
      if ((lane & 31) == 31)
        sums[SC_POS(lane) >> 5] = sum;
      local_barrier();
      for (int w = 0; w < lanes; w += 32) {
        if (w == lane - (lane & 31) && w > 0)
          before = (lane & 31) > 0 ? SC_COMBINE(total, before) : total;
        const SC_ACC of_warp = sums[SC_POS(w) >> 5];
        total = w > 0 ? SC_COMBINE(total, of_warp) : of_warp;
      }
    }
#else
    int turn;
    for (int v = 1; v < SC_ITEMS; v++)
      acc[v] = SC_COMBINE(acc[v - 1], acc[v]);
    SC_ACC before = carry;
    SC_SCAN(acc[SC_ITEMS - 1], SC_COUNT)
    const SC_ACC total = sums[turn + SC_POS(SC_COUNT - 1)];
    if (SC_I > 0)
      before = sums[turn + SC_POS(SC_I - 1)];
    local_barrier();
#endif
#if SC_LOOKS
#include "lookback_prefix.cl.h"
#endif

    /* Combines an item's elements with its prefix. */
    const int has_before = has_carry || SC_I > 0;
    if (has_carry)
      before = SC_I > 0 ? SC_COMBINE(carry, before) : carry;
    carry = has_carry ? SC_COMBINE(carry, total) : total;
    has_carry = 1;
    if (has_before)
      for (int v = 0; v < SC_ITEMS; v++)
        acc[v] = SC_COMBINE(before, acc[v]);
    if (mode & 1) {
      for (int v = SC_ITEMS - 1; v > 0; v--)
        acc[v] = acc[v - 1];
      acc[0] = has_before ? before : SC_IDENTITY;
    }
    if (mode & 2)
      continue;
#if SC_ROWS
    for (int v = 0; v < SC_ITEMS; v++)
      tile[(slot * lanes + lane) * SC_ITEMS + v] = acc[v];
    local_barrier();
    GLOBAL_MEM char *ot = op + (ga_ssize)start * os;
    LOCAL_MEM_ARG const SC_ACC *own = tile + slot * lanes * SC_ITEMS + lane;
    if (mode & 8) {
      GLOBAL_MEM SC_OUT *ou = (GLOBAL_MEM SC_OUT *)ot + lane;
      for (int v = 0; v < SC_ITEMS; v++)
        if (v * lanes + lane < count && valid)
          SC_STORE(ou + v * lanes, own[v * lanes]);
    } else {
      ot += (ga_ssize)lane * os;
      for (int v = 0; v < SC_ITEMS; v++, ot += (ga_ssize)lanes * os)
        if (v * lanes + lane < count && valid)
          SC_STORE(ot, own[v * lanes]);
    }
    local_barrier();
#else
    GLOBAL_MEM char *ot = op + ((ga_ssize)start + own) * os;
    for (int v = 0; v < SC_ITEMS; v++)
      if (own + v < count && valid)
        SC_STORE(ot + v * os, acc[v]);
#endif
  }
#if !SC_LOOKS
  if ((mode & 2) && SC_I == 0 && valid)
    part[place] = carry;
#endif
}
