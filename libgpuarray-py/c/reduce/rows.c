/* Launches row kernels: arguments, specialization, grid. */
#include "c/reduce/rows_call.h"

#include <string.h>

#include "c/reduce/rows_form.h"

#define MOST_BLOCKS 65536 /* of a grid; beyond, a block loops over tiles of rows */

typedef ga_rows_problem problem;
typedef ga_rows_form form;

/* ---- inputs ---- */

static int fail_letters(const problem *p) {
  return GA_FAIL(GA_VALUE_ERROR,
                 "rows: got %u arrays, %u integers and %u results, expected the "
                 "arguments '%s' and the results '%s'",
                 p->given.n_arrays, p->given.n_ints, p->given.n_out, p->call->arguments,
                 p->call->outputs);
}

static int check_letters(const problem *p) {
  const char *arguments = p->call->arguments, *outputs = p->call->outputs;
  unsigned int n_ints = 0;
  for (const char *letter = arguments; *letter != '\0'; letter++)
    n_ints += *letter == 'i';
  if (strspn(arguments, "CRVTSi") != strlen(arguments) || n_ints != p->given.n_ints ||
      strlen(arguments) - n_ints != p->given.n_arrays ||
      strspn(outputs, "CR") + strspn(outputs + strspn(outputs, "CR"), "P") !=
          strlen(outputs) ||
      strlen(outputs) != p->given.n_out)
    return fail_letters(p);
  return GA_NO_ERROR;
}

/* The number of rows and their length: of the first matrix, else of a table that a
 * vector of row numbers gathers from, else a vector's elements are rows of length 1. */
