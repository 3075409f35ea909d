/* Start of both kernels: the ranges of a work group, and RD_STORE. */
const RD_INT lane = (RD_INT)LID_0, lanes = (RD_INT)LDIM_0;
const RD_INT split = (RD_INT)GID_1;
const RD_INT outer_from = split / splits * outer_per;
const RD_INT inner_from = split % splits * inner_per;
RD_INT outer_to = outer_from + outer_per;
RD_INT inner_to = inner_from + inner_per;
RD_INT tile = (RD_INT)GID_0 * per_group;
RD_INT tile_to = tile + per_group;
if (outer_to > outer)
  outer_to = outer;
if (inner_to > inner)
  inner_to = inner;
if (tile_to > tiles)
  tile_to = tiles;
part = (GLOBAL_MEM RD_ACC *)((GLOBAL_MEM char *)part + part_off);
RD_BEGIN
#define RD_STORE(index, value)                                                         \
  {                                                                                    \
    if (mode & 2)                                                                      \
      part[(ga_ssize)split * results + (index)] = (value);                             \
    else {                                                                             \
      RD_RESULTS(index, value)                                                         \
    }                                                                                  \
  }
