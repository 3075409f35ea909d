/* Functions of one vendor alone, by their names. */
#include <gpuarray/extension.h>
#include <string.h>

#include "c/backend/backend.h"

static const ga_extension *const vendors[] = {
    ga__cuda_extensions, ga__opencl_extensions, ga__null_extensions};

void *gpuarray_get_extension(const char *name) {
  for (size_t i = 0; name && i < sizeof vendors / sizeof *vendors; i++)
    for (const ga_extension *e = vendors[i]; e && e->name; e++)
      if (strcmp(e->name, name) == 0) {
        void *address; /* of the size of a function's on every system with dlsym */
        memcpy(&address, &e->function, sizeof address);
        return address;
      }
  return NULL;
}
