/* The .Call functions of the R package: external pointers that own a context, an array,
 * a kernel or a function, and R errors from statuses. R's numbers are float64 or
 * complex128, which the device converts from and to other types; arrays keep R's
 * column-major order. */
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <stdlib.h>
#include <string.h>

#include <gpuarray/array.h>
#include <gpuarray/blas.h>
#include <gpuarray/dnn.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/function.h>
#include <gpuarray/kernel.h>
#include <gpuarray/reduction.h>

static void check(int status) {
  if (status != GA_NO_ERROR)
    Rf_error("%s", gpuarray_error_text());
}

/* ---- what R owns ---- */

static void free_context(SEXP pointer) {
  gpucontext_deref(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static void free_array(SEXP pointer) {
  GpuArray *array = R_ExternalPtrAddr(pointer);
  if (array == NULL)
    return;
  GpuArray_clear(array);
  free(array);
  R_ClearExternalPtr(pointer);
}

static void free_kernel(SEXP pointer) {
  GpuKernel *kernel = R_ExternalPtrAddr(pointer);
  if (kernel == NULL)
    return;
  GpuKernel_clear(kernel);
  free(kernel);
  R_ClearExternalPtr(pointer);
}

static void free_function(SEXP pointer) {
  GpuFunction_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

/* The address, or an R error: a pointer that was saved and loaded has none. */
static void *address(SEXP pointer, const char *what) {
  void *found = TYPEOF(pointer) == EXTPTRSXP ? R_ExternalPtrAddr(pointer) : NULL;
  if (found == NULL)
    Rf_error("%s expected; it may come from another R session", what);
  return found;
}

static SEXP own(void *object, R_CFinalizer_t finalizer, const char *class) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(object, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalizer, TRUE);
  SEXP name = PROTECT(Rf_mkString(class));
  Rf_setAttrib(pointer, R_ClassSymbol, name);
  UNPROTECT(2);
  return pointer;
}

/* An empty struct that R frees, to be filled by the next call. */
static SEXP new_array(GpuArray **out) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL)
    Rf_error("no memory for an array");
  return own(*out, free_array, "gpu_array");
}

/* ---- contexts and arrays ---- */

static SEXP gpu_open(SEXP name) {
  gpucontext *context;
  check(gpucontext_open(&context, CHAR(STRING_ELT(name, 0))));
  return own(context, free_context, "gpu_context");
}

static SEXP gpu_name(SEXP context) {
  return Rf_mkString(gpucontext_name(address(context, "a gpu_context")));
}

static SEXP gpu_sync(SEXP context) {
  check(gpucontext_sync(address(context, "a gpu_context")));
  return context;
}

/* The types by NumPy's names. */
static const struct {
  const char *name;
  int typecode;
} types[] = {
    {"bool", GA_BOOL},      {"int8", GA_BYTE},         {"int16", GA_SHORT},
    {"int32", GA_INT},      {"int64", GA_LONG},        {"uint8", GA_UBYTE},
    {"uint16", GA_USHORT},  {"uint32", GA_UINT},       {"uint64", GA_ULONG},
    {"float16", GA_HALF},   {"bfloat16", GA_BFLOAT16}, {"float32", GA_FLOAT},
    {"float64", GA_DOUBLE}, {"complex64", GA_CFLOAT},  {"complex128", GA_CDOUBLE}};
#define N_TYPES (sizeof types / sizeof *types)

static int typecode_of(SEXP name) {
  for (size_t i = 0; i < N_TYPES; i++)
    if (strcmp(types[i].name, CHAR(STRING_ELT(name, 0))) == 0)
      return types[i].typecode;
  Rf_error("there is no type \"%s\"", CHAR(STRING_ELT(name, 0)));
}

static const char *type_name(int typecode) {
  for (size_t i = 0; i < N_TYPES; i++)
    if (types[i].typecode == typecode)
      return types[i].name;
  return "another type";
}

static int is_complex(int typecode) {
  return typecode == GA_CFLOAT || typecode == GA_CDOUBLE;
}

/* `dims` is an integer vector; the values, numbers or complex ones, lie in column-major
 * order. */
