/* What the package calls besides the public functions.
 *
 * Part of the binding (build.py puts it there), which cffi is told of by what stands
 * between the marks. An operator is one call: it makes the struct of its result, which
 * costs less here than through cffi, and passes a number without a list of pointers.
 * NULL stands for a failure, whose status is last_status(). */

#if 0
/* cdef: begin */
GpuArray *array_adopt(GpuArray *a);
GpuArray *array_apply1(GpuElemwise *ge, const GpuArray *a);
GpuArray *array_apply2(GpuElemwise *ge, const GpuArray *a, const GpuArray *b);
GpuArray *array_apply_float(GpuElemwise *ge, const GpuArray *a, double value,
                            int typecode);
GpuArray *array_apply_complex(GpuElemwise *ge, const GpuArray *a, double real,
                              double imaginary, int typecode);
GpuArray *array_apply_int(GpuElemwise *ge, const GpuArray *a, long long value);
int array_call(GpuElemwise *ge, GpuArray *out, const GpuArray *a, const GpuArray *b);
int array_call_number(GpuElemwise *ge, GpuArray *out, const GpuArray *a, double real,
                      double imaginary, long long whole, int typecode);
GpuArray *array_index(const GpuArray *a, unsigned int n, const ssize_t *starts,
                      const ssize_t *stops, const ssize_t *steps);
GpuArray *array_index1(const GpuArray *a, ssize_t start, ssize_t stop, ssize_t step);
GpuArray *array_transpose(const GpuArray *a);
int last_status(void);
int watch_exit(void);
void host_free(void *block);
void dlpack_capsule_free(void *capsule);
void *dlpack_lending(void *tensor, bool versioned);
const DLPackExchangeAPI *dlpack_exchange(void *address_of, void *from_tensor);
DLManagedTensorVersioned *dlpack_lent(void *owner, int nd);
void *runner_class(void *arrays, void *pointer, void *containers, void *hosts,
                   void *numbers);
void *straight_class(void *runners);
void *memory_class(void);
void *holder_class(void *pointer);
extern "Python" int plan_function(void *data, GpuArray *const *outs,
                                  const GpuArray *const *ins, const long long *ints);
/* cdef: end */
#endif

static _Thread_local int status;

static int last_status(void) {
  return status;
}

static GpuArray *new_struct(void) {
  GpuArray *a = malloc(sizeof *a);
  if (a == NULL)
    status = GA_MEMORY_ERROR;
  return a;
}

/* Tells the library of the end before the process comes to it: no Python thread comes
 * back then, and those that are in C still use devices. -1 where Python has no place
 * for it: then the library sees the end itself, if a little late. */
static int watch_exit(void) {
  return Py_AtExit(gpuarray_at_exit);
}

/* The struct if `outcome` is success; else frees it. */
static GpuArray *finish(GpuArray *a, int outcome) {
  status = outcome;
  if (outcome == GA_NO_ERROR)
    return a;
  free(a);
  return NULL;
}

/* Moves a struct out of memory that cffi owns. */
static GpuArray *array_adopt(GpuArray *a) {
  GpuArray *moved = new_struct();
  if (moved == NULL) {
    GpuArray_clear(a);
    return NULL;
  }
  *moved = *a;
  a->data = NULL;
  return moved;
}

static void array_free(GpuArray *a) {
  GpuArray_clear(a);
  free(a);
}

static GpuArray *array_apply1(GpuElemwise *ge, const GpuArray *a) {
  GpuArray *out = new_struct();
  return out ? finish(out, GpuElemwise_apply1(ge, out, a)) : NULL;
}

static GpuArray *array_apply2(GpuElemwise *ge, const GpuArray *a, const GpuArray *b) {
  GpuArray *out = new_struct();
  return out ? finish(out, GpuElemwise_apply2(ge, out, a, b)) : NULL;
}

static GpuArray *apply_number(GpuElemwise *ge, const GpuArray *a, void *value) {
  GpuArray *out = new_struct();
  GpuArray *outs[1] = {out};
  void *ins[2] = {(void *)a, value};
  return out ? finish(out, GpuElemwise_apply(ge, outs, ins)) : NULL;
}

static GpuArray *array_apply_float(GpuElemwise *ge, const GpuArray *a, double value,
                                   int typecode) {
  float narrow = (float)value;
  return apply_number(ge, a, typecode == GA_FLOAT ? (void *)&narrow : (void *)&value);
}

