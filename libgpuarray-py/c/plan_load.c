/* Reads a plan from a file by building it again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "c/array.h"
#include "c/hash.h"
#include "c/plan.h"
#include "c/plan_file.h"
#include "c/reduce_source.h"

static int system_fail(const char *what, const char *path) {
  return GA_FAIL(GA_SYS_ERROR, "plan: %s %s: %s", what, path, strerror(errno));
}

/* What is left of a body. Once something does not fit, everything reads as 0. */
typedef struct reader {
  const char *at;
  size_t left;
  bool failed;
} reader;

static const char *take(reader *r, size_t size) {
  if (size > r->left) {
    r->failed = true;
    r->left = 0;
    return NULL;
  }
  const char *bytes = r->at;
  r->at += size;
  r->left -= size;
  return bytes;
}

static uint64_t get_int(reader *r) {
  uint64_t value = 0;
  const char *bytes = take(r, 8);
  for (int i = 0; bytes && i < 8; i++)
    value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
  return value;
}

/* A number that must be at most `most`. */
static unsigned int get_uint(reader *r, unsigned int most) {
  uint64_t value = get_int(r);
  if (value > most)
    r->failed = true;
  return r->failed ? 0 : (unsigned int)value;
}

static double get_double(reader *r) {
  uint64_t word = get_int(r);
  double value;
  memcpy(&value, &word, sizeof value);
  return value;
}

/* A copy that `texts` owns, or NULL; texts in the body have no end mark. */
typedef struct texts {
  char **list;
  unsigned int n;
} texts;

static const char *get_text(reader *r, texts *owned) {
  uint64_t size = get_int(r);
  if (size == 0)
    return NULL;
  const char *bytes = take(r, size - 1);
  char *copy = bytes ? ga__alloc(size, 1) : NULL;
  char **list =
      copy ? ga__realloc(owned->list, owned->n + 1, sizeof *owned->list) : NULL;
  if (list == NULL) {
    r->failed = true;
    ga__free(copy);
    return NULL;
  }
  memcpy(copy, bytes, size - 1);
  owned->list = list;
  owned->list[owned->n++] = copy;
  return copy;
}

static void free_texts(texts *owned) {
  for (unsigned int i = 0; i < owned->n; i++)
    ga__free(owned->list[i]);
  ga__free(owned->list);
}

static int malformed(void) {
  return GA_FAIL(GA_VALUE_ERROR, "plan load: the file's content makes no plan");
}

/* The lists of a step, of as many entries as any step may have. */
#define MAX_VALUES GA_MAX_ARGS
typedef struct step_data {
  enum ga_step_kind kind;
  const char *label;
  unsigned int n_in, n_out;
  unsigned int ins[MAX_VALUES], outs[MAX_VALUES], stretch[MAX_VALUES];
  int inplace[MAX_VALUES];
  gpuelemwise_arg args[2 * MAX_VALUES];
} step_data;

static void get_uints(reader *r, unsigned int *list, unsigned int n) {
  for (unsigned int i = 0; i < n; i++)
    list[i] = get_uint(r, UINT32_MAX);
}

static void get_args(reader *r, texts *owned, gpuelemwise_arg *args, unsigned int n) {
  for (unsigned int i = 0; i < n; i++) {
    args[i].name = get_text(r, owned);
    args[i].typecode = (int)get_uint(r, GA_NBASE);
    args[i].flags = (int)get_uint(r, GE_SCALAR | GE_READ | GE_WRITE);
    if (args[i].name == NULL)
      r->failed = true;
  }
}

/* An index of an input of the step, or -1. */
static int get_place(reader *r, unsigned int n_in) {
  int64_t place = (int64_t)get_int(r);
  if (place < -1 || place >= (int64_t)n_in)
    r->failed = true;
  return r->failed ? -1 : (int)place;
}

static int read_elemwise(GpuPlan *p, reader *r, texts *owned, step_data *d) {
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = d->label,
                           .preamble = get_text(r, owned),
                           .expr = get_text(r, owned),
                           .n_out = d->n_out,
                           .out_args = d->args,
                           .inplace = d->inplace,
                           .n_in = d->n_in,
                           .in_args = d->args + d->n_out,
                           .ins = d->ins,
                           .stretch = d->stretch};
  get_args(r, owned, d->args, d->n_out + d->n_in);
  get_uints(r, d->stretch, d->n_in);
  for (unsigned int i = 0; i < d->n_out; i++)
    d->inplace[i] = get_place(r, d->n_in);
  return r->failed || step.expr == NULL ? malformed()
                                        : GpuPlan_elemwise(p, d->outs, &step);
}

