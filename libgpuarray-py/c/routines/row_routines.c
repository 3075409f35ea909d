/* Row programs, and kernels of the program's own. */
#include "c/routines/calls.h"

#include "c/reduce/rows_call.h"
#include "c/routines/kernel_routine.h"

/* ---- row programs ---- */

/* A row program's texts: arguments, results, the operation of its indices, then a name
 * and a source for each form. */
typedef struct rows_texts {
  const char *names[GA_ROWS_TEXTS], *texts[GA_ROWS_TEXTS];
} rows_texts;

static ga_rows_call rows_call(rows_texts *t, const char *const *texts) {
  for (unsigned int i = 0; i < GA_ROWS_TEXTS; i++) {
    t->names[i] = texts[3 + 2 * i];
    t->texts[i] = texts[4 + 2 * i];
  }
  return (ga_rows_call){.arguments = texts[0],
                        .outputs = texts[1],
                        .operation = texts[2],
                        .names = t->names,
                        .texts = t->texts};
}

int ga__source_of_rows(ga_source *out, const char *const *texts) {
  rows_texts t;
  const ga_rows_call call = rows_call(&t, texts);
  return ga__rows_source(out, &call);
}

/* Parameters: the words of scratch, with totals the bytes of the folds, then for each
 * result the input that it overwrites. */
static int call_rows(ga_routine_call *c, bool has_totals, bool is_product) {
  enum { MOST = 64 }; /* results */
  const unsigned int n_arrays = count_arrays(c), n_own = has_totals ? 2 : 1;
  int typecodes[MOST];
  rows_texts t;
  ga_rows_call rows = rows_call(&t, c->texts);
  const bool has_over = c->n_params == n_own + c->n_out;
  const bool is_old = c->n_params == n_own && !has_totals; /* nothing is overwritten */
  if (c->n_out > MOST || !(has_over || is_old) || c->params[0] < 0 ||
      c->params[n_own - 1] < 0)
    return GA_FAIL(GA_VALUE_ERROR, "rows: %u results and %u parameters do not match",
                   c->n_out, c->n_params);
  for (unsigned int i = 0; i < c->n_out; i++)
    typecodes[i] = c->types[i].typecode;
  rows.words = (unsigned int)as_int(c->params[0]);
  rows.over = has_over ? c->params + n_own : NULL;
  rows.is_product = is_product;
  rows.totals.fold_bytes = has_totals ? (size_t)as_int(c->params[1]) : 0;
  const ga_rows_operands given = {.context = c->context,
                                  .outs = c->outs,
                                  .typecodes = typecodes,
                                  .arrays = c->ins,
                                  .ints = c->ints + n_arrays,
                                  .n_out = c->n_out,
                                  .n_arrays = n_arrays,
                                  .n_ints = c->n_in - n_arrays};
  return (has_totals ? ga__rows_totals : ga__rows_run)(&given, &rows);
}

int ga__run_rows(ga_routine_call *c) {
  return call_rows(c, false, false);
}

int ga__run_row_products(ga_routine_call *c) {
  return call_rows(c, false, true);
}

int ga__run_row_totals(ga_routine_call *c) {
  return call_rows(c, true, false);
}

/* The user's own kernel. It writes into its arrays; the first one is the result. */
int ga__run_kernel(ga_routine_call *c) {
  const unsigned int n_arrays = count_arrays(c);
  const ga_kernel_routine l = {.context = c->context,
                               .source = c->texts[0],
                               .name = c->texts[1],
                               .n_params = c->n_params,
                               .n_arrays = n_arrays,
                               .n_ints = c->n_in - n_arrays,
                               .params = c->params,
                               .ints = c->ints + n_arrays,
                               .arrays = c->ins};
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, ga__kernel_routine(&l));
}
