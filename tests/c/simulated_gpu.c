/* Oclgrind as a GPU: the simulator says that it is every kind of device, and the
 * library takes it for a processor. This library has the simulator's functions, being
 * linked with it, and answers itself what kind of device it is and how many processors
 * it has, so that the kernels of GPUs are simulated. conftest.py builds it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

enum {
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_TYPE_GPU = 1 << 2
};

typedef int32_t get_info(void *device, uint32_t what, size_t size, void *value,
                         size_t *real_size);

int32_t clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value,
                        size_t *real_size);

int32_t clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value,
                        size_t *real_size) {
  void *symbol = dlsym(RTLD_NEXT, "clGetDeviceInfo");
  get_info *simulated;
  memcpy(&simulated, &symbol, sizeof simulated);
  int32_t code = simulated(device, what, size, value, real_size);
  const uint64_t gpu = CL_DEVICE_TYPE_GPU;
  const uint32_t processors = 4;
  if (what == CL_DEVICE_TYPE && code == 0 && value)
    memcpy(value, &gpu, sizeof gpu);
  if (what == CL_DEVICE_MAX_COMPUTE_UNITS && code == 0 && value)
    memcpy(value, &processors, sizeof processors);
  return code;
}
