/* The class of runners: how one is made of a plan, and goes. */

static int runner_traverse(PyObject *self, visitproc visit, void *arg) {
  runner *r = (runner *)self;
  Py_VISIT(r->contexts);
  Py_VISIT(r->fail);
  Py_VISIT(r->kinds);
  Py_VISIT(r->containers);
  Py_VISIT(r->homes);
  Py_VISIT(r->updates);
  Py_VISIT(r->hosts);
  Py_VISIT(r->empty);
  Py_VISIT(r->whole);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static int runner_clear(PyObject *self) {
  runner *r = (runner *)self;
  Py_CLEAR(r->contexts);
  Py_CLEAR(r->fail);
  Py_CLEAR(r->kinds);
  Py_CLEAR(r->containers);
  Py_CLEAR(r->homes);
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
  free(r->arrays);
  type->tp_free(self);
  Py_DECREF(type);
}

/* Notes what the arguments are: (low, high) for an integer, else (typecode, nd, takes,
 * device) of an array. */
static bool read_arguments(runner *r, PyObject *arguments) {
  Py_ssize_t n = PyTuple_GET_SIZE(arguments), n_arrays = 0;
  r->arguments = calloc((size_t)n + 1, sizeof *r->arguments);
  r->arrays = calloc((size_t)n + 1, sizeof *r->arrays);
  if (r->arguments == NULL || r->arrays == NULL) {
    PyErr_NoMemory();
    return false;
  }
  r->n_args = n;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *given = PyTuple_GET_ITEM(arguments, i);
    argument *a = &r->arguments[i];
    int takes = 0;
    unsigned long long device = 0;
    a->is_integer = PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 2;
    if (a->is_integer
            ? !PyArg_ParseTuple(given, "LL", &a->low, &a->high)
            : !PyArg_ParseTuple(given, "iIiK", &a->typecode, &a->nd, &takes, &device))
      return false;
    a->takes = (enum takes)takes;
    a->device = (gpucontext *)(uintptr_t)device;
    if (a->is_integer)
      r->n_integers++;
    else
      r->arrays[n_arrays++] = a;
  }
  return true;
}

/* True if the lists hold what the runner takes them to hold. */
static bool check_lists(const runner *r) {
  bool fits =
      r->n_kept <= r->n_results && r->n_kept >= r->is_single &&
      PyTuple_GET_SIZE(r->hosts) == r->n_results &&
      PyTuple_GET_SIZE(r->homes) == r->n_args - r->n_integers + r->n_containers &&
      PyTuple_GET_SIZE(r->contexts) > 0;
  for (Py_ssize_t i = 0; fits && i < r->n_containers; i++)
    fits = Py_TYPE(PyList_GET_ITEM(r->containers, i)) == container_class;
  for (Py_ssize_t i = 0; fits && i < r->n_results; i++) {
    PyObject *kind = PyTuple_GET_ITEM(r->kinds, i);
    fits = PyTuple_Check(kind) && PyTuple_GET_SIZE(kind) == 3;
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
  static char *known[] = {"plan",       "whole", "contexts", "fail",    "arguments",
                          "containers", "homes", "kinds",    "updates", "hosts",
                          "empty",      "kept",  "single",   NULL};
  unsigned long long plan;
  PyObject *whole, *contexts, *fail, *arguments, *containers, *homes, *kinds, *updates;
  PyObject *hosts, *empty;
  Py_ssize_t kept;
  int single;
  if (!PyArg_ParseTupleAndKeywords(
          args, names, "KOO!OO!O!O!O!O!O!Onp", known, &plan, &whole, &PyTuple_Type,
          &contexts, &fail, &PyTuple_Type, &arguments, &PyList_Type, &containers,
          &PyTuple_Type, &homes, &PyTuple_Type, &kinds, &PyTuple_Type, &updates,
          &PyTuple_Type, &hosts, &empty, &kept, &single))
    return NULL;
  runner *r = (runner *)type->tp_alloc(type, 0);
  if (r == NULL)
    return NULL;
  r->call = runner_call;
  r->plan = (GpuPlan *)(uintptr_t)plan;
  r->whole = Py_NewRef(whole);
  r->contexts = Py_NewRef(contexts);
  r->homes = Py_NewRef(homes);
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
  if (!read_arguments(r, arguments) || !check_lists(r)) {
    Py_DECREF(r);
    return NULL;
  }
  PyObject *first = PyTuple_GET_ITEM(contexts, 0);
  r->pointer_at = offset_of((PyObject *)Py_TYPE(first), "_pointer");
  if (r->pointer_at < 0)
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
    gpuarray_interrupt_by(is_interrupted);
  }
  PyGILState_Release(state);
  return made;
}