static int find_domain(problem *p) {
  const char *at = p->call->arguments;
  const GpuArray *matrix = NULL, *vector = NULL, *table = NULL;
  for (unsigned int i = 0; i < p->given.n_arrays; i++) {
    const char letter = ga__rows_letter(&at);
    const GpuArray *a = p->given.arrays[i];
    if (letter == 'C' && a->nd == 2 && matrix == NULL)
      matrix = a;
    if (letter == 'R' && a->nd == 1 && vector == NULL)
      vector = a;
    if (letter == 'T' && a->nd == 2 && table == NULL)
      table = a;
  }
  if (matrix == NULL && vector == NULL)
    return fail_letters(p);
  p->rows = matrix ? matrix->dimensions[0] : vector->dimensions[0];
  p->length = matrix ? matrix->dimensions[1] : table ? table->dimensions[1] : 1;
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

static int check_arrays(problem *p) {
  const char *at = p->call->arguments;
  p->is_unit = true;
  for (unsigned int i = 0; i < p->given.n_arrays; i++) {
    const GpuArray *a = p->given.arrays[i];
    const char letter = ga__rows_letter(&at);
    char text[GA_ARRAY_TEXT];
    if (!fits(p, a, letter))
      return GA_FAIL(GA_VALUE_ERROR,
                     "rows: input %u is %s, which does not match %zu rows of %zu "
                     "elements (letter '%c')",
                     i, ga__array_text(text, a), p->rows, p->length, letter);
    if (ga__rows_is_walked(letter) && p->length != 1)
      p->is_unit &= a->strides[a->nd - 1] == (ssize_t)gpuarray_get_elsize(a->typecode);
  }
  return GA_NO_ERROR;
}

/* ---- the kernel ---- */

/* Instantiates the template: replaces its words that begin with a dollar. */
static int fill_in(ga_strbuf *out, const char *text, const char *name,
                   const ga_rows_call *call, const form *f) {
  const struct {
    const char *word;
    size_t number;
  } numbers[] = {{"$kept", f->kept},
                 {"$sure", ga__rows_sure(f)},
                 {"$lanes", f->lanes},
                 {"$own", f->own},
                 {"$blocks", ga__rows_blocks_at_once(call, f)}};
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
  char own[24] = "", kept[64] = "";
  if (call->totals.place_bytes > 0)
    snprintf(own, sizeof own, "o%zu", f->own);
  if (f->kept > 0)
    snprintf(kept, sizeof kept, "k%zux%zu%s", f->kept, f->lanes, own);
  const int size = snprintf(out->name, sizeof out->name, "%s%s", name, kept);
  if (name[0] == '\0' || size < 0 || (size_t)size >= sizeof out->name)
    return GA_FAIL(GA_VALUE_ERROR,
                   "rows: '%s' is empty or too long for a kernel's name", name);
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
  GA_THEN(status, ga__kernel_get(k, p->given.context, &source));
  ga__strbuf_clear(&source.body);
  return status;
}

/* ---- the launch ---- */

/* Size and strides of an array, by its letter. */
static void add_numbers(ga_args *args, const GpuArray *a, char letter) {
  if (letter == 'T')
    ga__args_i64(args, (int64_t)a->dimensions[0]);
  if (letter == 'C' || letter == 'T' || letter == 'R')
    ga__args_i64(args, a->strides[0]);
  if (ga__rows_is_walked(letter))
    ga__args_i64(args, a->strides[a->nd - 1]);
}

/* The number of row results, before the totals. */
static unsigned int count_rows(const problem *p) {
  return (unsigned int)strcspn(p->call->outputs, "P");
}

static void add_outputs(ga_args *args, const problem *p, unsigned int from,
                        unsigned int to) {
  for (unsigned int i = from; i < to; i++) {
    ga__args_pointer(args, p->given.outs[i]->data, p->given.outs[i]->offset, false);
  }
}

static int add_arguments(ga_args *args, const problem *p) {
  unsigned int n_arrays = 0, n_ints = 0;
  add_outputs(args, p, 0, count_rows(p));
  for (const char *letter = p->call->arguments; *letter != '\0'; letter++) {
    if (*letter == 'i') {
      ga__args_i64(args, p->given.ints[n_ints++]);
      continue;
    }
    const GpuArray *a = p->given.arrays[n_arrays++];
    ga__args_pointer(args, a->data, a->offset, true);
    add_numbers(args, a, *letter);
  }
  if (p->call->operation[0] != '\0')
    GA_TRY(ga__args_report(args, p->given.context, p->call->operation));
  ga__args_i64(args, (int64_t)p->rows);
  ga__args_i32(args, (int32_t)p->length);
  return GA_NO_ERROR;
}

static int launch(const problem *p) {
  form f = ga__rows_choose(p);
  gpukernel *k;
  ga_args args = {0};
  GA_TRY(get_kernel(&k, p, &f));
  if (f.kept > 0 && !ga__kernel_takes(k, f.lanes)) { /* too many registers */
    f = ga__rows_plain(p);
    GA_TRY(get_kernel(&k, p, &f));
  }
  size_t lanes = f.lanes, slots = 1;
  if (f.kept == 0)
    ga__rows_choose_block(&lanes, &slots, p);
  while (f.kept == 0 && lanes * slots > 1 && !ga__kernel_takes(k, lanes * slots)) {
    size_t *larger = slots > 1 ? &slots : &lanes;
    *larger /= 2;
  }
  const size_t tiles = ga__ceil_div(p->rows, slots);
  const size_t per_group = ga__ceil_div(tiles, MOST_BLOCKS);
  GA_TRY(add_arguments(&args, p));
  ga__args_i64(&args, (int64_t)per_group);
  const ga_launch l = {.nd = 2,
                       .grid = {ga__ceil_div(tiles, per_group), 1, 1},
                       .block = {lanes, slots, 1},
                       .work = p->rows * p->length,
                       .n_args = args.n,
                       .args = args.list};
  return ga__kernel_launch(k, &l);
}

/* The input that a result overwrites in place, if its layout is the result's; else
 * NULL. */
static const GpuArray *overwritten(const problem *p, unsigned int i, int typecode,
                                   const size_t *dims) {
  const long long over = p->call->over ? p->call->over[i] : -1;
  const GpuArray *a =
      over >= 0 && over < (long long)p->given.n_arrays ? p->given.arrays[over] : NULL;
  if (a == NULL || a->typecode != typecode || !GpuArray_ISWRITEABLE(a) ||
      !GpuArray_IS_C_CONTIGUOUS(a) || ga__array_count(a) != dims[0] * dims[1])
    return NULL;
  return a;
}

/* Totals have a row per block. */
static int make_outputs(const problem *p, size_t rows, size_t blocks) {
  for (unsigned int i = 0; i < p->given.n_out; i++) {
    const char letter = p->call->outputs[i];
    const size_t dims[] = {letter == 'P' ? blocks : rows,
                           letter == 'R' ? 1 : p->length};
    const GpuArray *over = overwritten(p, i, p->given.typecodes[i], dims);
    if (over != NULL)
      GA_TRY(GpuArray_reshape(p->given.outs[i], over, 2, dims, GA_C_ORDER, 1));
    else
      GA_TRY(GpuArray_empty(p->given.outs[i], p->given.context, p->given.typecodes[i],
                            2, dims, GA_C_ORDER));
  }
  return GA_NO_ERROR;
}

/* Checks the inputs against the letters and sets the sizes. */
static int open_problem(problem *p) {
  GA_TRY(check_letters(p));
  GA_TRY(find_domain(p));
  GA_TRY(check_arrays(p));
  if (p->length > INT32_MAX - (1 << 20))
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "rows: got %zu elements in a row, expected at most %d", p->length,
                   INT32_MAX - (1 << 20));
  return GA_NO_ERROR;
}

