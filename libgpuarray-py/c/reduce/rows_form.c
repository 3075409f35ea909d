/* Specialization of row kernels: template, elements in registers, block size. */
#include "c/reduce/rows_form.h"

#include <string.h>

#define BLOCK 256          /* work items of a block */
#define MANY_ITEMS 2048    /* work items that fill a GPU's multiprocessor */
#define CACHED 8           /* elements of an item that the caches hold between passes */
#define REGISTERS 32       /* words of a row that an item keeps in registers */
#define FILE_WORDS 65536   /* registers of a multiprocessor */
#define MOST_REGISTERS 255 /* of an item */
#define OTHERS 38          /* registers beside an item's kept words */
#define FEWEST_ROWS 4      /* fewest rows per block that are worth its partial totals */
#define MOST_ROWS 1024     /* most rows folded serially, for accuracy */
#define PER_ITEM 8     /* elements of an item in a product: each repeats the epilogue */
#define SMALL_BLOCK 64 /* fewest work items of a block in a product */
#define LARGE (1 << 24) /* elements of a matrix left to the BLAS */
#define SHORT 2048      /* row length up to which it is not */
#define OWN_BYTES 1024  /* local memory that the device reserves for each block */

static unsigned int bit_length(size_t x) {
  unsigned int n = 0;
  for (; x > 0; x /= 2)
    n++;
  return n;
}

char ga__rows_letter(const char **at) {
  *at += strspn(*at, "i");
  return *(*at)++;
}

bool ga__rows_is_walked(char letter) {
  return letter == 'C' || letter == 'V' || letter == 'T';
}

/* ---- registers ---- */

/* Granularity of kept elements: about 1/16 of them, so that few kernels serve all
 * lengths. */
static size_t step_of(size_t share) {
  const unsigned int bits = bit_length(share - 1);
  return bits > 4 ? (size_t)1 << (bits - 4) : 1;
}

size_t ga__rows_sure(const ga_rows_form *f) {
  return f->kept > 0 ? f->kept - ga__larger(f->pack, step_of(f->kept)) : 0;
}

static bool has_totals(const ga_rows_call *call) {
  return call->totals.place_bytes > 0;
}

/* Words that an item keeps in registers from one pass or row to the next. */
static size_t own_words(const ga_rows_call *call, const ga_rows_form *f) {
  return f->kept * call->words + f->own * call->totals.words;
}

/* True if the registers suffice. With totals, a block walks many rows and low occupancy
 * does no harm, so an item may keep more. */
static bool has_registers(const ga_rows_call *call, const ga_rows_form *f) {
  if (f->own > 0)
    return own_words(call, f) + OTHERS <=
           ga__smaller(MOST_REGISTERS, FILE_WORDS / f->lanes);
  const bool is_fat = has_totals(call) && f->lanes * 4 * REGISTERS <= FILE_WORDS;
  return f->kept * call->words <= (is_fat ? 2 : 1) * REGISTERS;
}

/* Elements kept by each of `lanes` items; false where the caches hold a row, or the
 * block would be too large. */
static bool keep(ga_rows_form *f, const ga_rows_problem *p, size_t lanes, size_t pack) {
  const size_t share = ga__ceil_div(p->length, lanes);
  if (lanes > 4 * BLOCK || lanes > p->given.context->info.max_threads ||
      p->call->words == 0 || share <= CACHED)
    return false;
  const size_t step = step_of(share), kept = ga__ceil_div(share, step) * step;
  *f = (ga_rows_form){
      .kept = ga__ceil_div(kept, pack) * pack, .lanes = lanes, .pack = pack};
  return true;
}

/* The smallest block whose registers hold a row; kept = 0 if there is none. */
static ga_rows_form kept_form(const ga_rows_problem *p) {
  ga_rows_form f;
  for (size_t lanes = BLOCK; keep(&f, p, lanes, 1); lanes *= 2)
    if (has_registers(p->call, &f))
      return f;
  return (ga_rows_form){.pack = 1};
}

/* ---- layout ---- */

/* True if rows are whole, aligned vectors. */
static bool lies_in_packs(const ga_rows_problem *p) {
  const char *at = p->call->arguments;
  bool is_packed = p->is_unit && p->length % GA_ROWS_PACK == 0;
  for (unsigned int i = 0; is_packed && i < p->given.n_arrays; i++) {
    const GpuArray *a = p->given.arrays[i];
    const char letter = ga__rows_letter(&at);
    const size_t size = GA_ROWS_PACK * gpuarray_get_elsize(a->typecode);
    if (letter == 'T')
      return false;
    if (ga__rows_is_walked(letter))
      is_packed =
          a->offset % size == 0 && (letter != 'C' || (size_t)a->strides[0] % size == 0);
  }
  return is_packed;
}

static bool has_text(const ga_rows_problem *p, enum ga_rows_text text) {
  return p->call->texts[text][0] != '\0';
}

/* ---- without totals ---- */

ga_rows_form ga__rows_plain(const ga_rows_problem *p) {
  const bool is_unit = p->is_unit && has_text(p, GA_ROWS_UNIT);
  return (ga_rows_form){.text = is_unit ? GA_ROWS_UNIT : GA_ROWS_ANY, .pack = 1};
}

