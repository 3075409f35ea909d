/* Objects that count their references. */
#ifndef GPUARRAY_OP_OBJECTS_H
#define GPUARRAY_OP_OBJECTS_H

typedef struct _object {
  ssize_t ob_refcnt;
  void (*end)(struct _object *); /* NULL: the object lives for ever */
} PyObject;

typedef ssize_t Py_ssize_t;

static inline void ga_op_retain(void *object) {
  if (object != NULL)
    ((PyObject *)object)->ob_refcnt++;
}

static inline void ga_op_release(void *object) {
  PyObject *o = (PyObject *)object;
  if (o != NULL && o->end != NULL && --o->ob_refcnt == 0)
    o->end(o);
}

#define Py_INCREF(o) ga_op_retain(o)
#define Py_XINCREF(o) ga_op_retain(o)
#define Py_DECREF(o) ga_op_release(o)
#define Py_XDECREF(o) ga_op_release(o)
#define Py_CLEAR(o)                                                                    \
  do {                                                                                 \
    void *ga_op_old = (void *)(o);                                                     \
    (o) = NULL;                                                                        \
    ga_op_release(ga_op_old);                                                          \
  } while (0)

static PyObject ga_op_none = {1, NULL};
#define Py_None (&ga_op_none)

#ifndef Py_MIN
#define Py_MIN(a, b) ((a) < (b) ? (a) : (b))
#define Py_MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

#endif
