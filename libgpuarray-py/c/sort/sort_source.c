/* The kernel texts of sorts and selections.
 *
 * Keys move as they are; where they are compared they are encoded: as unsigned numbers
 * in the same order, with -0.0 equal to 0.0 and every nan after all numbers. A complex
 * key is compared by which of its parts are nan, then by the real part, then by the
 * imaginary one. Every sort is stable. */
#include "c/sort/sort_source.h"

#include <string.h>

#include "c/base/dtype.h"
#include "c/sort/sort_text.h"

/* ---- the words ---- */

static bool is_complex(int typecode) {
  return ga__dtype_kind(typecode) == 'c';
}

/* Bytes of what is encoded: a key, or one of its two parts. */
static unsigned int part_size(int typecode) {
  return (unsigned int)gpuarray_get_elsize(typecode) / (is_complex(typecode) ? 2 : 1);
}

unsigned int ga__sort_passes(const ga_sort_spec *spec) {
  const unsigned int bits = (unsigned int)spec->bits;
  const unsigned int each = (8 * part_size(spec->typecode) + bits - 1) / bits;
  return is_complex(spec->typecode) ? 2 * each + 1 : each;
}

/* A tile's keys and values take about 20 KiB of local memory; they fit the registers of
 * 64 that an item has. */
static unsigned int sweep_items(const ga_sort_spec *spec) {
  const size_t size =
      gpuarray_get_elsize(spec->typecode) + (unsigned int)spec->value_size;
  if (size <= 4)
    return spec->value_size > 0 ? 15 : 25;
  return size <= 8 ? 13 : size <= 12 ? 9 : size <= 16 ? 7 : 4;
}

unsigned int ga__sort_tile(const ga_sort_spec *spec) {
  return GA_SORT_THREADS * sweep_items(spec);
}

unsigned int ga__sort_room(int typecode) {
  return gpuarray_get_elsize(typecode) <= 4 ? 2048 : 1024;
}

unsigned int ga__sort_pick_items(int typecode) {
  return gpuarray_get_elsize(typecode) <= 4 ? 16 : 8;
}

static const char *unsigned_name(unsigned int size) {
  return size == 1   ? "ga_ubyte"
         : size == 2 ? "ga_ushort"
         : size == 4 ? "ga_uint"
                     : "ga_ulong";
}

static const char *raw_name(unsigned int size) {
  return size == 16 ? "ga_ulong2" : unsigned_name(size);
}

/* The bits of infinity, without the sign. */
static const char *infinity_text(int typecode) {
  switch (typecode) {
  case GA_HALF:
    return "0x7c00u";
  case GA_BFLOAT16:
    return "0x7f80u";
  case GA_DOUBLE:
  case GA_CDOUBLE:
    return "0x7ff0000000000000UL";
  default:
    return "0x7f800000u";
  }
}

/* SO_ENCODE: the code of a key, or of a part of one. */
static void add_encoding(ga_strbuf *sb, int typecode) {
  const unsigned int size = part_size(typecode), width = 8 * size;
  const char kind = ga__dtype_kind(typecode);
  ga__strbuf_addf(sb, "GA_INLINE SO_CODE SO_ENCODE(%s raw) {\n", unsigned_name(size));
  if (kind == 'i') {
    ga__strbuf_addf(sb, "  return (SO_CODE)raw ^ ((SO_CODE)1 << %u);\n}\n", width - 1);
  } else if (kind == 'f' || kind == 'c') {
    ga__strbuf_addf(sb,
                    "  const SO_CODE sign = (SO_CODE)1 << %u;\n"
                    "  const SO_CODE code = (SO_CODE)raw, size = code & (sign - 1);\n"
                    "  if (size > %s) return ~(SO_CODE)0;\n"
                    "  return code & sign ? (sign - size) : code | sign;\n}\n",
                    width - 1, infinity_text(typecode));
  } else {
    ga__strbuf_add(sb, "  return (SO_CODE)raw;\n}\n");
  }
}