static int read_reduce(GpuPlan *p, reader *r, texts *owned, step_data *d) {
  gpureduction_component components[GA_REDUCE_VALUES];
  gpureduction_result results[GA_REDUCE_VALUES];
  gpureduction_spec spec = {.size = sizeof spec,
                            .n = d->n_in,
                            .inputs = d->args,
                            .components = components,
                            .results = results};
  unsigned int axes = get_uint(r, UINT32_MAX);
  spec.preamble = get_text(r, owned);
  spec.prologue = get_text(r, owned);
  spec.map = get_text(r, owned);
  spec.combine = get_text(r, owned);
  spec.identity = get_text(r, owned);
  spec.acc_typecode = (int)get_uint(r, GA_NBASE);
  spec.out_typecode = (int)get_uint(r, GA_NBASE);
  spec.epilogue = get_text(r, owned);
  spec.flags = get_uint(r, UINT32_MAX);
  spec.n_components = get_uint(r, GA_REDUCE_VALUES);
  for (unsigned int i = 0; i < spec.n_components; i++) {
    components[i].map = get_text(r, owned);
    components[i].combine = get_text(r, owned);
    components[i].identity = get_text(r, owned);
    components[i].typecode = (int)get_uint(r, GA_NBASE);
  }
  spec.n_results = get_uint(r, GA_REDUCE_VALUES);
  for (unsigned int i = 0; i < spec.n_results; i++) {
    results[i].epilogue = get_text(r, owned);
    results[i].typecode = (int)get_uint(r, GA_NBASE);
  }
  get_args(r, owned, d->args, d->n_in);
  get_uints(r, d->stretch, d->n_in);
  return r->failed
             ? malformed()
             : GpuPlan_reduce(p, d->outs, d->label, &spec, d->ins, d->stretch, axes);
}

static int read_product(GpuPlan *p, reader *r, const step_data *d, unsigned int *out) {
  double alpha = get_double(r), beta = get_double(r);
  cb_transpose ta = (cb_transpose)get_uint(r, cb_conj_trans);
  cb_transpose tb = (cb_transpose)get_uint(r, cb_conj_trans);
  int inplace = (int)get_uint(r, 1);
  unsigned int added = d->n_in == 3 ? d->ins[2] : 0;
  if (r->failed || d->n_in < 2)
    return malformed();
  if (d->kind == GA_STEP_GEMV)
    return GpuPlan_gemv(p, out, d->label, alpha, d->ins[0], ta, d->ins[1], beta, added,
                        inplace);
  return GpuPlan_gemm(p, out, d->label, alpha, d->ins[0], ta, d->ins[1], tb, beta,
                      added, inplace);
}

static int read_dimshuffle(GpuPlan *p, reader *r, const step_data *d,
                           unsigned int *out) {
  int pattern[GA_MAX_NDIM];
  unsigned int nd = get_uint(r, GA_MAX_NDIM);
  for (unsigned int i = 0; i < nd; i++)
    pattern[i] = get_place(r, GA_MAX_NDIM);
  return r->failed ? malformed()
                   : GpuPlan_dimshuffle(p, out, d->label, d->ins[0], nd, pattern);
}

/* How many inputs a step of this kind has at least. */
static unsigned int least_inputs(enum ga_step_kind kind) {
  return kind == GA_STEP_INT ? 0 : kind == GA_STEP_INT_OP ? 2 : 1;
}

static int build_step(GpuPlan *p, reader *r, texts *owned, step_data *d) {
  unsigned int *out = d->outs;
  switch (d->kind) {
  case GA_STEP_INT:
    return GpuPlan_int(p, out, (long long)get_int(r));
  case GA_STEP_DIM:
    return GpuPlan_dim(p, out, d->ins[0], get_uint(r, GA_MAX_NDIM));
  case GA_STEP_INT_OP:
    return GpuPlan_int_op(p, out, (int)get_uint(r, GP_INT_CAST), d->ins[0], d->ins[1]);
  case GA_STEP_ELEMWISE:
    return read_elemwise(p, r, owned, d);
  case GA_STEP_REDUCE:
    return read_reduce(p, r, owned, d);
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    return read_product(p, r, d, out);
  case GA_STEP_DIMSHUFFLE:
    return read_dimshuffle(p, r, d, out);
  case GA_STEP_RESHAPE:
    return GpuPlan_reshape(p, out, d->label, d->ins[0], d->n_in - 1, d->ins + 1);
  case GA_STEP_BROADCAST:
    return GpuPlan_broadcast(p, out, d->label, d->ins[0], d->n_in - 1, d->ins + 1);
  case GA_STEP_COPY:
    return GpuPlan_copy(p, out, d->label, d->ins[0]);
  case GA_STEP_FUNCTION:
    break;
  }
  return malformed();
}

static int read_step(GpuPlan *p, reader *r) {
  step_data *d = ga__alloc(1, sizeof *d);
  texts owned = {0};
  if (d == NULL)
    return GA_MEMORY_ERROR;
  d->kind = (enum ga_step_kind)get_uint(r, GA_STEP_COPY);
  d->label = get_text(r, &owned);
  d->n_in = get_uint(r, MAX_VALUES);
  get_uints(r, d->ins, d->n_in);
  d->n_out = get_uint(r, MAX_VALUES);
  bool fits =
      !r->failed && d->label && d->n_out > 0 && d->n_in >= least_inputs(d->kind);
  int status = fits ? build_step(p, r, &owned, d) : malformed();
  free_texts(&owned);
  ga__free(d);
  return status;
}

