/* Arguments of a runner's call: checked, and brought to the device. Values of shared
 * variables follow them, whose turns it takes. */

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
static int put_number(argument *a, const char *bytes) {
  size_t size = gpuarray_get_elsize(a->typecode);
  unsigned int references = 0;
  if (a->place.data != NULL && memcmp(a->bytes, bytes, size) == 0)
    return GA_NO_ERROR;
  if (a->place.data != NULL)
    gpudata_property(a->place.data, GA_BUFFER_PROP_REFCNT, &references);
  if (references > 1) /* a call in another thread still needs the old one */
    GpuArray_clear(&a->place);
  int outcome =
      a->place.data != NULL
          ? GA_NO_ERROR
          : GpuArray_empty(&a->place, a->device, a->typecode, 0, NULL, GA_C_ORDER);
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
static bool take_number(call_frame *f, argument *a, Py_ssize_t at, const char *bytes) {
  GpuArray *view = own_array(f, at);
  return view != NULL && put_number(a, bytes) == GA_NO_ERROR &&
         GpuArray_view(view, &a->place) == GA_NO_ERROR;
}

/* The argument as an array of NumPy, whose elements are to be brought. */
static bool take_host(call_frame *f, argument *a, Py_ssize_t at, PyObject *given) {
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
  return a->nd == 0 ? take_number(f, a, at, b->buf) : own_array(f, at) != NULL;
}

static bool take_integer(long long *out, const argument *a, PyObject *given) {
  int overflow = 0;
  if (!PyLong_CheckExact(given))
    return false;
  *out = PyLong_AsLongLongAndOverflow(given, &overflow);
  return !overflow && *out >= a->low && *out <= a->high;
}

static PyObject *context_of(PyObject *array) {
  return *slot_of(array, array_class.context);
}

/* True if an array has to be copied first, to another of the plan's contexts. */
static bool is_elsewhere(const runner *r, PyObject *array, Py_ssize_t at) {
  PyObject *here = context_of(array);
  bool is_ours = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->contexts); i++)
    is_ours |= PyTuple_GET_ITEM(r->contexts, i) == here;
  return is_ours && PyTuple_GET_ITEM(r->homes, at) != here;
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
      f->ins[at] = is_elsewhere(r, args[i], at) ? NULL : struct_of(args[i]);
    else if (number_bytes(bytes, a, args[i]) ? !take_number(f, a, at, bytes)
                                             : !take_host(f, a, at, args[i]))
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
  const Py_ssize_t first = r->n_args - r->n_integers;
  const GpuArray **ins = f->ins + first;
  for (Py_ssize_t i = 0; i < r->n_containers; i++) {
    PyObject *value = *slot_of(PyList_GET_ITEM(r->containers, i), container_value);
    if (value == NULL || !is_array(value) ||
        context_of(value) != PyTuple_GET_ITEM(r->homes, first + i) ||
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
    const argument *a = r->arrays[i];
    int outcome =
        GpuArray_copy_from_host(f->made[i], a->device, b->len ? b->buf : NULL,
                                a->typecode, (unsigned int)b->ndim, dims, NULL);
    if (outcome != GA_NO_ERROR)
      return outcome;
  }
  return GA_NO_ERROR;
}
