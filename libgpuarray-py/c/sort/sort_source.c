/* Source generator of sort and top-k kernels: the macros for the files in kernels/. */
#include "c/sort/sort_source.h"

#include "c/base/dtype.h"
#include "c/program/kernel_text.h"
#include "c/sort/kernels/bitonic.inc"
#include "c/sort/kernels/histogram.inc"
#include "c/sort/kernels/merge.inc"
#include "c/sort/kernels/onesweep.inc"
#include "c/sort/kernels/radix_select.inc"
#include "c/sort/kernels/radix_select_cpu.inc"
#include "c/sort/kernels/scatter.inc"
#include "c/sort/kernels/select.inc"

/* ---- macros ---- */

static bool is_complex(int typecode) {
  return ga__dtype_kind(typecode) == 'c';
}

/* Bytes of a code: of a key, or of a complex key's part. */
static unsigned int part_size(int typecode) {
  return (unsigned int)gpuarray_get_elsize(typecode) / (is_complex(typecode) ? 2 : 1);
}

unsigned int ga__sort_passes(const ga_sort_spec *spec) {
  const unsigned int bits = (unsigned int)spec->bits;
  const unsigned int passes = (8 * part_size(spec->typecode) + bits - 1) / bits;
  return is_complex(spec->typecode) ? 2 * passes + 1 : passes;
}

/* Keys per item: a tile takes about 20 KiB of local memory, and fits in 64 registers
 * per item; a wide one takes 80 KiB, and 80 registers. */
static unsigned int sweep_items(const ga_sort_spec *spec) {
  const size_t size =
      gpuarray_get_elsize(spec->typecode) + (unsigned int)spec->value_size;
  if (spec->is_wide)
    return 18;
  if (size <= 4)
    return spec->value_size > 0 ? 15 : 25;
  return size <= 8 ? 13 : size <= 12 ? 9 : size <= 16 ? 7 : 4;
}

unsigned int ga__sort_sweep_threads(const ga_sort_spec *spec) {
  return spec->is_wide ? 384 : GA_SORT_THREADS;
}

unsigned int ga__sort_tile(const ga_sort_spec *spec) {
  return ga__sort_sweep_threads(spec) * sweep_items(spec);
}

static unsigned int keys_size(const ga_sort_spec *spec) {
  return (unsigned int)gpuarray_get_elsize(spec->typecode) * ga__sort_tile(spec);
}

unsigned int ga__sort_sweep_memory(const ga_sort_spec *spec) {
  const unsigned int values = (unsigned int)spec->value_size * ga__sort_tile(spec);
  const unsigned int counters = ga__sort_sweep_threads(spec) / 32 * 256 * 2;
  return keys_size(spec) + (values > counters ? values : counters);
}

unsigned int ga__sort_room(int typecode) {
  return gpuarray_get_elsize(typecode) <= 4 ? 2048 : 1024;
}

unsigned int ga__sort_pick_items(int typecode) {
  return gpuarray_get_elsize(typecode) <= 4 ? 16 : 8;
}

/* Bits of infinity, without the sign. */
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

static void add_keys(ga_strbuf *sb, int typecode) {
  const unsigned int size = part_size(typecode), width = 8 * size;
  const char kind = ga__dtype_kind(typecode);
  const bool pairs = kind == 'c';
  ga__strbuf_addf(sb,
                  "#define SO_KEY %s\n#define SO_PART %s\n#define SO_CODE %s\n"
                  "#define SO_WIDTH %u\n#define SO_SIGN %u\n#define SO_ROOM %u\n"
                  "#define SO_IS_COMPLEX %d\n#define SO_IS_FLOAT %d\n"
                  "#define SO_IS_SIGNED %d\n#define SO_IS_PACKED %d\n"
                  "#define SO_INFINITY %s\n",
                  !pairs      ? ga__dtype_word(size)
                  : size == 4 ? "ga_uint2"
                              : "ga_ulong2",
                  ga__dtype_word(size), size == 8 ? "ga_ulong" : "ga_uint", width,
                  width - 1, ga__sort_room(typecode), pairs, pairs || kind == 'f',
                  kind == 'i', gpuarray_get_elsize(typecode) <= 4,
                  infinity_text(typecode));
}

