/* Vendor-specific functions, by name. */
#include <gpuarray/extension.h>
#include <string.h>

#include "c/backend/backend.h"

static const ga_extension *const vendors[] = {
    ga__cuda_extensions, ga__opencl_extensions, ga__null_extensions};

void *gpuarray_get_extension(const char *name) {
  for (size_t i = 0; name && i < sizeof vendors / sizeof *vendors; i++)
    for (const ga_extension *e = vendors[i]; e && e->name; e++)
      if (strcmp(e->name, name) == 0) {
        void *address; /* function pointers have this size wherever dlsym exists */
        memcpy(&address, &e->function, sizeof address);
        return address;
      }
  return NULL;
}
