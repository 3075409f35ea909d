/* The kernel text of an elementwise expression over arrays that differ in order. */
#include "c/elemwise/elemwise_text.h"
#include "c/elemwise/kernels/tiled.inc"

/* ---- measures ---- */

static size_t smallest(const ga_elem_spec *spec) {
  size_t found = 16;
  for (unsigned int i = 0; i < spec->n; i++) {
    size_t size = gpuarray_get_elsize(spec->args[i].typecode);
    if (ga__elem_is_array(&spec->args[i]) && size < found)
      found = size;
  }
  return found;
}

/* As many as fill 4 bytes of the smallest type, or 8 of one that has 4, and fit 16 of
 * the largest. */
unsigned int ga__elem_tile_vector(const ga_elem_spec *spec) {
  size_t least = smallest(spec), largest = ga__elem_largest(spec, 0);
  size_t fill = least < 4 ? 4 / least : 8 / largest, most = 16 / largest;
  size_t n = fill < most ? fill : most;
  return n > 0 ? (unsigned int)n : 1;
}

/* Vectors of a row: 128 bytes or more, where that leaves room for other blocks. */
static unsigned int tile_lanes(const ga_elem_spec *spec) {
  unsigned int vector = ga__elem_tile_vector(spec);
  return vector > 1 && vector * ga__elem_largest(spec, 0) > 8 ? 16 : 32;
}

unsigned int ga__elem_tile(const ga_elem_spec *spec) {
  return tile_lanes(spec) * ga__elem_tile_vector(spec);
}

/* Eight vectors of an array each, or more: with fewer, too little is on its way while
 * others wait. */
unsigned int ga__elem_tile_threads(const ga_elem_spec *spec) {
  return ga__elem_tile_vector(spec) > 1 && tile_lanes(spec) == 32 ? 256 : 128;
}

/* Blocks for which a processor shall have registers, or 0. Few arrays of small
 * elements have enough on their way only if more blocks run than compilers make room
 * for; many would lack the registers. */
static unsigned int least_blocks(const ga_elem_spec *spec) {
  unsigned int n = 0;
  for (unsigned int i = 0; i < spec->n; i++)
    n += ga__elem_is_array(&spec->args[i]);
  size_t size = ga__elem_largest(spec, 0);
  if (n > 3 || size > 2 || smallest(spec) != size)
    return 0;
  return size == 2 ? 5 : 4;
}

size_t ga__elem_tile_bytes(const ga_elem_spec *spec, unsigned int i) {
  const unsigned int vector = ga__elem_tile_vector(spec), lanes = tile_lanes(spec);
  const size_t bytes = gpuarray_get_elsize(spec->args[i].typecode) * vector * vector *
                       lanes * (lanes + 1); /* EL_PITCH */
  return (bytes + 15) / 16 * 16;
}

/* EL_ROOM_i, of array i: the ga_uint4 of its tile in local memory. EL_EVERY,
 * EL_EVERY_OUTPUT: a bit for each array, or each that is written. */
static void add_rooms(ga_strbuf *sb, const ga_elem_spec *spec) {
  unsigned long long arrays = 0, written = 0;
  for (unsigned int i = 0; i < spec->n; i++) {
    if (!ga__elem_is_array(&spec->args[i]))
      continue;
    ga__strbuf_addf(sb, "#define EL_ROOM_%u %zu\n", i,
                    ga__elem_tile_bytes(spec, i) / 16);
    arrays |= 1ull << i;
    written |= (unsigned long long)ga__elem_is_written(&spec->args[i]) << i;
  }
  ga__strbuf_addf(sb, "#define EL_EVERY %lluUL\n#define EL_EVERY_OUTPUT %lluUL\n",
                  arrays, written);
}

int ga__elem_tiled_source(ga_source *out, const ga_elem_spec *spec, unsigned int nd) {
  const unsigned int lanes = tile_lanes(spec), threads = ga__elem_tile_threads(spec);
  const unsigned int step = threads / lanes, blocks = least_blocks(spec);
  ga_strbuf text = {0};
  ga__elem_add_words(&text, spec, nd, "ga_ssize", 0);
  ga__elem_add_arrays(&text, spec, ga__elem_tile_vector(spec), 0);
  ga__elem_add_axes(&text, nd, nd);
  ga__elem_add_sum(&text, "EL_OUTER", nd - 2);
  add_rooms(&text, spec);
  ga__strbuf_addf(&text,
                  "#define EL_Y ga_i_x%u\n#define EL_STRIDE_Y(i) ga_i_t##i##_%u\n"
                  "#define EL_TILE %u\n#define EL_LANES %u\n#define EL_THREADS %u\n"
                  "#define EL_STEP %u\n#define EL_SQUARES %u\n",
                  nd - 2, nd - 2, ga__elem_tile(spec), lanes, threads, step,
                  lanes / step);
  if (blocks > 0)
    ga__strbuf_addf(&text, "#define EL_KERNEL KERNEL_OF(EL_THREADS, %u)\n", blocks);
  else
    ga__strbuf_add(&text, "#define EL_KERNEL KERNEL\n");
  return ga__elem_finish(out, spec, &text, tiled_text);
}
