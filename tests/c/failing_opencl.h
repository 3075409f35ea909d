/* Functions of OpenCL that fail where a test says so: the driver is a true one, whose
 * functions are exchanged. */
#ifndef FAILING_OPENCL_H
#define FAILING_OPENCL_H

#include "discrete_gpu.h"

#include <stddef.h>

/* ---- functions that fail ---- */

static cl_int failure;                   /* what they return */
static cl_int ignored, *code = &ignored; /* for those without such an argument */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#define FUNCTION(result, name, slot, arguments)                                        \
  static result fail_##name arguments {                                                \
    *code = failure;                                                                   \
    return (result) _Generic((result)0, cl_int: failure, default: NULL);               \
  }
#define OPTIONAL(result, name, arguments)
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL

static void *fail_clSVMAlloc(cl_context context, cl_ulong flags, size_t size,
                             cl_uint alignment) {
  return NULL;
}

#pragma GCC diagnostic pop

typedef void any_function(void);

typedef struct entry {
  const char *name;
  size_t place; /* in ga_opencl_api */
  any_function *failing;
} entry;

#define ENTRY(name, failing)                                                           \
  {#name, offsetof(ga_opencl_api, name), (any_function *)(failing)}
static const entry entries[] = {
#define FUNCTION(result, name, slot, arguments) ENTRY(name, fail_##name),
#define OPTIONAL(result, name, arguments)
#include "opencl/api.def"
#undef FUNCTION
#undef OPTIONAL
    ENTRY(clSVMAlloc, fail_clSVMAlloc),
};

/* Puts a function in the place of one of OpenCL's; gives back what was there. */
static any_function *replace(size_t place, any_function *function) {
  any_function *before;
  memcpy(&before, (char *)api + place, sizeof before);
  memcpy((char *)api + place, &function, sizeof function);
  return before;
}

static const entry *find(const char *name) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
    if (strcmp(entries[i].name, name) == 0)
      return &entries[i];
  fprintf(stderr, "no function %s\n", name);
  exit(1);
}

/* ---- cases ---- */

typedef int step(gpucontext *ctx);

/* One failure: of this function, or one that it names, in this step. */
typedef struct failing_case {
  step *run;
  const char *name;
  cl_int code;
  int status;
  const char *text;       /* NULL: the function's name */
  any_function *function; /* NULL: one that returns `code` */
} failing_case;

static const failing_case *current; /* NULL: nothing fails */

/* The call of a step in which something may fail. */
#define FAILING(call)                                                                  \
  do {                                                                                 \
    const entry *of = current ? find(current->name) : NULL;                            \
    any_function *real = NULL;                                                         \
    failure = current ? current->code : CL_SUCCESS;                                    \
    if (of)                                                                            \
      real = replace(of->place, current->function ? current->function : of->failing);  \
    status = (call);                                                                   \
    if (of)                                                                            \
      replace(of->place, real);                                                        \
  } while (0)

#endif
