/* OpenCL platforms of all loaded libraries. */
#ifndef GA_OPENCL_PLATFORM_H
#define GA_OPENCL_PLATFORM_H

#include "opencl/api.h"

typedef struct ga_opencl_platform {
  ga_opencl_api *api; /* of the library that offers it */
  char *name, *version;
  cl_uint n_devices;
  cl_device_id *devices;
} ga_opencl_platform;

/* Platforms with devices, those of wheels first; valid until the process ends. The
 * first call loads the libraries. GA_LOAD_ERROR, with advice, if there is none.
 * Thread-safe. */
int ga__opencl_platforms(const ga_opencl_platform **list, unsigned int *n);

/* Appends what was searched and found, a line each. */
void ga__opencl_report(ga_strbuf *out);

/* Device queries; "" or 0 where the driver does not answer. */
void ga__opencl_device_text(char *out, size_t size, const ga_opencl_api *api,
                            cl_device_id device, cl_uint what);
cl_ulong ga__opencl_device_number(const ga_opencl_api *api, cl_device_id device,
                                  cl_uint what);

#endif
