/* Pages of host memory. */
#define _DEFAULT_SOURCE
#include "c/system/pages.h"

#include <sys/mman.h>

#define HUGE ((size_t)4 << 20) /* bytes; smaller blocks gain nothing by huge pages */

void *ga__pages_new(size_t size) {
  void *pages =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return NULL;
#ifdef MADV_HUGEPAGE
  if (size >= HUGE)
    madvise(pages, size, MADV_HUGEPAGE);
#endif
  return pages;
}

void ga__pages_free(void *pages, size_t size) {
  munmap(pages, size);
}