static int read_constant(GpuPlan *p, reader *r) {
  size_t dims[GA_MAX_NDIM], size;
  unsigned int value;
  int typecode = (int)get_uint(r, GA_NBASE);
  unsigned int nd = get_uint(r, GA_MAX_NDIM);
  for (unsigned int i = 0; i < nd; i++)
    dims[i] = get_int(r);
  GpuArray a;
  if (r->failed)
    return malformed();
  GA_TRY(ga__shape_count(&size, nd, dims));
  size_t itemsize = gpuarray_get_elsize(typecode);
  const char *bytes = size > r->left ? NULL : take(r, size * itemsize);
  if (bytes == NULL)
    return malformed();
  GA_TRY(GpuArray_copy_from_host(&a, p->context, bytes, typecode, nd, dims, NULL));
  int status = GpuPlan_constant(p, &value, &a);
  GpuArray_clear(&a);
  return status;
}

static int read_outputs(GpuPlan *p, reader *r) {
  unsigned int n = get_uint(r, UINT32_MAX);
  for (unsigned int i = 0; i < n; i++) {
    unsigned int value = get_uint(r, UINT32_MAX);
    if (r->failed)
      return malformed();
    GA_TRY(GpuPlan_output(p, value));
  }
  return r->failed || r->left != 0 ? malformed() : GA_NO_ERROR;
}

static int read_values(GpuPlan *p, reader *r) {
  for (;;) {
    unsigned int value, what = get_uint(r, GA_PLAN_INT_INPUT);
    if (r->failed)
      return malformed();
    if (what == GA_PLAN_END)
      return read_outputs(p, r);
    if (what == GA_PLAN_STEP)
      GA_TRY(read_step(p, r));
    else if (what == GA_PLAN_CONSTANT)
      GA_TRY(read_constant(p, r));
    else if (what == GA_PLAN_INT_INPUT)
      GA_TRY(GpuPlan_int_input(p, &value));
    else {
      int typecode = (int)get_uint(r, GA_NBASE);
      unsigned int nd = get_uint(r, GA_MAX_NDIM), mask = get_uint(r, UINT32_MAX);
      if (r->failed)
        return malformed();
      GA_TRY(GpuPlan_input(p, &value, typecode, nd, mask));
    }
  }
}

static int read_plan(GpuPlan **out, gpucontext *ctx, reader *r) {
  texts owned = {0};
  GpuPlan *p = NULL;
  const char *name = get_text(r, &owned);
  int status = name ? GpuPlan_new(&p, ctx, name) : malformed();
  if (status == GA_NO_ERROR)
    status = read_values(p, r);
  free_texts(&owned);
  if (status == GA_NO_ERROR)
    *out = p;
  else
    GpuPlan_free(p);
  return status;
}

/* The body behind a head that is as it should be. */
static int check_head(reader *body, const char *bytes, size_t size) {
  reader r = {bytes, size, false};
  const char *magic = take(&r, sizeof GA_PLAN_MARK - 1);
  if (magic == NULL || memcmp(magic, GA_PLAN_MARK, sizeof GA_PLAN_MARK - 1) != 0)
    return GA_FAIL(GA_VALUE_ERROR, "plan load: the file is no saved plan");
  uint64_t format = get_int(&r), length = get_int(&r);
  ga_hash stored = {.a = get_int(&r)};
  stored.b = get_int(&r);
  if (!r.failed && format > GA_PLAN_FORMAT)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan load: the file has format %llu, this library reads up to %d: "
                   "use a newer one",
                   (unsigned long long)format, GA_PLAN_FORMAT);
  ga_hash hash = ga__hash(r.at, r.left, (ga_hash){0, 0});
  if (r.failed || length != r.left || hash.a != stored.a || hash.b != stored.b)
    return GA_FAIL(GA_VALUE_ERROR, "plan load: the file is damaged: save it again");
  *body = r;
  return GA_NO_ERROR;
}

static int read_file(char **bytes, size_t *size, const char *path) {
  FILE *file = fopen(path, "rb");
  long length = -1;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0)
    length = ftell(file);
  if (length < 0 || fseek(file, 0, SEEK_SET) != 0) {
    int status = system_fail("cannot read", path);
    if (file)
      fclose(file);
    return status;
  }
  int status = GA_MEMORY_ERROR;
  char *content = ga__alloc((size_t)length + 1, 1);
  if (content != NULL)
    status = fread(content, 1, (size_t)length, file) == (size_t)length
                 ? GA_NO_ERROR
                 : system_fail("cannot read", path);
  fclose(file);
  if (status == GA_NO_ERROR) {
    *bytes = content;
    *size = (size_t)length;
  } else
    ga__free(content);
  return status;
}

int GpuPlan_load(GpuPlan **res, gpucontext *ctx, const char *path) {
  char *bytes = NULL;
  size_t size = 0;
  if (res == NULL || ctx == NULL || path == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan load: needs a place, a context and a path; got NULL");
  GA_TRY(ga__context_check(ctx));
  GA_TRY(read_file(&bytes, &size, path));
  reader body;
  int status = check_head(&body, bytes, size);
  if (status == GA_NO_ERROR)
    status = read_plan(res, ctx, &body);
  ga__free(bytes);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", path);
}
