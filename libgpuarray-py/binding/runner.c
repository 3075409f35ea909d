/* A plan that Python calls: arguments checked, brought to the device, the plan run,
 * results made, in one call.
 *
 * Part of the binding (build.py puts it there). A runner takes arrays, of NumPy too,
 * and numbers, and adds the values of shared variables; it gives arrays, and puts the
 * new values back. NotImplemented stands for arguments that somebody has to convert
 * first. A number keeps its place on the device and goes up only where it changes. */

/* Where a class with __slots__ keeps an attribute. */
static PyObject **slot_of(PyObject *object, Py_ssize_t offset) {
  return (PyObject **)(void *)((char *)object + offset);
}

/* Where a class keeps a slot; -1 with an error if it has none of the name. */
static Py_ssize_t offset_of(PyObject *type, const char *name) {
  PyObject *found = PyObject_GetAttrString(type, name);
  Py_ssize_t offset = -1;
  if (found != NULL && Py_TYPE(found) == &PyMemberDescr_Type)
    offset = ((PyMemberDescrObject *)found)->d_member->offset;
  else if (found != NULL)
    PyErr_Format(PyExc_TypeError, "%s is no slot", name);
  Py_XDECREF(found);
  return offset;
}

/* What is known of arrays, the same for all runners. */
static struct {
  PyTypeObject *type;
  struct _cffi_ctypedescr *pointer; /* GpuArray * */
  Py_ssize_t structure, context, dtype, typecode;
} array_class;

static PyTypeObject *container_class;
static Py_ssize_t container_value, container_turn;
static PyObject *acquire_name, *release_name;

static PyTypeObject *numpy_array, *numpy_scalar;

enum takes { NO_NUMBERS, EXACT_NUMBERS, ALL_NUMBERS };

/* An argument. Integers that shapes depend on stay on the host; of others, those
 * without axes have a place on the device. */
typedef struct argument {
  bool is_integer;
  long long low, high; /* of an integer */
  int typecode;
  unsigned int nd;
  enum takes takes; /* Python's floats: those that keep their value, or all */
  GpuArray place;   /* data NULL before the first number */
  char bytes[16];   /* what is there */
} argument;

typedef struct runner {
  PyObject_HEAD vectorcallfunc call;
  GpuPlan *plan;
  gpucontext *device;
  PyObject *context;
  PyObject *fail;       /* what raises: fail(status, step, values) */
  PyObject *kinds;      /* for each result its dtype and typecode */
  PyObject *containers; /* of what follows the arguments */
  PyObject *updates;    /* for each update its container and result */
  PyObject *hosts;      /* for each result whether NumPy gets it */
  PyObject *empty;      /* numpy.empty */
  PyObject *whole;      /* keeps the plan alive */
  argument *arguments;
  int *typecodes; /* of those that are arrays, in order */
  Py_ssize_t n_args, n_integers, n_containers, n_results, n_kept;
  Py_ssize_t pointer_at; /* where the context keeps its pointer: None once closed */
  bool is_single;
} runner;

/* What one call works with. */
typedef struct call_frame {
  const GpuArray **ins;
  GpuArray **outs;
  PyObject **held;     /* the values of containers */
  Py_buffer **uploads; /* for each array what is to be brought, or NULL */
  GpuArray **made;     /* for each array one that is the call's own, or NULL */
  long long *integers;
  GpuArray **read; /* results whose elements go to the host, and where; then freed */
  void **places;
  gpuhost **hosts; /* of the library's own, or NULL */
  unsigned int n_read;
  PyObject **turns; /* locks of containers that it holds, by address */
  unsigned int n_turns;
} call_frame;

static bool is_array(PyObject *object) {
  return Py_TYPE(object) == array_class.type;
}

static const GpuArray *struct_of(PyObject *array) {
  PyObject *pointer = *slot_of(array, array_class.structure);
  return pointer == NULL
             ? NULL
             : (const GpuArray *)_cffi_to_c_pointer(pointer, array_class.pointer);
}

