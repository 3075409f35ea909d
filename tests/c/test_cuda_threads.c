/* Many threads on the mock of CUDA. */
#include "threads.h"

#include "mock_context.h"

int main(void) {
  open_mock();
  test_threads("cuda0", 400);
  check_given_back();
  return check_result("cuda threads");
}
