/* Kernels along rows: the form, the grid, the arguments. */
#include "c/reduce/rows.h"

#include <string.h>

#define BLOCK 256         /* work items of a block */
#define CACHED 8          /* elements of an item that the caches hold between walks */
#define REGISTERS 32      /* words that an item may keep */
#define FILE_WORDS 65536  /* registers of a multiprocessor */
#define MANY_ITEMS 2048   /* work items that keep a processor of a GPU busy */
#define MOST_BLOCKS 65536 /* of a grid; they have several tiles of rows each then */

typedef struct problem {
  const ga_rows_call *call;
  gpucontext *context;
  GpuArray *const *outs;
  const GpuArray *const *arrays;
  const long long *ints;
  unsigned int n_out, n_arrays, n_ints;
  size_t rows, length;
  bool is_unit;
} problem;

/* What the texts leave open; `kept` 0: nothing is kept. */
typedef struct form {
  enum ga_rows_text text;
  size_t kept, lanes, pack;
} form;

static size_t ceil_div(size_t a, size_t b) {
  return (a + b - 1) / b;
}

static unsigned int bit_length(size_t x) {
  unsigned int n = 0;
  for (; x > 0; x /= 2)
    n++;
  return n;
}

/* ---- what is given ---- */

static int fail_letters(const problem *p) {
  return GA_FAIL(GA_VALUE_ERROR,
                 "rows: %u arrays, %u integers and %u results for the arguments '%s' "
                 "and the results '%s'",
                 p->n_arrays, p->n_ints, p->n_out, p->call->arguments,
                 p->call->outputs);
}

static int check_letters(const problem *p) {
  const char *given = p->call->arguments, *made = p->call->outputs;
  unsigned int n_ints = 0;
  for (const char *letter = given; *letter != '\0'; letter++)
    n_ints += *letter == 'i';
  if (strspn(given, "CRVTSi") != strlen(given) || n_ints != p->n_ints ||
      strlen(given) - n_ints != p->n_arrays || strspn(made, "CR") != strlen(made) ||
      strlen(made) != p->n_out)
    return fail_letters(p);
  return GA_NO_ERROR;
}

/* The letter of each array, in order. */
static char next_letter(const char **at) {
  *at += strspn(*at, "i");
  return *(*at)++;
}

/* The rows and their length: those of the first matrix, or of a table that rows are
 * taken of by the numbers of a vector. */
static int find_domain(problem *p) {
  const char *at = p->call->arguments;
  const GpuArray *matrix = NULL, *vector = NULL, *table = NULL;
  for (unsigned int i = 0; i < p->n_arrays; i++) {
    const char letter = next_letter(&at);
    const GpuArray *a = p->arrays[i];
    if (letter == 'C' && a->nd == 2 && matrix == NULL)
      matrix = a;
    if (letter == 'R' && a->nd == 1 && vector == NULL)
      vector = a;
    if (letter == 'T' && a->nd == 2 && table == NULL)
      table = a;
  }
  if (matrix == NULL && (vector == NULL || table == NULL))
    return fail_letters(p);
  p->rows = matrix ? matrix->dimensions[0] : vector->dimensions[0];
  p->length = matrix ? matrix->dimensions[1] : table->dimensions[1];
  return GA_NO_ERROR;
}

static bool fits(const problem *p, const GpuArray *a, char letter) {
  switch (letter) {
  case 'C':
    return a->nd == 2 && a->dimensions[0] == p->rows && a->dimensions[1] == p->length;
  case 'R':
    return a->nd == 1 && a->dimensions[0] == p->rows;
  case 'V':
    return a->nd == 1 && a->dimensions[0] == p->length;
  case 'T':
    return a->nd == 2 && a->dimensions[1] == p->length;
  default:
    return ga__array_count(a) == 1;
  }
}

static bool is_walked(char letter) {
  return letter == 'C' || letter == 'V' || letter == 'T';
}