/* The letter of a type in the buffer protocol. */
static bool has_format(const Py_buffer *b, int typecode) {
  static const struct {
    int typecode;
    const char *format;
  } known[] = {
      {GA_FLOAT, "f"}, {GA_DOUBLE, "d"}, {GA_HALF, "e"},    {GA_LONG, "l"},
      {GA_LONG, "q"},  {GA_INT, "i"},    {GA_UBYTE, "B"},   {GA_BOOL, "?"},
      {GA_BYTE, "b"},  {GA_SHORT, "h"},  {GA_USHORT, "H"},  {GA_UINT, "I"},
      {GA_ULONG, "L"}, {GA_ULONG, "Q"},  {GA_CFLOAT, "Zf"}, {GA_CDOUBLE, "Zd"}};
  if (b->format == NULL || (size_t)b->itemsize != gpuarray_get_elsize(typecode))
    return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].typecode == typecode && strcmp(known[i].format, b->format) == 0)
      return true;
  return false;
}

/* The bytes of a Python float as the argument has them; false if it does not take it.
 */
static bool number_bytes(char *out, const argument *a, PyObject *number) {
  if (!PyFloat_CheckExact(number) || a->takes == NO_NUMBERS || a->nd > 0)
    return false;
  double wide = PyFloat_AS_DOUBLE(number);
  float narrow = (float)wide;
  if (a->typecode == GA_DOUBLE)
    memcpy(out, &wide, sizeof wide);
  else if (a->typecode == GA_FLOAT &&
           (a->takes == ALL_NUMBERS || (double)narrow == wide))
    memcpy(out, &narrow, sizeof narrow);
  else
    return false;
  return true;
}

/* Puts a number in its place on the device, unless it is there. */
static int put_number(argument *a, gpucontext *ctx, const char *bytes) {
  size_t size = gpuarray_get_elsize(a->typecode);
  unsigned int references = 0;
  if (a->place.data != NULL && memcmp(a->bytes, bytes, size) == 0)
    return GA_NO_ERROR;
  if (a->place.data != NULL)
    gpudata_property(a->place.data, GA_BUFFER_PROP_REFCNT, &references);
  if (references > 1) /* a call in another thread still needs the old one */
    GpuArray_clear(&a->place);
  int outcome = a->place.data != NULL
                    ? GA_NO_ERROR
                    : GpuArray_empty(&a->place, ctx, a->typecode, 0, NULL, GA_C_ORDER);
  if (outcome == GA_NO_ERROR)
    outcome = gpudata_write(a->place.data, 0, bytes, size);
  if (outcome == GA_NO_ERROR)
    memcpy(a->bytes, bytes, size);
  else
    GpuArray_clear(&a->place);
  return outcome;
}

/* An array that is the call's own, at a place of the frame. */
static GpuArray *own_array(call_frame *f, Py_ssize_t at) {
  f->made[at] = calloc(1, sizeof(GpuArray));
  f->ins[at] = f->made[at];
  return f->made[at];
}

/* The argument as a number that is on the device for this call. */
static bool take_number(call_frame *f, runner *r, argument *a, Py_ssize_t at,
                        const char *bytes) {
  GpuArray *view = own_array(f, at);
  return view != NULL && put_number(a, r->device, bytes) == GA_NO_ERROR &&
         GpuArray_view(view, &a->place) == GA_NO_ERROR;
}

