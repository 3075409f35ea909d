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
  gpucontext *device;
  GpuArray place; /* data NULL before the first number */
  char bytes[16]; /* what is there */
} argument;

typedef struct runner {
  PyObject_HEAD vectorcallfunc call;
  GpuPlan *plan;
  PyObject *contexts;   /* those of the plan */
  PyObject *fail;       /* what raises: fail(status, step, values) */
  PyObject *kinds;      /* for each result its dtype, typecode and context */
  PyObject *containers; /* of what follows the arguments */
  PyObject *homes;      /* the contexts of arguments that are arrays, then of these */
  PyObject *updates;    /* for each update its container and result */
  PyObject *hosts;      /* for each result whether NumPy gets it */
  PyObject *empty;      /* numpy.empty */
  PyObject *whole;      /* keeps the plan alive */
  argument *arguments;
  argument **arrays; /* those that are arrays, in order */
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