static void add_keys(ga_strbuf *sb, int typecode) {
  const unsigned int size = part_size(typecode);
  const bool pairs = is_complex(typecode);
  const char *name = pairs ? size == 4 ? "ga_uint2" : "ga_ulong2" : unsigned_name(size);
  ga__strbuf_addf(sb,
                  "#define SO_KEY %s\n#define SO_CODE %s\n#define SO_WIDTH %u\n"
                  "#define SO_ROOM %u\n",
                  name, size == 8 ? "ga_ulong" : "ga_uint", 8 * size,
                  ga__sort_room(typecode));
  add_encoding(sb, typecode);
  ga__strbuf_add(sb, pairs ? ga__sort_keys_complex : ga__sort_keys_scalar);
}

static void add_words(ga_strbuf *sb, const ga_sort_spec *spec) {
  const unsigned int value = (unsigned int)spec->value_size;
  ga__strbuf_add(sb, spec->kind == GA_SORT_SWEEP
                         ? "#define SO_KERNEL KERNEL_SIZED(SO_THREADS, 4)\n"
                     : spec->kind == GA_SORT_PICK && !spec->is_cpu
                         ? "#define SO_KERNEL KERNEL_OF(SO_PICK_WARPS * 32, 1)\n"
                         : "#define SO_KERNEL KERNEL\n");
  ga__strbuf_addf(sb,
                  "#define SO_BITS %d\n#define SO_RADIX %u\n#define SO_PASSES %u\n"
                  "#define SO_THREADS %d\n#define SO_WARPS %d\n#define SO_ITEMS %u\n"
                  "#define SO_TILE %u\n#define SO_LOOK 4\n#define SO_HAS_VALUES %d\n"
                  "#define SO_VALUE %s\n",
                  spec->bits, 1u << spec->bits, ga__sort_passes(spec), GA_SORT_THREADS,
                  GA_SORT_THREADS / 32, sweep_items(spec), ga__sort_tile(spec),
                  value > 0, value ? raw_name(value) : "ga_uint");
  ga__strbuf_add(sb, value == 4 || value == 8
                         ? "#define SO_INDEX(i) ((SO_VALUE)(i))\n"
                           "#define SO_NUMBER(value) (value)\n"
                         : "#define SO_INDEX(i) vin[0]\n#define SO_NUMBER(value) 0\n");
  ga__strbuf_add(sb, spec->is_large ? "#define SO_COUNT ga_ulong\n"
                                      "#define SO_PREFIX ((ga_ulong)2 << 62)\n"
                                      "#define SO_TOTAL ((ga_ulong)1 << 62)\n"
                                      "#define SO_ADD(p, v) atom_add_Lg(p, v)\n"
                                    : "#define SO_COUNT ga_uint\n"
                                      "#define SO_PREFIX (2u << 30)\n"
                                      "#define SO_TOTAL (1u << 30)\n"
                                      "#define SO_ADD(p, v) atom_add_Ig(p, v)\n");
  ga__strbuf_add(sb, spec->is_cpu
                         ? "#define SO_COUNT_LOCAL(x) (x)++\n"
                         : "#define SO_COUNT_LOCAL(x) atom_add_Il(&(x), 1u)\n");
}

/* Kernel text in which a line SO_BEGIN stands for what all have in common. */
static void add_body(ga_strbuf *sb, const char *text) {
  const char *at = strstr(text, "SO_BEGIN");
  ga__strbuf_addn(sb, text, (size_t)(at - text));
  ga__strbuf_add(sb, ga__sort_begin);
  ga__strbuf_add(sb, at + strlen("SO_BEGIN"));
}

static const char *stem_of(int kind) {
  static const char *const stems[] = {"sort_block", "sort_histogram", "sort_sweep",
                                      "sort_count", "sort_scatter",   "sort_select",
                                      "sort_pick"};
  return stems[kind];
}