/* The argument as an array of NumPy, whose elements are to be brought. */
static bool take_host(call_frame *f, runner *r, argument *a, Py_ssize_t at,
                      PyObject *given) {
  if (Py_TYPE(given) != numpy_array && !PyType_IsSubtype(Py_TYPE(given), numpy_scalar))
    return false;
  Py_buffer *b = malloc(sizeof *b);
  if (b == NULL)
    return false;
  if (PyObject_GetBuffer(given, b, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
    PyErr_Clear(); /* of another order, or without such a format */
    free(b);
    return false;
  }
  f->uploads[at] = b;
  if (!has_format(b, a->typecode) || (unsigned int)b->ndim != a->nd)
    return false;
  return a->nd == 0 ? take_number(f, r, a, at, b->buf) : own_array(f, at) != NULL;
}

static bool take_integer(long long *out, const argument *a, PyObject *given) {
  int overflow = 0;
  if (!PyLong_CheckExact(given))
    return false;
  *out = PyLong_AsLongLongAndOverflow(given, &overflow);
  return !overflow && *out >= a->low && *out <= a->high;
}

/* Puts the arguments into the frame; false for one that is to be converted. */
static bool take_arguments(call_frame *f, runner *r, PyObject *const *args) {
  Py_ssize_t n_arrays = 0, n_integers = 0;
  for (Py_ssize_t i = 0; i < r->n_args; i++) {
    argument *a = &r->arguments[i];
    char bytes[16];
    if (a->is_integer) {
      if (!take_integer(&f->integers[n_integers++], a, args[i]))
        return false;
      continue;
    }
    Py_ssize_t at = n_arrays++;
    if (is_array(args[i]))
      f->ins[at] = struct_of(args[i]);
    else if (number_bytes(bytes, a, args[i]) ? !take_number(f, r, a, at, bytes)
                                             : !take_host(f, r, a, at, args[i]))
      return false;
    if (f->ins[at] == NULL)
      return false;
  }
  return true;
}

/* Notes the lock of a container, once, if a function updates it. */
static void note_turn(call_frame *f, PyObject *container) {
  PyObject *turn = *slot_of(container, container_turn);
  unsigned int at = f->n_turns;
  if (turn == NULL || turn == Py_None)
    return;
  while (at > 0 && (uintptr_t)f->turns[at - 1] > (uintptr_t)turn)
    at--;
  if (at > 0 && f->turns[at - 1] == turn)
    return;
  memmove(f->turns + at + 1, f->turns + at, (f->n_turns - at) * sizeof *f->turns);
  f->turns[at] = Py_NewRef(turn);
  f->n_turns++;
}

/* Lets the first of the locks go that it holds, and forgets all. */
static void give_turns(call_frame *f, unsigned int n_held) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  for (unsigned int i = f->n_turns; i-- > 0;) {
    if (i < n_held) {
      PyObject *nothing = PyObject_CallMethodNoArgs(f->turns[i], release_name);
      Py_XDECREF(nothing);
    }
    Py_DECREF(f->turns[i]);
  }
  f->n_turns = 0;
  PyErr_Restore(type, value, trace);
}

/* Waits for the locks of all containers, always in the same order; false with an error
 * that a signal raised meanwhile. */
static bool take_turns(call_frame *f, const runner *r) {
  for (Py_ssize_t i = 0; i < r->n_containers; i++)
    note_turn(f, PyList_GET_ITEM(r->containers, i));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->updates); i++)
    note_turn(f, PyTuple_GET_ITEM(PyTuple_GET_ITEM(r->updates, i), 0));
  for (unsigned int i = 0; i < f->n_turns; i++) {
    PyObject *taken = PyObject_CallMethodNoArgs(f->turns[i], acquire_name);
    if (taken == NULL) {
      give_turns(f, i);
      return false;
    }
    Py_DECREF(taken);
  }
  return true;
}

/* Adds the values of the containers, which it holds; false where one is elsewhere. */
static bool take_values(call_frame *f, const runner *r) {
  const GpuArray **ins = f->ins + (r->n_args - r->n_integers);
  for (Py_ssize_t i = 0; i < r->n_containers; i++) {
    PyObject *value = *slot_of(PyList_GET_ITEM(r->containers, i), container_value);
    if (value == NULL || !is_array(value) ||
        *slot_of(value, array_class.context) != r->context ||
        (ins[i] = struct_of(value)) == NULL)
      return false;
    f->held[i] = Py_NewRef(value);
  }
  return true;
}