static void add_words(ga_strbuf *sb, const ga_sort_spec *spec) {
  const unsigned int value = (unsigned int)spec->value_size;
  const unsigned int threads =
      spec->kind == GA_SORT_SWEEP ? ga__sort_sweep_threads(spec) : GA_SORT_THREADS;
  ga__strbuf_addf(
      sb,
      "#define SO_KERNEL %s\n#define SO_BITS %d\n#define SO_RADIX %u\n"
      "#define SO_PASSES %u\n#define SO_THREADS %u\n#define SO_WARPS %u\n"
      "#define SO_ITEMS %u\n#define SO_TILE %u\n#define SO_LOOK 4\n"
      "#define SO_OWN %u\n#define SO_PICK_WARPS %d\n#define SO_RANKED %d\n"
      "#define SO_HELD %d\n#define SO_VALUE %s\n#define SO_HAS_VALUES %d\n"
      "#define SO_IS_INDEX %d\n#define SO_IS_LARGE %d\n"
      "#define SO_IS_CPU %d\n#define SO_SCATTERS %d\n"
      "#define SO_HAS_HALVES %d\n#define SO_KEYS_SIZE %u\n",
      spec->kind == GA_SORT_SWEEP ? (spec->is_wide ? "KERNEL_SIZED(SO_THREADS, 2)"
                                                   : "KERNEL_SIZED(SO_THREADS, 4)")
      : spec->kind == GA_SORT_PICK && !spec->is_cpu ? "KERNEL_OF(SO_PICK_WARPS * 32, 1)"
                                                    : "KERNEL",
      spec->bits, 1u << spec->bits, ga__sort_passes(spec), threads, threads / 32,
      sweep_items(spec), ga__sort_tile(spec), ga__sort_pick_items(spec->typecode),
      GA_SORT_PICK_THREADS / 32, GA_SORT_RANKED, GA_SORT_HELD,
      value ? ga__dtype_word(value) : "ga_uint", value > 0, value == 4 || value == 8,
      spec->is_large, spec->is_cpu, spec->kind == GA_SORT_SCATTER, value == 8,
      keys_size(spec));
}

int ga__sort_source(ga_source *out, const gpucontext *ctx, const void *spec_) {
  static const struct {
    const char *stem, *text, *cpu_text;
  } kernels[] = {
      [GA_SORT_BLOCK] = {"sort_block", bitonic_text, merge_text},
      [GA_SORT_HISTOGRAM] = {"sort_histogram", histogram_text, histogram_text},
      [GA_SORT_SWEEP] = {"sort_sweep", onesweep_text, onesweep_text},
      [GA_SORT_COUNT] = {"sort_count", scatter_text, scatter_text},
      [GA_SORT_SCATTER] = {"sort_scatter", scatter_text, scatter_text},
      [GA_SORT_SELECT] = {"sort_select", select_text, select_text},
      [GA_SORT_PICK] = {"sort_pick", radix_select_text, radix_select_cpu_text},
  };
  const ga_sort_spec *spec = spec_;
  const char *text = kernels[spec->kind].text, *cpu_text = kernels[spec->kind].cpu_text;
  ga_strbuf words = {0};
  (void)ctx;
  add_words(&words, spec);
  add_keys(&words, spec->typecode);
  ga__strbuf_add(&words, spec->is_cpu ? cpu_text : text);
  return ga__text_finish_named(
      out, kernels[spec->kind].stem, NULL,
      "#define SO_NAME %\n#define SO_ENCODE %_encode\n#define SO_CLASS %_class\n"
      "#define SO_DIGIT %_digit\n#define SO_BEFORE %_before\n#define SO_SLOT %_slot\n",
      &words);
}
