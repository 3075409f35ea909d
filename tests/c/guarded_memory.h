/* Device memory between pages that nobody may touch, where device and host share it: a
 * kernel that reads or writes beyond a buffer ends the process. Buffers end where a
 * page does; their sizes are those of the library's pool, multiples of 512 bytes.
 * CMakeLists.txt has the linker put __wrap_ga__dynload_symbol before the library's. */
#ifndef GUARDED_MEMORY_H
#define GUARDED_MEMORY_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD_PAGE ((size_t)4096)

static size_t n_guarded; /* buffers so far */

/* A page that says how much was mapped, one that guards, the data, one that guards. */
static inline void *guarded_alloc(void *context, uint64_t flags, size_t size,
                                  unsigned int alignment) {
  (void)context, (void)flags, (void)alignment;
  const size_t room = (size + GUARD_PAGE - 1) / GUARD_PAGE * GUARD_PAGE;
  const size_t whole = room + 3 * GUARD_PAGE;
  char *base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return NULL;
  n_guarded++;
  mprotect(base, GUARD_PAGE, PROT_READ | PROT_WRITE);
  mprotect(base + 2 * GUARD_PAGE, room, PROT_READ | PROT_WRITE);
  memcpy(base, &whole, sizeof whole);
  return base + 2 * GUARD_PAGE + (room - size) / 128 * 128;
}

static inline void guarded_free(void *context, void *memory) {
  (void)context;
  if (memory == NULL)
    return;
  size_t whole;
  char *base = (char *)memory - (uintptr_t)memory % GUARD_PAGE - 2 * GUARD_PAGE;
  memcpy(&whole, base, sizeof whole);
  munmap(base, whole);
}

typedef void guarded_function(void);

static inline void *guarded_address(guarded_function *f) {
  void *address;
  memcpy(&address, &f, sizeof address);
  return address;
}

void *__real_ga__dynload_symbol(void *library, const char *name);
void *__wrap_ga__dynload_symbol(void *library, const char *name);

void *__wrap_ga__dynload_symbol(void *library, const char *name) {
  void *found = __real_ga__dynload_symbol(library, name);
  if (found != NULL && strcmp(name, "clSVMAlloc") == 0)
    return guarded_address((guarded_function *)guarded_alloc);
  if (found != NULL && strcmp(name, "clSVMFree") == 0)
    return guarded_address((guarded_function *)guarded_free);
  return found;
}

#endif