static SEXP gpu_array(SEXP context, SEXP values, SEXP type, SEXP dims) {
  const unsigned int nd = (unsigned int)Rf_length(dims);
  const int pairs = TYPEOF(values) == CPLXSXP, typecode = typecode_of(type);
  const size_t item = pairs ? sizeof(Rcomplex) : sizeof(double);
  size_t shape[GA_MAX_NDIM], n = 1;
  ssize_t strides[GA_MAX_NDIM], step = (ssize_t)item;
  GpuArray *whole, *array;
  for (unsigned int i = 0; i < nd && i < GA_MAX_NDIM; i++) {
    shape[i] = (size_t)INTEGER(dims)[i];
    strides[i] = step;
    step *= (ssize_t)shape[i];
    n *= shape[i];
  }
  if (n != (size_t)Rf_xlength(values))
    Rf_error("gpu_array: %.0f values for dimensions of %.0f",
             (double)Rf_xlength(values), (double)n);
  const void *bytes =
      pairs ? (const void *)COMPLEX(values) : (const void *)REAL(values);
  SEXP owner = PROTECT(new_array(&whole)), result = owner;
  check(GpuArray_copy_from_host(whole, address(context, "a gpu_context"), bytes,
                                pairs ? GA_CDOUBLE : GA_DOUBLE, nd, shape, strides));
  if (typecode != whole->typecode) {
    result = PROTECT(new_array(&array));
    check(GpuArray_astype(array, whole, typecode, GA_F_ORDER));
    free_array(owner);
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return result;
}

static SEXP gpu_type(SEXP pointer) {
  const GpuArray *array = address(pointer, "a gpu_array");
  return Rf_mkString(type_name(array->typecode));
}

static SEXP gpu_dim(SEXP pointer) {
  const GpuArray *array = address(pointer, "a gpu_array");
  SEXP dims = PROTECT(Rf_allocVector(INTSXP, array->nd));
  for (unsigned int i = 0; i < array->nd; i++)
    INTEGER(dims)[i] = (int)array->dimensions[i];
  UNPROTECT(1);
  return dims;
}

/* The values in column-major order, numbers or complex ones; waits. */
static SEXP gpu_read(SEXP pointer) {
  const GpuArray *array = address(pointer, "a gpu_array");
  const int pairs = is_complex(array->typecode);
  size_t n = 1;
  GpuArray *whole;
  for (unsigned int i = 0; i < array->nd; i++)
    n *= array->dimensions[i];
  SEXP owner = PROTECT(new_array(&whole));
  check(GpuArray_astype(whole, array, pairs ? GA_CDOUBLE : GA_DOUBLE, GA_F_ORDER));
  SEXP values = PROTECT(Rf_allocVector(pairs ? CPLXSXP : REALSXP, (R_xlen_t)n));
  check(pairs ? GpuArray_read(COMPLEX(values), n * sizeof(Rcomplex), whole)
              : GpuArray_read(REAL(values), n * sizeof(double), whole));
  free_array(owner);
  UNPROTECT(2);
  return values;
}

/* ---- computing ---- */

/* `expression` gives "out" from the arrays of a named list. */
static SEXP gpu_elementwise(SEXP context, SEXP expression, SEXP arrays) {
  SEXP names = Rf_getAttrib(arrays, R_NamesSymbol);
  unsigned int n = (unsigned int)Rf_length(arrays);
  gpuelemwise_arg *args = (gpuelemwise_arg *)R_alloc(n + 1, sizeof *args);
  void **ins = (void **)R_alloc(n, sizeof *ins);
  GpuArray *out;
  args[0] = (gpuelemwise_arg){"out", GA_DOUBLE, GE_WRITE};
  for (unsigned int i = 0; i < n; i++) {
    const GpuArray *array = address(VECTOR_ELT(arrays, i), "a gpu_array");
    ins[i] = (void *)array;
    args[i + 1] =
        (gpuelemwise_arg){CHAR(STRING_ELT(names, i)), array->typecode, GE_READ};
  }
  SEXP result = PROTECT(new_array(&out));
  GpuElemwise *ge = GpuElemwise_new(address(context, "a gpu_context"), NULL,
                                    CHAR(STRING_ELT(expression, 0)), n + 1, args, 0, 0);
  int status = ge ? GpuElemwise_apply(ge, &out, ins) : GA_INVALID_ERROR;
  GpuElemwise_free(ge);
  check(status);
  UNPROTECT(1);
  return result;
}

/* The sum over the axes whose bits `axes` has. */
static SEXP gpu_sum(SEXP pointer, SEXP axes) {
  GpuArray *array = address(pointer, "a gpu_array"), *out;
  const gpuelemwise_arg input = {"x", array->typecode, GE_READ};
  gpureduction_spec spec = {.size = sizeof spec,
                            .map = "x",
                            .combine = "a + b",
                            .identity = "0",
                            .acc_typecode = GA_DOUBLE,
                            .out_typecode = GA_DOUBLE,
                            .n = 1,
                            .inputs = &input};
  void *ins[] = {array};
  int status = GA_NO_ERROR;
  SEXP result = PROTECT(new_array(&out));
  GpuReduction *gr = GpuReduction_new(GpuArray_context(array), &spec, &status);
  if (gr)
    status = GpuReduction_apply(gr, out, ins, (unsigned int)Rf_asInteger(axes), 0);
  GpuReduction_free(gr);
  check(status);
  UNPROTECT(1);
  return result;
}

static SEXP gpu_matmul(SEXP left, SEXP right) {
  GpuArray *a = address(left, "a gpu_array"), *b = address(right, "a gpu_array"), *out;
  const size_t shape[2] = {a->dimensions[0], b->dimensions[1]};
  if (a->nd != 2 || b->nd != 2)
    Rf_error("gpu_matmul: both arrays need two dimensions");
  SEXP result = PROTECT(new_array(&out));
  check(GpuArray_empty(out, GpuArray_context(a), a->typecode, 2, shape, GA_F_ORDER));
  check(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, a, b, 0, out, 0));
  UNPROTECT(1);
  return result;
}

