/* One call of a runner: arguments, the plan without the interpreter's lock, results. */

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

static _Thread_local bool runs_plan;

/* True if a signal's handler raises, as that of Ctrl-C does, in a call of a runner,
 * which then raises the same. */
static int is_interrupted(void) {
  if (!runs_plan)
    return false;
  PyGILState_STATE state = PyGILState_Ensure();
  const bool raises = PyErr_CheckSignals() < 0;
  PyGILState_Release(state);
  return raises;
}

/* What needs no Python object. */
static int work(const call_frame *f, const runner *r, int *step) {
  PyThreadState *state = PyEval_SaveThread();
  int outcome = upload(f, r);
  const bool was_running = runs_plan;
  runs_plan = true;
  if (outcome == GA_NO_ERROR)
    outcome = GpuPlan_call(r->plan, f->outs, f->ins, f->integers, step);
  runs_plan = was_running;
  PyEval_RestoreThread(state);
  return outcome;
}

/* True if a result that is to be read lies in the value of a container, before or after
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
    return PyErr_Occurred() ? NULL : fail(f, r, args, outcome, step);
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

static bool are_open(const runner *r) {
  bool is_open = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->contexts); i++)
    is_open &= *slot_of(PyTuple_GET_ITEM(r->contexts, i), r->pointer_at) != Py_None;
  return is_open;
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
  PyObject *result = NULL;
  if (!are_open(r) || !take_arguments(&f, r, args))
    result = Py_NewRef(Py_NotImplemented);
  else if (take_turns(&f, r))
    result = take_values(&f, r) ? run(&f, r, args) : Py_NewRef(Py_NotImplemented);
  give_turns(&f, f.n_turns);
  drop_values(&f, r);
  if (list != few)
    free(list);
  return result;
}