static void add_pick(ga_strbuf *sb, const ga_sort_spec *spec) {
  ga__strbuf_add(sb, "#define SO_ALL (~(SO_CODE)0 >> (8 * sizeof(SO_CODE) - "
                     "SO_WIDTH))\n");
  if (spec->is_cpu) {
    ga__strbuf_addf(sb, "#define SO_HELD %d\n", GA_SORT_HELD);
    ga__strbuf_add(sb, ga__sort_head);
    add_body(sb, ga__sort_hold_begin);
    ga__strbuf_add(sb, ga__sort_hold_cut);
    ga__strbuf_add(sb, ga__sort_hold_end);
    return;
  }
  ga__strbuf_addf(
      sb, "#define SO_OWN %u\n#define SO_PICK_WARPS %d\n#define SO_RANKED %d\n",
      ga__sort_pick_items(spec->typecode), GA_SORT_PICK_THREADS / 32, GA_SORT_RANKED);
  ga__strbuf_add(sb, ga__sort_head);
  add_body(sb, ga__sort_pick_begin);
  ga__strbuf_add(sb, ga__sort_pick_place);
  ga__strbuf_add(sb, ga__sort_pick_end);
}

/* What a CPU sorts in local memory. */
static void add_slots(ga_strbuf *sb, int typecode) {
  const bool pairs = is_complex(typecode);
  ga__strbuf_add(sb, pairs                                ? ga__sort_slot_struct
                     : gpuarray_get_elsize(typecode) <= 4 ? ga__sort_slot_packed
                                                          : ga__sort_slot_coded);
  ga__strbuf_add(sb, pairs ? ga__sort_run_inserted : ga__sort_run_ranked);
}

static void add_kernel(ga_strbuf *sb, const ga_sort_spec *spec) {
  if (spec->kind == GA_SORT_BLOCK && spec->is_cpu)
    add_slots(sb, spec->typecode);
  if (spec->kind == GA_SORT_PICK) {
    add_pick(sb, spec);
    return;
  }
  ga__strbuf_add(sb, ga__sort_head);
  switch (spec->kind) {
  case GA_SORT_BLOCK:
    add_body(sb, spec->is_cpu ? ga__sort_merging : ga__sort_block);
    break;
  case GA_SORT_HISTOGRAM:
    add_body(sb, ga__sort_histogram);
    break;
  case GA_SORT_SWEEP:
    add_body(sb, ga__sort_sweep_begin);
    ga__strbuf_add(sb, ga__sort_sweep_count);
    ga__strbuf_add(sb, ga__sort_sweep_rank);
    ga__strbuf_add(sb, ga__sort_sweep_store);
    break;
  case GA_SORT_SELECT:
    add_body(sb, ga__sort_selection);
    break;
  default:
    add_body(sb, ga__sort_chunks_head);
    ga__strbuf_add(sb, spec->kind == GA_SORT_COUNT ? ga__sort_count_body
                                                   : ga__sort_scatter_body);
  }
}

int ga__sort_source(ga_source *out, const gpucontext *ctx, const void *spec_) {
  const ga_sort_spec *spec = spec_;
  ga_strbuf text = {0}, body = {0};
  (void)ctx;
  add_words(&text, spec);
  add_keys(&text, spec->typecode);
  add_kernel(&text, spec);
  ga__strbuf_add(&text, ga__sort_tail);
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, stem_of(spec->kind), text.text);
    const bool named = spec->kind == GA_SORT_BLOCK && spec->is_cpu &&
                       gpuarray_get_elsize(spec->typecode) > 4;
    ga__strbuf_addf(&body,
                    "#define SO_NAME %s\n#define SO_ENCODE %s_encode\n"
                    "#define SO_CLASS %s_class\n#define SO_DIGIT %s_digit\n"
                    "#define SO_BEFORE %s_before\n%s%s%s",
                    out->name, out->name, out->name, out->name, out->name,
                    named ? "#define SO_SLOT " : "", named ? out->name : "",
                    named ? "_slot\n" : "");
    ga__strbuf_add(&body, text.text);
    status = ga__strbuf_status(&body);
  }
  ga__strbuf_clear(&text);
  if (status != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return status;
  }
  out->body = body;
  return GA_NO_ERROR;
}
