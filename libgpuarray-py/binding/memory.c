/* Memory of the host that an array was brought to, as an object with Python's buffer
 * protocol: a NumPy array on it keeps it.
 *
 * Part of the binding (build.py puts it there). */

typedef struct memory {
  PyObject_HEAD gpuhost *host;
  Py_ssize_t size;
} memory;

static PyTypeObject *memory_type;

/* The object that owns `host`, whose first `size` bytes it shows; NULL with an error,
 * and the memory given back. */
static PyObject *memory_of(gpuhost *host, size_t size) {
  memory *made = (memory *)memory_type->tp_alloc(memory_type, 0);
  if (made == NULL) {
    gpuhost_release(host);
    return NULL;
  }
  made->host = host;
  made->size = (Py_ssize_t)size;
  return (PyObject *)made;
}

/* Python makes it of the address of a gpuhost, which it takes over, and a size. */
static PyObject *memory_new(PyTypeObject *type, PyObject *args, PyObject *names) {
  unsigned long long host;
  Py_ssize_t size;
  (void)type, (void)names;
  if (!PyArg_ParseTuple(args, "Kn", &host, &size))
    return NULL;
  return memory_of((gpuhost *)(uintptr_t)host, (size_t)size);
}

static void memory_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  gpuhost_release(((memory *)self)->host);
  type->tp_free(self);
  Py_DECREF(type);
}

static int memory_buffer(PyObject *self, Py_buffer *view, int flags) {
  const memory *m = (memory *)self;
  return PyBuffer_FillInfo(view, self, gpuhost_bytes(m->host), m->size, 0, flags);
}

static PyType_Slot memory_slots[] = {{Py_tp_new, (void *)memory_new},
                                     {Py_tp_dealloc, (void *)memory_free},
                                     {Py_bf_getbuffer, (void *)memory_buffer},
                                     {0, NULL}};

static PyType_Spec memory_spec = {.name = "gpuarray._gpuarray.Memory",
                                  .basicsize = sizeof(memory),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = memory_slots};

/* The class; NULL with an error printed. */
static void *memory_class(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  if (memory_type == NULL) {
    memory_type = (PyTypeObject *)PyType_FromSpec(&memory_spec);
    if (memory_type == NULL)
      PyErr_Print();
  }
  PyGILState_Release(state);
  return memory_type;
}
