/* Objects that own an array's struct, which goes when they do, without a step of
 * Python's: an interrupt that comes then would raise there, where nobody catches it.
 *
 * Part of the binding (build.py puts it there). The class of arrays has this one as
 * its base. `_struct` is the GpuArray * as cffi knows it, `_kept` what the array keeps
 * alive, or None. */

typedef struct holder {
  PyObject_HEAD PyObject *structure, *kept;
} holder;

static struct _cffi_ctypedescr *held_pointer; /* GpuArray * */

/* Frees the struct; other threads of Python's go on meanwhile. */
static void holder_drop(PyObject *pointer) {
  GpuArray *a = (GpuArray *)_cffi_to_c_pointer(pointer, held_pointer);
  if (a == NULL) {
    PyErr_Clear(); /* it was set to something else */
    return;
  }
  Py_BEGIN_ALLOW_THREADS array_free(a);
  Py_END_ALLOW_THREADS
}

static void holder_free(PyObject *self) {
  holder *h = (holder *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject *kind, *error, *trace;
  PyObject_GC_UnTrack(self);
  if (h->structure != NULL) {
    PyErr_Fetch(&kind, &error, &trace);
    holder_drop(h->structure);
    PyErr_Restore(kind, error, trace);
  }
  Py_CLEAR(h->structure);
  Py_CLEAR(h->kept);
  type->tp_free(self);
  Py_DECREF(type);
}

static int holder_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((holder *)self)->kept);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static int holder_clear(PyObject *self) {
  Py_CLEAR(((holder *)self)->kept);
  return 0;
}

static PyMemberDef holder_members[] = {
    {"_struct", T_OBJECT_EX, offsetof(holder, structure), 0, NULL},
    {"_kept", T_OBJECT, offsetof(holder, kept), 0, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot holder_slots[] = {{Py_tp_dealloc, (void *)holder_free},
                                     {Py_tp_traverse, (void *)holder_traverse},
                                     {Py_tp_clear, (void *)holder_clear},
                                     {Py_tp_members, holder_members},
                                     {0, NULL}};

static PyType_Spec holder_spec = {.name = "gpuarray._gpuarray.Holder",
                                  .basicsize = sizeof(holder),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                           Py_TPFLAGS_HAVE_GC,
                                  .slots = holder_slots};

/* The class; NULL with an error printed. `pointer` is the type of GpuArray * as cffi
 * knows it. */
static void *holder_class(void *pointer) {
  static PyObject *made;
  PyGILState_STATE state = PyGILState_Ensure();
  if (made == NULL) {
    held_pointer = (struct _cffi_ctypedescr *)Py_NewRef((PyObject *)pointer);
    made = PyType_FromSpec(&holder_spec);
    if (made == NULL)
      PyErr_Print();
  }
  PyGILState_Release(state);
  return made;
}
