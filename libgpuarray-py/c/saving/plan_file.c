#include "c/saving/plan_file.h"

int ga__plan_malformed(void) {
  return GA_FAIL(GA_VALUE_ERROR, "plan load: the file's content is not a valid plan");
}