static void drop_values(const call_frame *f, const runner *r) {
  for (Py_ssize_t i = 0; i < r->n_containers && f->held[i] != NULL; i++)
    Py_DECREF(f->held[i]);
  for (Py_ssize_t i = 0; i < r->n_args; i++) {
    if (f->made[i] != NULL)
      array_free(f->made[i]);
    if (f->uploads[i] != NULL) {
      PyBuffer_Release(f->uploads[i]);
      free(f->uploads[i]);
    }
  }
}

/* Brings NumPy's arrays to the device; numbers are there already. */
static int upload(const call_frame *f, const runner *r) {
  for (Py_ssize_t i = 0; i < r->n_args; i++) {
    const Py_buffer *b = f->uploads[i];
    size_t dims[GA_MAX_NDIM];
    if (b == NULL || b->ndim == 0)
      continue;
    for (int k = 0; k < b->ndim; k++)
      dims[k] = (size_t)b->shape[k];
    int outcome =
        GpuArray_copy_from_host(f->made[i], r->device, b->len ? b->buf : NULL,
                                r->typecodes[i], (unsigned int)b->ndim, dims, NULL);
    if (outcome != GA_NO_ERROR)
      return outcome;
  }
  return GA_NO_ERROR;
}

static bool make_structs(call_frame *f, const runner *r) {
  for (Py_ssize_t i = 0; i < r->n_results; i++)
    if ((f->outs[i] = new_struct()) == NULL) {
      while (i > 0)
        free(f->outs[--i]);
      PyErr_NoMemory();
      return false;
    }
  return true;
}

/* The array that takes over a struct; NULL with an error, and the struct freed. */
static PyObject *wrapped(GpuArray *made, const runner *r, Py_ssize_t index) {
  PyObject *kind = PyTuple_GET_ITEM(r->kinds, index);
  PyObject *pointer = _cffi_from_c_pointer((char *)made, array_class.pointer);
  PyObject *array = pointer ? array_class.type->tp_alloc(array_class.type, 0) : NULL;
  if (array == NULL) {
    Py_XDECREF(pointer);
    array_free(made);
    return NULL;
  }
  *slot_of(array, array_class.structure) = pointer;
  *slot_of(array, array_class.context) = Py_NewRef(r->context);
  *slot_of(array, array_class.dtype) = Py_NewRef(PyTuple_GET_ITEM(kind, 0));
  *slot_of(array, array_class.typecode) = Py_NewRef(PyTuple_GET_ITEM(kind, 1));
  return array;
}

static PyObject *shape_of(const GpuArray *a) {
  PyObject *shape = PyTuple_New(a->nd);
  for (unsigned int k = 0; shape != NULL && k < a->nd; k++) {
    PyObject *length = PyLong_FromSize_t(a->dimensions[k]);
    if (length == NULL)
      Py_CLEAR(shape);
    else
      PyTuple_SET_ITEM(shape, k, length);
  }
  return shape;
}

/* An array of NumPy on memory of the library's, which it takes over. */
static PyObject *array_on(gpuhost *host, PyObject *shape, PyObject *dtype,
                          const GpuArray *a) {
  size_t size = gpuarray_get_elsize(a->typecode);
  for (unsigned int k = 0; k < a->nd; k++)
    size *= a->dimensions[k];
  PyObject *bytes = memory_of(host, size);
  if (bytes == NULL)
    return NULL;
  PyObject *made = PyObject_Vectorcall((PyObject *)numpy_array,
                                       (PyObject *[]){shape, dtype, bytes}, 3, NULL);
  Py_DECREF(bytes);
  return made;
}

/* An array of NumPy for the elements of a result, which nobody else needs, with where
 * they are to go. */