/* ---- layers of networks ---- */

/* A new array of the type of `like`. */
static SEXP new_result(GpuArray **out, const GpuArray *like, unsigned int nd,
                       const size_t *shape) {
  SEXP result = PROTECT(new_array(out));
  check(GpuArray_empty(*out, GpuArray_context(like), like->typecode, nd, shape,
                       GA_F_ORDER));
  UNPROTECT(1);
  return result;
}

static SEXP gpu_conv(SEXP images, SEXP filters, SEXP stride, SEXP padding) {
  const GpuArray *x = address(images, "a gpu_array");
  const GpuArray *w = address(filters, "a gpu_array");
  size_t shape[5];
  GpuArray *out;
  gpuconv conv;
  if (x->nd < 3 || x->nd > 5 || w->nd != x->nd)
    Rf_error("gpu_conv: arrays of %u and %u dimensions, expected 3 to 5 of both", x->nd,
             w->nd);
  gpuconv_init(&conv, x->nd - 2);
  for (unsigned int i = 0; i < conv.nd; i++) {
    conv.stride[i] = (size_t)Rf_asInteger(stride);
    conv.before[i] = conv.after[i] = (size_t)Rf_asInteger(padding);
  }
  check(gpuconv_shape(shape, &conv, x->dimensions, w->dimensions));
  SEXP result = PROTECT(new_result(&out, x, x->nd, shape));
  check(GpuArray_conv(out, x, w, &conv));
  UNPROTECT(1);
  return result;
}

static SEXP gpu_max_pool(SEXP images, SEXP window) {
  const GpuArray *x = address(images, "a gpu_array");
  const unsigned int n = (unsigned int)Rf_length(window);
  size_t lengths[GA_POOL_MAX_AXES], shape[GA_MAX_NDIM];
  GpuArray *out;
  gpupool pool;
  if (n < 1 || n > GA_POOL_MAX_AXES || n > x->nd)
    Rf_error("gpu_max_pool: a window of %u dimensions, expected 1 to %d", n,
             GA_POOL_MAX_AXES);
  for (unsigned int i = 0; i < n; i++)
    lengths[i] = (size_t)INTEGER(window)[i];
  memcpy(shape, x->dimensions, x->nd * sizeof *shape);
  gpupool_init(&pool, n, GA_POOL_MAX, lengths);
  check(gpupool_shape(shape + x->nd - n, &pool, x->dimensions + x->nd - n));
  SEXP result = PROTECT(new_result(&out, x, x->nd, shape));
  check(GpuArray_pool(out, x, &pool));
  UNPROTECT(1);
  return result;
}

static SEXP gpu_batch_norm(SEXP array, SEXP gamma, SEXP beta, SEXP epsilon) {
  const GpuArray *x = address(array, "a gpu_array");
  GpuArray *out;
  gpubatchnorm norm;
  gpubatchnorm_init(&norm, x->nd, 1);
  norm.epsilon = Rf_asReal(epsilon);
  SEXP result = PROTECT(new_result(&out, x, x->nd, x->dimensions));
  check(GpuArray_batch_norm_train(out, NULL, NULL, NULL, NULL, x,
                                  address(gamma, "a gpu_array"),
                                  address(beta, "a gpu_array"), &norm));
  UNPROTECT(1);
  return result;
}