/* Clears the results where computing them failed. */
static int or_clear(const problem *p, int status) {
  for (unsigned int i = 0; status != GA_NO_ERROR && i < p->given.n_out; i++)
    GpuArray_clear(p->given.outs[i]);
  return status;
}

int ga__rows_run(const ga_rows_operands *given, const ga_rows_call *call) {
  problem p = {.call = call, .given = *given};
  GA_TRY(open_problem(&p));
  const size_t rows = call->is_product && !ga__rows_suits_product(&p) ? 0 : p.rows;
  int status = make_outputs(&p, rows, 0);
  if (status == GA_NO_ERROR && rows > 0)
    status = launch(&p);
  return or_clear(&p, status);
}

/* ---- totals ---- */

static int launch_totals(const problem *p, gpukernel *k, const form *f, size_t blocks) {
  ga_args args = {0};
  GA_TRY(add_arguments(&args, p));
  add_outputs(&args, p, count_rows(p), p->given.n_out);
  const ga_launch l = {.nd = 2,
                       .grid = {blocks, 1, 1},
                       .block = {f->lanes, 1, 1},
                       .shared = ga__rows_local_bytes(p->call, f, p->length),
                       .work = p->rows * p->length,
                       .n_args = args.n,
                       .args = args.list};
  return ga__kernel_launch(k, &l);
}

/* Bytes and words of the totals of one column. */
static ga_rows_totals totals_of(const problem *p) {
  ga_rows_totals totals = {.fold_bytes = p->call->totals.fold_bytes};
  for (unsigned int i = count_rows(p); i < p->given.n_out; i++) {
    const size_t size = gpuarray_get_elsize(p->given.typecodes[i]);
    totals.place_bytes += size;
    totals.words += ga__ceil_div(size, 4);
  }
  return totals;
}

int ga__rows_totals(const ga_rows_operands *given, const ga_rows_call *call) {
  ga_rows_call own = *call;
  problem p = {.call = &own, .given = *given};
  form f;
  gpukernel *k = NULL;
  GA_TRY(open_problem(&p));
  own.totals = totals_of(&p);
  if (own.totals.place_bytes == 0)
    return fail_letters(&p);
  size_t blocks = ga__rows_choose_totals(&f, &p);
  if (blocks > 0) {
    GA_TRY(get_kernel(&k, &p, &f));
    blocks = ga__kernel_takes(k, f.lanes) ? blocks : 0;
  }
  int status = make_outputs(&p, blocks > 0 ? p.rows : 0, blocks);
  if (status == GA_NO_ERROR && blocks > 0)
    status = launch_totals(&p, k, &f, blocks);
  return or_clear(&p, status);
}