static PyObject *host_array(void **place, gpuhost **host, const runner *r,
                            Py_ssize_t index, const GpuArray *a) {
  Py_buffer b;
  PyObject *made = NULL, *shape = shape_of(a);
  PyObject *dtype = PyTuple_GET_ITEM(PyTuple_GET_ITEM(r->kinds, index), 0);
  *host = NULL;
  if (shape != NULL) {
    if (GpuArray_host(host, a, 1) == GA_NO_ERROR && *host != NULL)
      made = array_on(*host, shape, dtype, a);
    else
      made = PyObject_Vectorcall(r->empty, (PyObject *[]){shape, dtype}, 2, NULL);
    Py_DECREF(shape);
  }
  if (made != NULL && PyObject_GetBuffer(made, &b, PyBUF_WRITABLE) < 0)
    Py_CLEAR(made);
  if (made != NULL) {
    *place = b.buf;
    PyBuffer_Release(&b); /* the array keeps its memory */
  }
  return made;
}

/* A result as the caller gets it; takes the struct. */
static PyObject *result_of(call_frame *f, const runner *r, Py_ssize_t index) {
  GpuArray *a = f->outs[index];
  bool to_host = PyTuple_GET_ITEM(r->hosts, index) == Py_True;
  if (!to_host)
    return wrapped(a, r, index);
  if (!GpuArray_IS_C_CONTIGUOUS(a)) { /* rare, and Python knows how */
    PyObject *array = wrapped(a, r, index);
    PyObject *host = array ? PyObject_CallMethod(array, "get", NULL) : NULL;
    Py_XDECREF(array);
    return host;
  }
  PyObject *host = host_array(&f->places[f->n_read], &f->hosts[f->n_read], r, index, a);
  if (host == NULL)
    array_free(a);
  else
    f->read[f->n_read++] = a;
  return host;
}

/* All results as a list; takes the structs. Updates come first: they hold although a
 * result cannot be read. */
static PyObject *list_results(call_frame *f, const runner *r) {
  PyObject *list = PyList_New(r->n_results);
  for (Py_ssize_t i = r->n_results; i-- > 0;) {
    PyObject *result = list ? result_of(f, r, i) : NULL;
    if (list == NULL)
      array_free(f->outs[i]);
    else if (result == NULL)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, i, result);
  }
  return list;
}

/* Puts the updates where they belong. */
static void hand_over(PyObject *results, const runner *r) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->updates); i++) {
    PyObject *update = PyTuple_GET_ITEM(r->updates, i);
    Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(update, 1));
    PyObject **place = slot_of(PyTuple_GET_ITEM(update, 0), container_value);
    PyObject *old = *place;
    *place = Py_NewRef(PyList_GET_ITEM(results, index));
    Py_XDECREF(old);
  }
}

/* What the caller gets of the list, which it takes. */
static PyObject *without_updates(PyObject *results, const runner *r) {
  if (r->is_single) {
    PyObject *only = Py_NewRef(PyList_GET_ITEM(results, 0));
    Py_DECREF(results);
    return only;
  }
  if (r->n_kept < r->n_results &&
      PyList_SetSlice(results, r->n_kept, r->n_results, NULL) < 0)
    Py_CLEAR(results);
  return results;
}

/* Reads what goes to the host, with one wait; without `wanted` only lets it go. */
static int read_hosts(call_frame *f, bool wanted) {
  int outcome = GA_NO_ERROR;
  if (wanted && f->n_read > 0) {
    PyThreadState *state = PyEval_SaveThread();
    outcome = GpuArray_read_hosts(f->n_read, f->hosts, f->places,
                                  (const GpuArray *const *)f->read);
    PyEval_RestoreThread(state);
  }
  while (f->n_read > 0)
    array_free(f->read[--f->n_read]);
  return outcome;
}

/* Raises what `fail` makes of a status. */
static PyObject *fail(const call_frame *f, const runner *r, PyObject *const *args,
                      int outcome, int step) {
  PyObject *values = PyList_New(r->n_args + r->n_containers);
  for (Py_ssize_t i = 0; values != NULL && i < r->n_args + r->n_containers; i++)
    PyList_SET_ITEM(values, i,
                    Py_NewRef(i < r->n_args ? args[i] : f->held[i - r->n_args]));
  PyObject *nothing =
      values ? PyObject_CallFunction(r->fail, "iiO", outcome, step, values) : NULL;
  Py_XDECREF(values);
  Py_XDECREF(nothing);
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "a plan failed, and nothing was raised");
  return NULL;
}