static GpuArray *array_apply_complex(GpuElemwise *ge, const GpuArray *a, double real,
                                     double imaginary, int typecode) {
  double wide[2] = {real, imaginary};
  float narrow[2] = {(float)real, (float)imaginary};
  return apply_number(ge, a, typecode == GA_CFLOAT ? (void *)narrow : (void *)wide);
}

/* Integer arguments are always GA_LONG; the kernel narrows them. */
static GpuArray *array_apply_int(GpuElemwise *ge, const GpuArray *a, long long value) {
  return apply_number(ge, a, &value);
}

/* The same into an output that is given; `b` may be NULL. */
static int array_call(GpuElemwise *ge, GpuArray *out, const GpuArray *a,
                      const GpuArray *b) {
  void *args[3] = {out, (void *)a, (void *)b};
  return GpuElemwise_call(ge, args, GE_BROADCAST | GE_PADSHAPE);
}

/* The number is `whole` where the kernel takes GA_LONG. */
static int array_call_number(GpuElemwise *ge, GpuArray *out, const GpuArray *a,
                             double real, double imaginary, long long whole,
                             int typecode) {
  double wide[2] = {real, imaginary};
  float narrow[2] = {(float)real, (float)imaginary};
  void *value = typecode == GA_LONG ? (void *)&whole : (void *)wide;
  if (typecode == GA_FLOAT || typecode == GA_CFLOAT)
    value = narrow;
  void *args[3] = {out, (void *)a, value};
  return GpuElemwise_call(ge, args, GE_BROADCAST | GE_PADSHAPE);
}

/* A bound of a slice, between the lowest and the highest that its direction has. */
static ssize_t bound(ssize_t value, ssize_t length, ssize_t step) {
  ssize_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? length - 1 : length;
  if (value < 0)
    value += length;
  return value < lowest ? lowest : value > highest ? highest : value;
}

/* a[start:stop:step, ...] as Python counts: `n` entries for the first axes, step 0 for
 * an integer. NULL with GA_INDEX_ERROR for what is no index of this array. */
static GpuArray *array_index(const GpuArray *a, unsigned int n, const ssize_t *starts,
                             const ssize_t *stops, const ssize_t *steps) {
  ssize_t from[GA_MAX_NDIM], to[GA_MAX_NDIM], by[GA_MAX_NDIM];
  status = GA_INDEX_ERROR;
  if (n > a->nd)
    return NULL;
  for (unsigned int i = 0; i < a->nd; i++) {
    ssize_t length = (ssize_t)a->dimensions[i], step = i < n ? steps[i] : 1;
    from[i] = i < n ? starts[i] : 0;
    to[i] = i < n ? stops[i] : length;
    by[i] = step;
    if (step == 0) {
      from[i] += from[i] < 0 ? length : 0;
      if (from[i] < 0 || from[i] >= length)
        return NULL;
      continue;
    }
    from[i] = bound(from[i], length, step);
    to[i] = bound(to[i], length, step);
    if (step < 0 ? to[i] >= from[i] : from[i] >= to[i])
      from[i] = to[i] = 0, by[i] = 1;
  }
  GpuArray *out = new_struct();
  return out ? finish(out, GpuArray_index(out, a, from, to, by)) : NULL;
}

static GpuArray *array_index1(const GpuArray *a, ssize_t start, ssize_t stop,
                              ssize_t step) {
  return array_index(a, 1, &start, &stop, &step);
}

static GpuArray *array_transpose(const GpuArray *a) {
  GpuArray *out = new_struct();
  return out ? finish(out, GpuArray_transpose(out, a, NULL)) : NULL;
}

/* For texts that the library allocates for its caller. */
static void host_free(void *block) {
  free(block);
}

/* A tensor of the library in a capsule. Both the capsule and who takes the tensor hold
 * this: the deleter may be called more often than once while the capsule is there, as
 * by a consumer that takes the tensor over, fails, gives it back, and leaves the
 * capsule its name. */
typedef struct dlpack_lending_s {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor plain;
  } tensor;  /* a copy of the library's, first: what the capsule points to */
  void *own; /* the library's tensor */
  atomic_flag is_back;
  atomic_int holders;
} dlpack_lending_t;

static void dlpack_leave(dlpack_lending_t *lending) {
  if (atomic_fetch_sub(&lending->holders, 1) == 1)
    free(lending);
}

static void dlpack_back_versioned(DLManagedTensorVersioned *tensor) {
  dlpack_lending_t *lending = (dlpack_lending_t *)tensor;
  DLManagedTensorVersioned *own = lending->own;
  if (atomic_flag_test_and_set(&lending->is_back))
    return;
  if (own->deleter)
    own->deleter(own);
  dlpack_leave(lending);
}