/* ---- kernels ---- */

/* A kernel whose arguments are one array (pointer and offset), the count, and doubles.
 */
static SEXP gpu_kernel(SEXP context, SEXP source, SEXP name, SEXP n_numbers) {
  enum { MOST = 16 };
  int types[3 + MOST] = {GA_BUFFER, GA_SIZE, GA_SIZE};
  unsigned int n = (unsigned int)Rf_asInteger(n_numbers);
  const char *text = CHAR(STRING_ELT(source, 0));
  if (n > MOST)
    Rf_error("gpu_kernel: %u numbers; at most %d", n, MOST);
  for (unsigned int i = 0; i < n; i++)
    types[3 + i] = GA_DOUBLE;
  GpuKernel *kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL)
    Rf_error("no memory for a kernel");
  int status = GpuKernel_init(kernel, address(context, "a gpu_context"), 1, &text, NULL,
                              CHAR(STRING_ELT(name, 0)), 3 + n, types, 0, NULL);
  if (status != GA_NO_ERROR)
    free(kernel);
  check(status);
  return own(kernel, free_kernel, "gpu_kernel");
}

static SEXP gpu_call(SEXP pointer, SEXP target, SEXP numbers) {
  GpuKernel *kernel = address(pointer, "a gpu_kernel");
  GpuArray *array = address(target, "a gpu_array");
  int n_numbers = Rf_length(numbers);
  size_t n = 1, blocks = 0, threads = 0;
  void **args = (void **)R_alloc((size_t)n_numbers + 3, sizeof *args);
  for (unsigned int i = 0; i < array->nd; i++)
    n *= array->dimensions[i];
  args[0] = array->data;
  args[1] = &array->offset;
  args[2] = &n;
  for (int i = 0; i < n_numbers; i++)
    args[3 + i] = &REAL(numbers)[i];
  check(GpuKernel_sched(kernel, n, &blocks, &threads));
  check(GpuKernel_call(kernel, 1, &blocks, &threads, 0, args));
  return target;
}

/* ---- functions ---- */

/* `names` of the contexts, and one without a name. */
static SEXP gpu_load(SEXP context, SEXP path, SEXP contexts, SEXP names) {
  GpuFunction *function;
  const unsigned int n = (unsigned int)Rf_length(contexts);
  gpuplan_context *given = (gpuplan_context *)R_alloc(n + 1, sizeof *given);
  if (Rf_length(names) != Rf_length(contexts))
    Rf_error("gpu_load: contexts without names; give list(dev1 = gpu_open(\"cuda1\"))");
  given[n] = (gpuplan_context){NULL, address(context, "a gpu_context")};
  for (unsigned int i = 0; i < n; i++)
    given[i] = (gpuplan_context){CHAR(STRING_ELT(names, i)),
                                 address(VECTOR_ELT(contexts, i), "a gpu_context")};
  check(GpuFunction_load_on(&function, n + 1, given, CHAR(STRING_ELT(path, 0))));
  return own(function, free_function, "gpu_function");
}

static SEXP gpu_context_of(SEXP pointer, SEXP list, SEXP i) {
  gpucontext *context;
  check(GpuFunction_context(address(pointer, "a gpu_function"), Rf_asInteger(list),
                            (unsigned int)Rf_asInteger(i), &context));
  return Rf_mkString(gpucontext_name(context));
}

/* The list of outputs for a list of arrays, of which NULL leaves an optional one out,
 * and numbers: the integers of the host, in their order. */