static int check_arrays(problem *p) {
  const char *at = p->call->arguments;
  p->is_unit = true;
  for (unsigned int i = 0; i < p->n_arrays; i++) {
    const GpuArray *a = p->arrays[i];
    const char letter = next_letter(&at);
    char text[GA_ARRAY_TEXT];
    if (!fits(p, a, letter))
      return GA_FAIL(GA_VALUE_ERROR,
                     "rows: input %u is %s, beside %zu rows of %zu (as '%c')", i,
                     ga__array_text(text, a), p->rows, p->length, letter);
    if (is_walked(letter) && p->length != 1)
      p->is_unit &= a->strides[a->nd - 1] == (ssize_t)gpuarray_get_elsize(a->typecode);
  }
  return GA_NO_ERROR;
}

/* ---- the form ---- */

/* The distance between the numbers of elements kept around one of them. */
static size_t step_of(size_t share) {
  const unsigned int bits = bit_length(share - 1);
  return bits > 4 ? (size_t)1 << (bits - 4) : 1;
}

/* How many elements each of some items keeps; 0: better none. */
static form kept_form(const problem *p) {
  const unsigned int words = p->call->words;
  for (size_t lanes = BLOCK; lanes <= 4 * BLOCK; lanes *= 2) {
    const size_t share = ceil_div(p->length, lanes);
    if (lanes > p->context->info.max_threads || words == 0 || share <= CACHED)
      break;
    const size_t step = step_of(share), kept = ceil_div(share, step) * step;
    if (kept <= REGISTERS / words)
      return (form){.kept = kept, .lanes = lanes, .pack = 1};
  }
  return (form){.pack = 1};
}

/* Whether all rows are whole packs, which begin where packs do. */
static bool lies_in_packs(const problem *p) {
  const char *at = p->call->arguments;
  bool is_packed = p->is_unit && p->length % GA_ROWS_PACK == 0;
  for (unsigned int i = 0; is_packed && i < p->n_arrays; i++) {
    const GpuArray *a = p->arrays[i];
    const char letter = next_letter(&at);
    const size_t size = GA_ROWS_PACK * gpuarray_get_elsize(a->typecode);
    if (letter == 'T')
      return false;
    if (is_walked(letter))
      is_packed =
          a->offset % size == 0 && (letter != 'C' || (size_t)a->strides[0] % size == 0);
  }
  return is_packed;
}

static bool has_text(const problem *p, enum ga_rows_text text) {
  return p->call->texts[text][0] != '\0';
}

static form plain_form(const problem *p) {
  const bool is_unit = p->is_unit && has_text(p, GA_ROWS_UNIT);
  return (form){.text = is_unit ? GA_ROWS_UNIT : GA_ROWS_ANY, .pack = 1};
}

static form choose_form(const problem *p) {
  form f = kept_form(p);
  const size_t whole = ceil_div(f.kept, GA_ROWS_PACK) * GA_ROWS_PACK;
  if (f.kept == 0)
    return plain_form(p);
  f.text = p->is_unit ? GA_ROWS_KEPT_UNIT : GA_ROWS_KEPT_ANY;
  if (whole * p->call->words <= REGISTERS && has_text(p, GA_ROWS_KEPT_PACKS) &&
      lies_in_packs(p))
    f = (form){GA_ROWS_KEPT_PACKS, whole, f.lanes, GA_ROWS_PACK};
  return has_text(p, f.text) ? f : plain_form(p);
}

/* ---- the kernel ---- */