static void dlpack_back_plain(DLManagedTensor *tensor) {
  dlpack_lending_t *lending = (dlpack_lending_t *)tensor;
  DLManagedTensor *own = lending->own;
  if (atomic_flag_test_and_set(&lending->is_back))
    return;
  if (own->deleter)
    own->deleter(own);
  dlpack_leave(lending);
}

/* What a capsule is to point to; NULL if there is no memory. */
static void *dlpack_lending(void *tensor, bool versioned) {
  dlpack_lending_t *lending = malloc(sizeof *lending);
  if (lending == NULL)
    return NULL;
  lending->own = tensor;
  atomic_init(&lending->holders, 2);
  atomic_flag_clear(&lending->is_back);
  if (versioned) {
    lending->tensor.versioned = *(DLManagedTensorVersioned *)tensor;
    lending->tensor.versioned.deleter = dlpack_back_versioned;
  } else {
    lending->tensor.plain = *(DLManagedTensor *)tensor;
    lending->tensor.plain.deleter = dlpack_back_plain;
  }
  return lending;
}

/* The destructor of a capsule: gives back a tensor that nobody took. */
static void dlpack_capsule_free(void *object) {
  PyObject *capsule = object;
  dlpack_lending_t *lending = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  if (lending == NULL) {
    PyErr_WriteUnraisable(capsule);
    return;
  }
  if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
    dlpack_back_versioned(&lending->tensor.versioned);
  else if (PyCapsule_IsValid(capsule, "dltensor"))
    dlpack_back_plain(&lending->tensor.plain);
  dlpack_leave(lending);
}

/* The exchange table for Python's arrays: that of the library, but for how an object is
 * found and made. Its functions are called with the GIL. */
static PyObject *dlpack_address_of, *dlpack_from_tensor;

static GpuArray *dlpack_array(void *object) {
  PyObject *number =
      PyObject_CallFunctionObjArgs(dlpack_address_of, (PyObject *)object, NULL);
  GpuArray *a = number ? PyLong_AsVoidPtr(number) : NULL;
  Py_XDECREF(number);
  return a;
}

static int dlpack_from_object(void *object, DLManagedTensorVersioned **out) {
  GpuArray *a = dlpack_array(object);
  if (a == NULL)
    return -1;
  const DLPackExchangeAPI *own = gpuarray_dlpack_exchange_api();
  if (own->managed_tensor_from_py_object_no_sync(a, out) == 0)
    return 0;
  PyErr_SetString(PyExc_BufferError, gpuarray_error_text());
  return -1;
}

static int dlpack_to_object(DLManagedTensorVersioned *tensor, void **out) {
  PyObject *address = PyLong_FromVoidPtr(tensor);
  if (address == NULL)
    return -1;
  *out = PyObject_CallFunctionObjArgs(dlpack_from_tensor, address, NULL);
  Py_DECREF(address);
  return *out ? 0 : -1;
}

/* Memory of a Python object, which the tensor keeps alive. */
static void dlpack_lent_free(DLManagedTensorVersioned *t) {
  if (Py_IsInitialized()) { /* else the process ends, and the memory with it */
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)t->manager_ctx);
    PyGILState_Release(state);
  }
  free(t);
}

/* A tensor to be filled, with room for the shape and the strides of `nd` axes. */
static DLManagedTensorVersioned *dlpack_lent(void *owner, int nd) {
  DLManagedTensorVersioned *t = calloc(1, sizeof *t + 2 * (size_t)nd * sizeof(int64_t));
  if (t == NULL)
    return NULL;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_INCREF((PyObject *)owner);
  PyGILState_Release(state);
  t->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  t->manager_ctx = owner;
  t->deleter = dlpack_lent_free;
  t->dl_tensor.ndim = nd;
  t->dl_tensor.shape = (int64_t *)(t + 1);
  t->dl_tensor.strides = t->dl_tensor.shape + nd;
  return t;
}

static const DLPackExchangeAPI *dlpack_exchange(void *address_of, void *from_tensor) {
  static DLPackExchangeAPI table;
  dlpack_address_of = address_of;
  dlpack_from_tensor = from_tensor;
  table = *gpuarray_dlpack_exchange_api();
  table.managed_tensor_from_py_object_no_sync = dlpack_from_object;
  table.managed_tensor_to_py_object_no_sync = dlpack_to_object;
  return &table;
}