/* What needs no Python object. */
static int work(const call_frame *f, const runner *r, int *step) {
  PyThreadState *state = PyEval_SaveThread();
  int outcome = upload(f, r);
  if (outcome == GA_NO_ERROR)
    outcome = GpuPlan_call(r->plan, f->outs, f->ins, f->integers, step);
  PyEval_RestoreThread(state);
  return outcome;
}

/* Whether a result that is to be read lies in the value of a container, before or after
 * the call: who has the next turn may overwrite it. */
static bool reads_values(const call_frame *f, const runner *r) {
  const GpuArray **values = f->ins + (r->n_args - r->n_integers);
  if (f->n_turns == 0)
    return false;
  for (unsigned int k = 0; k < f->n_read; k++) {
    const gpudata *data = f->read[k]->data;
    for (Py_ssize_t i = 0; i < r->n_containers; i++)
      if (values[i]->data == data)
        return true;
    for (Py_ssize_t i = r->n_kept; i < r->n_results; i++)
      if (f->outs[i]->data == data)
        return true;
  }
  return false;
}

/* Others get their turn as soon as the updates are stored, and what lies in shared
 * values is read: reading the rest takes no turn. */
static PyObject *run(call_frame *f, const runner *r, PyObject *const *args) {
  int step = -1;
  if (!make_structs(f, r))
    return NULL;
  int outcome = work(f, r, &step);
  if (outcome != GA_NO_ERROR) {
    for (Py_ssize_t i = 0; i < r->n_results; i++)
      free(f->outs[i]);
    return fail(f, r, args, outcome, step);
  }
  PyObject *results = list_results(f, r);
  if (results != NULL)
    hand_over(results, r);
  if (results == NULL || !reads_values(f, r))
    give_turns(f, f->n_turns);
  outcome = read_hosts(f, results != NULL);
  give_turns(f, f->n_turns);
  if (results == NULL)
    return NULL;
  if (outcome == GA_NO_ERROR)
    return without_updates(results, r);
  Py_DECREF(results);
  return fail(f, r, args, outcome, -1);
}

static PyObject *runner_call(PyObject *self, PyObject *const *args, size_t flags,
                             PyObject *names) {
  enum { PLACES = 96 };
  runner *r = (runner *)self;
  size_t n_args = (size_t)r->n_args, n_values = (size_t)r->n_containers;
  size_t n_results = (size_t)r->n_results;
  size_t n_updates = (size_t)PyTuple_GET_SIZE(r->updates);
  size_t places = 4 * n_args + 3 * n_values + 4 * n_results + n_updates;
  void *few[PLACES], **list = few;
  if (PyVectorcall_NARGS(flags) != r->n_args || names != NULL) {
    PyErr_Format(PyExc_TypeError, "the plan takes %zd values, given are %zd", r->n_args,
                 PyVectorcall_NARGS(flags));
    return NULL;
  }
  if (places > PLACES) {
    list = malloc(places * sizeof *list);
    if (list == NULL)
      return PyErr_NoMemory();
  }
  memset(list, 0, places * sizeof *list);
  call_frame f = {.ins = (const GpuArray **)list};
  f.outs = (GpuArray **)list + n_args + n_values;
  f.held = (PyObject **)f.outs + n_results;
  f.uploads = (Py_buffer **)f.held + n_values;
  f.made = (GpuArray **)f.uploads + n_args;
  f.read = f.made + n_args;
  f.places = (void **)f.read + n_results;
  f.hosts = (gpuhost **)f.places + n_results;
  f.turns = (PyObject **)f.hosts + n_results;
  f.integers = (long long *)((void **)f.turns + n_values + n_updates);
  bool is_open = *slot_of(r->context, r->pointer_at) != Py_None;
  PyObject *result = NULL;
  if (!is_open || !take_arguments(&f, r, args))
    result = Py_NewRef(Py_NotImplemented);
  else if (take_turns(&f, r))
    result = take_values(&f, r) ? run(&f, r, args) : Py_NewRef(Py_NotImplemented);
  give_turns(&f, f.n_turns);
  drop_values(&f, r);
  if (list != few)
    free(list);
  return result;
}

