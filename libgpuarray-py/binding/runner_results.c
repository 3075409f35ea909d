/* Results of a runner's call: arrays of ours or of NumPy's, and new values of shared
 * variables. */

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
  *slot_of(array, array_class.context) = Py_NewRef(PyTuple_GET_ITEM(kind, 2));
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