ga_rows_form ga__rows_choose(const ga_rows_problem *p) {
  ga_rows_form f = kept_form(p), packs;
  if (f.kept == 0)
    return ga__rows_plain(p);
  f.text = p->is_unit ? GA_ROWS_KEPT_UNIT : GA_ROWS_KEPT_ANY;
  if (has_text(p, GA_ROWS_KEPT_PACKS) && lies_in_packs(p) &&
      keep(&packs, p, f.lanes, GA_ROWS_PACK) && has_registers(p->call, &packs)) {
    f = packs;
    f.text = GA_ROWS_KEPT_PACKS;
  }
  return has_text(p, f.text) ? f : ga__rows_plain(p);
}

size_t ga__rows_blocks_at_once(const ga_rows_call *call, const ga_rows_form *f) {
  if (f->kept == 0)
    return 1;
  const size_t more = has_totals(call) ? 2 * REGISTERS : REGISTERS;
  return ga__larger(1, FILE_WORDS / (f->lanes * (own_words(call, f) + more)));
}

/* Block size: a power of two that the device supports. */
static size_t whole_block(const ga_rows_problem *p) {
  const size_t most = p->given.context->info.max_threads | 1;
  return ga__smaller(BLOCK, (size_t)1 << (bit_length(most) - 1));
}

/* With enough rows an item takes several elements, else one if possible. */
static size_t items_of_row(const ga_rows_problem *p) {
  const size_t busy = (size_t)MANY_ITEMS * p->given.context->info.processors;
  const bool is_many = p->rows > busy / ga__larger(p->length, 1);
  return p->length <= 32 ? p->length : ga__larger(32, p->length / (is_many ? 8 : 1));
}

void ga__rows_choose_block(size_t *lanes, size_t *slots, const ga_rows_problem *p) {
  const size_t block = whole_block(p);
  const bool is_product = p->call->is_product;
  const size_t wanted =
      is_product ? ga__ceil_div(p->length, PER_ITEM) : items_of_row(p);
  *lanes = 1;
  while (*lanes < wanted && *lanes < block)
    *lanes *= 2;
  *slots = block / *lanes;
  while (is_product && *slots > 1 && *lanes * *slots > SMALL_BLOCK &&
         p->rows < *slots * p->given.context->info.processors)
    *slots /= 2;
}

/* ---- products ---- */

bool ga__rows_suits_product(const ga_rows_problem *p) {
  const char *at = p->call->arguments;
  unsigned int i = 0;
  while (i < p->given.n_arrays && ga__rows_letter(&at) != 'C')
    i++;
  if (i == p->given.n_arrays)
    return false;
  const GpuArray *a = p->given.arrays[i];
  const bool is_unit =
      p->length == 1 || a->strides[1] == (ssize_t)gpuarray_get_elsize(a->typecode);
  return is_unit && (p->length <= SHORT || ga__array_count(a) <= LARGE);
}

/* ---- with totals ---- */

size_t ga__rows_local_bytes(const ga_rows_call *call, const ga_rows_form *f,
                            size_t length) {
  const size_t places = f->own < f->kept ? length - f->own * f->lanes : 0;
  return places * call->totals.place_bytes;
}

/* Elements of an item with totals in registers: those for which local memory has no
 * room beside the fold's. */
static size_t own_elements(const ga_rows_problem *p, const ga_rows_form *f) {
  const ga_rows_totals *totals = &p->call->totals;
  const size_t taken = OWN_BYTES + f->lanes * totals->fold_bytes;
  const size_t memory = p->given.context->info.local_memory;
  const size_t places = memory > taken ? (memory - taken) / totals->place_bytes : 0;
  const size_t left = p->length > places ? p->length - places : 0;
  const size_t own = ga__ceil_div(left, f->lanes * f->pack) * f->pack;
  return own <= ga__rows_sure(f) ? own : f->kept;
}

/* False where no block has room for the totals. */
static bool find_totals(ga_rows_form *f, const ga_rows_problem *p) {
  const bool packs = has_text(p, GA_ROWS_KEPT_PACKS) && lies_in_packs(p);
  for (size_t lanes = BLOCK; keep(f, p, lanes, 1); lanes *= 2)
    for (size_t pack = packs ? GA_ROWS_PACK : 1; pack > 0; pack /= GA_ROWS_PACK) {
      keep(f, p, lanes, pack);
      f->own = own_elements(p, f);
      f->text = pack > 1     ? GA_ROWS_KEPT_PACKS
                : p->is_unit ? GA_ROWS_KEPT_UNIT
                             : GA_ROWS_KEPT_ANY;
      if (has_registers(p->call, f))
        return true;
    }
  return false;
}

size_t ga__rows_choose_totals(ga_rows_form *f, const ga_rows_problem *p) {
  const ga_device_info *info = &p->given.context->info;
  if (kept_form(p).kept == 0 || !find_totals(f, p))
    return 0;
  const size_t size = ga__rows_local_bytes(p->call, f, p->length) + OWN_BYTES;
  const size_t resident =
      ga__smaller(ga__rows_blocks_at_once(p->call, f), info->local_memory / size);
  const size_t blocks = ga__larger(ga__larger(1, resident) * info->processors,
                                   ga__ceil_div(p->rows, MOST_ROWS));
  return p->rows >= FEWEST_ROWS * blocks ? blocks : 0;
}