/* ---- the class ---- */

static int runner_traverse(PyObject *self, visitproc visit, void *arg) {
  runner *r = (runner *)self;
  Py_VISIT(r->context);
  Py_VISIT(r->fail);
  Py_VISIT(r->kinds);
  Py_VISIT(r->containers);
  Py_VISIT(r->updates);
  Py_VISIT(r->hosts);
  Py_VISIT(r->empty);
  Py_VISIT(r->whole);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static int runner_clear(PyObject *self) {
  runner *r = (runner *)self;
  Py_CLEAR(r->context);
  Py_CLEAR(r->fail);
  Py_CLEAR(r->kinds);
  Py_CLEAR(r->containers);
  Py_CLEAR(r->updates);
  Py_CLEAR(r->hosts);
  Py_CLEAR(r->empty);
  Py_CLEAR(r->whole);
  return 0;
}

static void runner_free(PyObject *self) {
  runner *r = (runner *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  runner_clear(self);
  for (Py_ssize_t i = 0; r->arguments != NULL && i < r->n_args; i++)
    GpuArray_clear(&r->arguments[i].place);
  free(r->arguments);
  free(r->typecodes);
  type->tp_free(self);
  Py_DECREF(type);
}

/* Notes what the arguments are: (low, high) for an integer, else (typecode, nd, takes)
 * of an array. */
static bool read_arguments(runner *r, PyObject *arguments) {
  Py_ssize_t n = PyTuple_GET_SIZE(arguments), n_arrays = 0;
  r->arguments = calloc((size_t)n + 1, sizeof *r->arguments);
  r->typecodes = calloc((size_t)n + 1, sizeof *r->typecodes);
  if (r->arguments == NULL || r->typecodes == NULL) {
    PyErr_NoMemory();
    return false;
  }
  r->n_args = n;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *given = PyTuple_GET_ITEM(arguments, i);
    argument *a = &r->arguments[i];
    int takes = 0;
    a->is_integer = PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 2;
    if (a->is_integer ? !PyArg_ParseTuple(given, "LL", &a->low, &a->high)
                      : !PyArg_ParseTuple(given, "iIi", &a->typecode, &a->nd, &takes))
      return false;
    a->takes = (enum takes)takes;
    if (a->is_integer)
      r->n_integers++;
    else
      r->typecodes[n_arrays++] = a->typecode;
  }
  return true;
}

/* Whether the lists hold what the runner takes them to hold. */
static bool check_lists(const runner *r) {
  bool fits = r->n_kept <= r->n_results && r->n_kept >= r->is_single &&
              PyTuple_GET_SIZE(r->hosts) == r->n_results;
  for (Py_ssize_t i = 0; fits && i < r->n_containers; i++)
    fits = Py_TYPE(PyList_GET_ITEM(r->containers, i)) == container_class;
  for (Py_ssize_t i = 0; fits && i < r->n_results; i++) {
    PyObject *kind = PyTuple_GET_ITEM(r->kinds, i);
    fits = PyTuple_Check(kind) && PyTuple_GET_SIZE(kind) == 2;
  }
  for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(r->updates); i++) {
    PyObject *container;
    Py_ssize_t index;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(r->updates, i), "On", &container, &index))
      return false;
    fits = Py_TYPE(container) == container_class && index >= 0 && index < r->n_results;
  }
  if (!fits)
    PyErr_SetString(PyExc_TypeError, "Runner: these lists do not fit the plan");
  return fits;
}

