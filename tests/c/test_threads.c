/* Many threads on the null device, and on the device that the environment names. */
#include "threads.h"

int main(void) {
  const char *device = getenv("GPUARRAY_TEST_DEVICE");
  test_threads("null", 1500);
  if (device && *device)
    test_threads(device, 300);
  return check_result("threads");
}
