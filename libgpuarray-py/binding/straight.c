/* Objects whose calls go straight to a runner (runner.c), without a frame of Python.
 *
 * Part of the binding (build.py puts it there). A class in Python has this one as its
 * base and sets `_straight` to a runner, or None. Arguments by position, as many as the
 * plan takes, go there; for all others, and where the runner gives NotImplemented, the
 * object's method `_call` is called. */

typedef struct straight {
  PyObject_HEAD vectorcallfunc call;
  PyObject *runner; /* or None, or NULL */
} straight;

static PyTypeObject *runner_type;

static PyObject *straight_call(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *names) {
  PyObject *given = ((straight *)self)->runner;
  if (given != NULL && Py_TYPE(given) == runner_type && names == NULL &&
      PyVectorcall_NARGS(flags) == ((runner *)given)->n_args) {
    Py_INCREF(given); /* a callback may set another */
    PyObject *result = runner_call(given, args, flags, NULL);
    Py_DECREF(given);
    if (result != Py_NotImplemented)
      return result;
    Py_DECREF(result);
  }
  PyObject *method = PyObject_GetAttrString(self, "_call");
  if (method == NULL)
    return NULL;
  PyObject *result =
      PyObject_Vectorcall(method, args, (size_t)PyVectorcall_NARGS(flags), names);
  Py_DECREF(method);
  return result;
}

static int straight_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((straight *)self)->runner);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static int straight_clear(PyObject *self) {
  Py_CLEAR(((straight *)self)->runner);
  return 0;
}

static void straight_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  straight_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/* Arguments are those of the class above. */
static PyObject *straight_new(PyTypeObject *type, PyObject *args, PyObject *names) {
  (void)args;
  (void)names;
  straight *made = (straight *)type->tp_alloc(type, 0);
  if (made != NULL)
    made->call = straight_call;
  return (PyObject *)made;
}

static PyMemberDef straight_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(straight, call), READONLY, NULL},
    {"_straight", T_OBJECT, offsetof(straight, runner), 0, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot straight_slots[] = {{Py_tp_new, (void *)straight_new},
                                       {Py_tp_dealloc, (void *)straight_free},
                                       {Py_tp_traverse, (void *)straight_traverse},
                                       {Py_tp_clear, (void *)straight_clear},
                                       {Py_tp_call, (void *)PyVectorcall_Call},
                                       {Py_tp_members, straight_members},
                                       {0, NULL}};

static PyType_Spec straight_spec = {.name = "gpuarray._gpuarray.Straight",
                                    .basicsize = sizeof(straight),
                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                             Py_TPFLAGS_HAVE_GC |
                                             Py_TPFLAGS_HAVE_VECTORCALL,
                                    .slots = straight_slots};

/* The class, for runners of this one; NULL with an error printed. */
static void *straight_class(void *runners) {
  static PyObject *made;
  PyGILState_STATE state = PyGILState_Ensure();
  if (made == NULL) {
    runner_type = (PyTypeObject *)Py_NewRef((PyObject *)runners);
    made = PyType_FromSpec(&straight_spec);
    if (made == NULL)
      PyErr_Print();
  }
  PyGILState_Release(state);
  return made;
}