/* The text with the words that begin with a dollar replaced. */
static int fill_in(ga_strbuf *out, const char *text, const char *name,
                   const ga_rows_call *call, const form *f) {
  const size_t step = f->kept ? step_of(f->kept) : 0;
  const size_t words = f->kept * call->words + REGISTERS;
  const size_t blocks = f->kept ? FILE_WORDS / (f->lanes * words) : 0;
  const struct {
    const char *word;
    size_t number;
  } numbers[] = {{"$kept", f->kept},
                 {"$sure", f->kept - (f->pack > step ? f->pack : step)},
                 {"$lanes", f->lanes},
                 {"$blocks", blocks > 0 ? blocks : 1}};
  const char *from = text;
  for (const char *at; (at = strchr(from, '$')) != NULL;) {
    ga__strbuf_addn(out, from, (size_t)(at - from));
    from = at + 1;
    if (strncmp(at, "$name", 5) == 0) {
      ga__strbuf_add(out, name);
      from = at + 5;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      const size_t size = strlen(numbers[i].word);
      if (strncmp(at, numbers[i].word, size) != 0)
        continue;
      ga__strbuf_addf(out, "%zu", numbers[i].number);
      from = at + size;
    }
  }
  ga__strbuf_add(out, from);
  return ga__strbuf_status(out);
}

static int write_source(ga_source *out, const ga_rows_call *call, const form *f) {
  const char *name = call->names[f->text];
  const int size = f->kept ? snprintf(out->name, sizeof out->name, "%sk%zux%zu", name,
                                      f->kept, f->lanes)
                           : snprintf(out->name, sizeof out->name, "%s", name);
  if (name[0] == '\0' || size < 0 || (size_t)size >= sizeof out->name)
    return GA_FAIL(GA_VALUE_ERROR, "rows: no name of a kernel: '%s'", name);
  GA_TRY(fill_in(&out->body, call->texts[f->text], out->name, call, f));
  out->is_closed = ga__kernel_is_closed(out->body.text);
  return GA_NO_ERROR;
}

int ga__rows_source(ga_source *out, const ga_rows_call *call) {
  return write_source(out, call, &(form){.text = GA_ROWS_UNIT, .pack = 1});
}

static int get_kernel(gpukernel **k, const problem *p, const form *f) {
  ga_source source = {0};
  int status = write_source(&source, p->call, f);
  if (status == GA_NO_ERROR)
    status = ga__kernel_get(k, p->context, &source);
  ga__strbuf_clear(&source.body);
  return status;
}

/* ---- the launch ---- */

/* How many items walk along a row, and how many rows a block has: of enough rows an
 * item has some elements; of few it has one, as far as that goes. */
static void choose_block(size_t *lanes, size_t *slots, const problem *p) {
  const ga_device_info *info = &p->context->info;
  const size_t whole = (size_t)1 << (bit_length(info->max_threads | 1) - 1);
  const size_t block = whole < BLOCK ? whole : BLOCK;
  const size_t busy = (size_t)MANY_ITEMS * info->processors;
  const bool is_many = p->rows > busy / (p->length ? p->length : 1);
  const size_t share = p->length / (is_many ? 8 : 1);
  const size_t wanted = p->length <= 32 ? p->length : share > 32 ? share : 32;
  *lanes = 1;
  while (*lanes < wanted && *lanes < block)
    *lanes *= 2;
  *slots = block / *lanes;
}

/* What the kernel is told of an array beside its place, by its letter. */
static void add_numbers(ga_args *args, const GpuArray *a, char letter) {
  if (letter == 'T')
    ga__args_i64(args, (int64_t)a->dimensions[0]);
  if (letter == 'C' || letter == 'T' || letter == 'R')
    ga__args_i64(args, a->strides[0]);
  if (is_walked(letter))
    ga__args_i64(args, a->strides[a->nd - 1]);
}

static int add_arguments(ga_args *args, const problem *p) {
  unsigned int n_arrays = 0, n_ints = 0;
  for (unsigned int i = 0; i < p->n_out; i++) {
    ga__args_buffer(args, p->outs[i]->data);
    ga__args_offset(args, p->outs[i]->data, p->outs[i]->offset);
  }
  for (const char *letter = p->call->arguments; *letter != '\0'; letter++) {
    if (*letter == 'i') {
      ga__args_i64(args, p->ints[n_ints++]);
      continue;
    }
    const GpuArray *a = p->arrays[n_arrays++];
    ga__args_input(args, a->data);
    ga__args_offset(args, a->data, a->offset);
    add_numbers(args, a, *letter);
  }
  if (p->call->operation[0] != '\0')
    GA_TRY(ga__args_report(args, p->context, p->call->operation));
  ga__args_i64(args, (int64_t)p->rows);
  ga__args_i32(args, (int32_t)p->length);
  return GA_NO_ERROR;
}