static SEXP gpu_run(SEXP pointer, SEXP given) {
  GpuFunction *function = address(pointer, "a gpu_function");
  unsigned int n_in, n_int, n_out, arrays = 0, integers = 0;
  const unsigned int n = (unsigned int)Rf_length(given);
  check(GpuFunction_count(function, GF_INPUTS, &n_in));
  check(GpuFunction_count(function, GF_INTS, &n_int));
  check(GpuFunction_count(function, GF_OUTPUTS, &n_out));
  const GpuArray **ins = (const GpuArray **)R_alloc(n + 1, sizeof *ins);
  long long *ints = (long long *)R_alloc(n + 1, sizeof *ints);
  GpuArray **outs = (GpuArray **)R_alloc(n_out + 1, sizeof *outs);
  for (unsigned int i = 0; i < n; i++) {
    SEXP value = VECTOR_ELT(given, i);
    if (TYPEOF(value) == NILSXP)
      ins[arrays++] = NULL;
    else if (Rf_isNumeric(value) && Rf_length(value) == 1)
      ints[integers++] = (long long)Rf_asReal(value);
    else
      ins[arrays++] = address(value, "a gpu_array or a whole number");
  }
  if (arrays != n_in || integers != n_int)
    Rf_error("gpu_run: given %u arrays and %u integers, expected %u and %u", arrays,
             integers, n_in, n_int);
  SEXP results = PROTECT(Rf_allocVector(VECSXP, n_out));
  for (unsigned int i = 0; i < n_out; i++)
    SET_VECTOR_ELT(results, i, new_array(&outs[i]));
  check(GpuFunction_call(function, outs, ins, ints));
  UNPROTECT(1);
  return results;
}

/* Of a list of the function (GF_INPUTS and so on) the names, types, numbers of axes and
 * whether each may be left out. */
static SEXP gpu_items(SEXP pointer, SEXP list) {
  GpuFunction *function = address(pointer, "a gpu_function");
  const int which = Rf_asInteger(list);
  gpufunction_item item;
  unsigned int n;
  check(GpuFunction_count(function, which, &n));
  SEXP result = PROTECT(Rf_allocVector(VECSXP, 4));
  SEXP names = Rf_allocVector(STRSXP, n);
  SET_VECTOR_ELT(result, 0, names);
  SEXP kinds = Rf_allocVector(STRSXP, n);
  SET_VECTOR_ELT(result, 1, kinds);
  SEXP axes = Rf_allocVector(INTSXP, n);
  SET_VECTOR_ELT(result, 2, axes);
  SEXP optional = Rf_allocVector(LGLSXP, n);
  SET_VECTOR_ELT(result, 3, optional);
  for (unsigned int i = 0; i < n; i++) {
    check(GpuFunction_item(function, which, i, &item));
    SET_STRING_ELT(names, i, item.name ? Rf_mkChar(item.name) : NA_STRING);
    SET_STRING_ELT(kinds, i,
                   Rf_mkChar(which == GF_INTS ? "integer" : type_name(item.typecode)));
    INTEGER(axes)[i] = (int)item.nd;
    LOGICAL(optional)[i] = item.optional != 0;
  }
  UNPROTECT(1);
  return result;
}

static SEXP gpu_set_value(SEXP pointer, SEXP name, SEXP array) {
  check(GpuFunction_set(address(pointer, "a gpu_function"), CHAR(STRING_ELT(name, 0)),
                        address(array, "a gpu_array")));
  return pointer;
}

static SEXP gpu_value(SEXP pointer, SEXP name) {
  GpuArray *value;
  SEXP result = PROTECT(new_array(&value));
  check(GpuFunction_get(address(pointer, "a gpu_function"), CHAR(STRING_ELT(name, 0)),
                        value));
  UNPROTECT(1);
  return result;
}

#define ENTRY(name, n) {#name, (DL_FUNC)(name), n}
static const R_CallMethodDef entries[] = {
    ENTRY(gpu_open, 1),       ENTRY(gpu_name, 1),        ENTRY(gpu_sync, 1),
    ENTRY(gpu_array, 4),      ENTRY(gpu_dim, 1),         ENTRY(gpu_read, 1),
    ENTRY(gpu_sum, 2),        ENTRY(gpu_elementwise, 3), ENTRY(gpu_matmul, 2),
    ENTRY(gpu_kernel, 4),     ENTRY(gpu_call, 3),        ENTRY(gpu_load, 4),
    ENTRY(gpu_context_of, 3), ENTRY(gpu_run, 2),         ENTRY(gpu_value, 2),
    ENTRY(gpu_set_value, 3),  ENTRY(gpu_items, 2),       ENTRY(gpu_type, 1),
    ENTRY(gpu_conv, 4),       ENTRY(gpu_max_pool, 2),    ENTRY(gpu_batch_norm, 4),
    {NULL, NULL, 0}};

void R_init_gpuarray(DllInfo *info) {
  R_registerRoutines(info, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(info, FALSE);
}