static PyObject *runner_new(PyTypeObject *type, PyObject *args, PyObject *names) {
  static char *known[] = {"plan",      "device",     "whole",  "context", "fail",
                          "arguments", "containers", "kinds",  "updates", "hosts",
                          "empty",     "kept",       "single", NULL};
  unsigned long long plan, device;
  PyObject *whole, *context, *fail, *arguments, *containers, *kinds, *updates;
  PyObject *hosts, *empty;
  Py_ssize_t kept;
  int single;
  if (!PyArg_ParseTupleAndKeywords(args, names, "KKOOOO!O!O!O!O!Onp", known, &plan,
                                   &device, &whole, &context, &fail, &PyTuple_Type,
                                   &arguments, &PyList_Type, &containers, &PyTuple_Type,
                                   &kinds, &PyTuple_Type, &updates, &PyTuple_Type,
                                   &hosts, &empty, &kept, &single))
    return NULL;
  runner *r = (runner *)type->tp_alloc(type, 0);
  if (r == NULL)
    return NULL;
  r->call = runner_call;
  r->plan = (GpuPlan *)(uintptr_t)plan;
  r->device = (gpucontext *)(uintptr_t)device;
  r->whole = Py_NewRef(whole);
  r->context = Py_NewRef(context);
  r->pointer_at = offset_of((PyObject *)Py_TYPE(context), "_pointer");
  r->fail = Py_NewRef(fail);
  r->containers = Py_NewRef(containers);
  r->kinds = Py_NewRef(kinds);
  r->updates = Py_NewRef(updates);
  r->hosts = Py_NewRef(hosts);
  r->empty = Py_NewRef(empty);
  r->n_containers = PyList_GET_SIZE(containers);
  r->n_results = PyTuple_GET_SIZE(kinds);
  r->n_kept = kept;
  r->is_single = single != 0;
  if (r->pointer_at < 0 || !read_arguments(r, arguments) || !check_lists(r))
    Py_CLEAR(r);
  return (PyObject *)r;
}

static PyMemberDef runner_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(runner, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot runner_slots[] = {{Py_tp_new, (void *)runner_new},
                                     {Py_tp_dealloc, (void *)runner_free},
                                     {Py_tp_traverse, (void *)runner_traverse},
                                     {Py_tp_clear, (void *)runner_clear},
                                     {Py_tp_call, (void *)PyVectorcall_Call},
                                     {Py_tp_members, runner_members},
                                     {0, NULL}};

static PyType_Spec runner_spec = {.name = "gpuarray._gpuarray.Runner",
                                  .basicsize = sizeof(runner),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                           Py_TPFLAGS_HAVE_VECTORCALL,
                                  .slots = runner_slots};

/* The class of runners, for arrays of this class and containers of that; NULL with an
 * error. `pointer` is the type of GpuArray * as cffi knows it, `hosts` NumPy's class of
 * arrays and `numbers` that above all of its scalars. */
static void *runner_class(void *arrays, void *pointer, void *containers, void *hosts,
                          void *numbers) {
  static PyObject *made;
  PyGILState_STATE state = PyGILState_Ensure();
  if (made == NULL) {
    array_class.structure = offset_of(arrays, "_struct");
    array_class.context = offset_of(arrays, "_context");
    array_class.dtype = offset_of(arrays, "_dtype");
    array_class.typecode = offset_of(arrays, "_typecode");
    container_value = offset_of(containers, "value");
    container_turn = offset_of(containers, "turn");
    acquire_name = PyUnicode_InternFromString("acquire");
    release_name = PyUnicode_InternFromString("release");
    array_class.type = (PyTypeObject *)Py_NewRef((PyObject *)arrays);
    array_class.pointer = (struct _cffi_ctypedescr *)Py_NewRef((PyObject *)pointer);
    container_class = (PyTypeObject *)Py_NewRef((PyObject *)containers);
    numpy_array = (PyTypeObject *)Py_NewRef((PyObject *)hosts);
    numpy_scalar = (PyTypeObject *)Py_NewRef((PyObject *)numbers);
    if (!PyErr_Occurred())
      made = PyType_FromSpec(&runner_spec);
    if (made == NULL)
      PyErr_Print();
  }
  PyGILState_Release(state);
  return made;
}