static int launch(const problem *p) {
  form f = choose_form(p);
  gpukernel *k;
  ga_args args = {0};
  GA_TRY(get_kernel(&k, p, &f));
  if (f.kept > 0 && !ga__kernel_takes(k, f.lanes)) { /* it has too many registers */
    f = plain_form(p);
    GA_TRY(get_kernel(&k, p, &f));
  }
  size_t lanes = f.lanes, slots = 1;
  if (f.kept == 0)
    choose_block(&lanes, &slots, p);
  while (f.kept == 0 && lanes * slots > 1 && !ga__kernel_takes(k, lanes * slots)) {
    size_t *larger = slots > 1 ? &slots : &lanes;
    *larger /= 2;
  }
  const size_t tiles = ceil_div(p->rows, slots);
  const size_t per_group = ceil_div(tiles, MOST_BLOCKS);
  GA_TRY(add_arguments(&args, p));
  ga__args_i64(&args, (int64_t)per_group);
  const ga_launch l = {.nd = 2,
                       .grid = {ceil_div(tiles, per_group), 1, 1},
                       .block = {lanes, slots, 1},
                       .n_args = args.n,
                       .args = args.list};
  return ga__kernel_launch(k, &l);
}

/* The array that a result takes over, if it lies as the result does; or NULL. */
static const GpuArray *overwritten(const problem *p, unsigned int i, int typecode,
                                   const size_t *dims) {
  const long long over = p->call->over[i];
  const GpuArray *a =
      over >= 0 && over < (long long)p->n_arrays ? p->arrays[over] : NULL;
  if (a == NULL || a->typecode != typecode || !GpuArray_ISWRITEABLE(a) ||
      !GpuArray_IS_C_CONTIGUOUS(a) || ga__array_count(a) != dims[0] * dims[1])
    return NULL;
  return a;
}

static int make_outputs(const problem *p, const int *typecodes) {
  for (unsigned int i = 0; i < p->n_out; i++) {
    const size_t dims[] = {p->rows, p->call->outputs[i] == 'C' ? p->length : 1};
    const GpuArray *over = overwritten(p, i, typecodes[i], dims);
    if (over != NULL)
      GA_TRY(GpuArray_reshape(p->outs[i], over, 2, dims, GA_C_ORDER, 1));
    else
      GA_TRY(GpuArray_empty(p->outs[i], p->context, typecodes[i], 2, dims, GA_C_ORDER));
  }
  return GA_NO_ERROR;
}

int ga__rows_run(GpuArray *const *outs, const int *typecodes, unsigned int n_out,
                 const GpuArray *const *arrays, unsigned int n_arrays,
                 const long long *ints, unsigned int n_ints, gpucontext *ctx,
                 const ga_rows_call *call) {
  problem p = {.call = call,
               .context = ctx,
               .outs = outs,
               .arrays = arrays,
               .ints = ints,
               .n_out = n_out,
               .n_arrays = n_arrays,
               .n_ints = n_ints};
  GA_TRY(check_letters(&p));
  GA_TRY(find_domain(&p));
  GA_TRY(check_arrays(&p));
  if (p.length > INT32_MAX - (1 << 20))
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "rows: %zu elements in a row, at most %d",
                   p.length, INT32_MAX - (1 << 20));
  int status = make_outputs(&p, typecodes);
  if (status == GA_NO_ERROR && p.rows > 0)
    status = launch(&p);
  for (unsigned int i = 0; status != GA_NO_ERROR && i < n_out; i++)
    GpuArray_clear(outs[i]);
  return status;
}
