/* The OpenCL platforms of this process, from every library that was opened. */
#ifndef GA_OPENCL_PLATFORM_H
#define GA_OPENCL_PLATFORM_H

#include "opencl/api.h"

typedef struct ga_opencl_platform {
  ga_opencl_api *api; /* of the library that showed it */
  char *name, *version;
  cl_uint n_devices;
  cl_device_id *devices;
} ga_opencl_platform;

/* The platforms that have a device, those of packages from the index first; borrowed,
 * and there until the process ends. The libraries are opened by the first call that
 * needs them. GA_LOAD_ERROR with what to do if there is no library. Thread-safe. */
int ga__opencl_platforms(const ga_opencl_platform **list, unsigned int *n);

/* Adds what was searched and found, a line each. */
void ga__opencl_report(ga_strbuf *out);

/* Texts and values of a device; what it does not tell is "" or 0. */
void ga__opencl_device_text(char *out, size_t size, const ga_opencl_api *api,
                            cl_device_id device, cl_uint what);
cl_ulong ga__opencl_device_number(const ga_opencl_api *api, cl_device_id device,
                                  cl_uint what);

#endif
