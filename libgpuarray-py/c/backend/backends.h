/* The list of backends; the only place of c/ that names vendors. */
#ifndef GA_C_BACKENDS_H
#define GA_C_BACKENDS_H

#include "c/backend/backend.h"

/* NULL for an unknown name. */
const ga_backend *ga__backend_find(const char *name);
/* The names, for messages: "cuda, opencl, null". */
const char *ga__backend_names(void);

/* A device, before it is opened. */
typedef struct ga_address {
  const ga_backend *backend;
  unsigned int platform, index;
} ga_address;
#define GA_DEVICE_NAME 32

/* Around what a vendor's runtime is asked. GA_FORK_ERROR where the process was forked
 * from one that has asked: the runtime has lost its threads, and would wait for them
 * for ever. */
int ga__backend_check_fork(const ga_backend *backend);
void ga__backend_note_asked(const ga_backend *backend);

/* The device that `name` ("cuda0", "cuda", "opencl0:1", "opencl", "null") means; NULL
 * is the first of: CUDA, a discrete OpenCL GPU, any OpenCL GPU, an OpenCL CPU.
 * GA_INVALID_ERROR for another form, GA_NODEV_ERROR or GA_LOAD_ERROR with what to do
 * where there is none. */
int ga__backend_device(ga_address *out, const char *name);
/* The device's name in that form. */
void ga__backend_device_name(char out[GA_DEVICE_NAME], const ga_address *address);
/* Adds what to do to the message of a device that could not be opened. */
int ga__backend_advise(int status);

/* GA_DEVSUP_ERROR where source of another vendor's language is meant by `flags`
 * (GA_USE_CUDA, GA_USE_OPENCL). */
int ga__backend_speaks(const ga_backend *backend, int flags);

#endif
