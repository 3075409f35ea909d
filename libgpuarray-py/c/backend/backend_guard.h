/* Guarded entries of a backend's table, each between ga__vendor_enter and
 * ga__vendor_leave (system/ending.h).
 *
 * Include it once, in the file that defines the table as `static const ga_backend
 * plain`; GUARDED names an entry of the guarded table. While another thread ends the
 * process, entries with a status fail and those that free do nothing. */
#include "c/backend/backend.h"
#include "c/system/ending.h"

#define GUARDED(entry) .entry = guarded_##entry
/* Entries of all vendors. */
#define GUARDED_BY_ALL                                                                 \
  GUARDED(report), GUARDED(platform_count), GUARDED(device_count), GUARDED(probe),     \
      GUARDED(open), GUARDED(adopt), GUARDED(close), GUARDED(alloc), GUARDED(free),    \
      GUARDED(free_memory), GUARDED(read), GUARDED(write), GUARDED(copy),              \
      GUARDED(fill), GUARDED(host_alloc), GUARDED(host_free), GUARDED(compile),        \
      GUARDED(binary), GUARDED(load), GUARDED(unload), GUARDED(kernel),                \
      GUARDED(kernel_free), GUARDED(kernel_threads), GUARDED(launch), GUARDED(wait),   \
      GUARDED(queue_new), GUARDED(queue_free), GUARDED(event), GUARDED(event_order),   \
      GUARDED(event_done), GUARDED(event_wait), GUARDED(event_seconds),                \
      GUARDED(event_free), GUARDED(blas_open)

/* Returns a status. */
#define GUARD(entry, parameters, ...)                                                  \
  __attribute__((unused)) static int guarded_##entry parameters {                      \
    GA_TRY(ga__vendor_enter());                                                        \
    int status = plain.entry(__VA_ARGS__);                                             \
    ga__vendor_leave();                                                                \
    return status;                                                                     \
  }
/* Returns a status; may load libraries, which register exit handlers: ours must run
 * first. */
#define GUARD_FIRST(entry, parameters, ...)                                            \
  __attribute__((unused)) static int guarded_##entry parameters {                      \
    GA_TRY(ga__vendor_enter());                                                        \
    int status = plain.entry(__VA_ARGS__);                                             \
    ga__ending_first();                                                                \
    ga__vendor_leave();                                                                \
    return status;                                                                     \
  }
/* Returns nothing. */
#define GUARD_VOID(entry, parameters, ...)                                             \
  __attribute__((unused)) static void guarded_##entry parameters {                     \
    if (ga__vendor_enter() != GA_NO_ERROR)                                             \
      return;                                                                          \
    plain.entry(__VA_ARGS__);                                                          \
    ga__vendor_leave();                                                                \
  }
/* Returns a pointer, which may be NULL. */
#define GUARD_POINTER(entry, parameters, ...)                                          \
  __attribute__((unused)) static void *guarded_##entry parameters {                    \
    if (ga__vendor_enter() != GA_NO_ERROR)                                             \
      return NULL;                                                                     \
    void *result = plain.entry(__VA_ARGS__);                                           \
    ga__vendor_leave();                                                                \
    return result;                                                                     \
  }

GUARD_VOID(report, (ga_strbuf * out), out)
GUARD_FIRST(platform_count, (unsigned int *out), out)
GUARD(device_count, (unsigned int *out, unsigned int platform), out, platform)
GUARD(probe, (ga_device_info * out, unsigned int platform, unsigned int index), out,
      platform, index)
GUARD_FIRST(open,
            (void **device, ga_device_info *info, unsigned int platform,
             unsigned int index),
            device, info, platform, index)
GUARD_FIRST(adopt,
            (void **device, ga_device_info *info, unsigned int *platform,
             unsigned int *index, void *native),
            device, info, platform, index, native)
GUARD_VOID(close, (void *device), device)

GUARD(alloc, (void **memory, void *device, size_t size), memory, device, size)
GUARD_VOID(free, (void *device, void *memory), device, memory)
GUARD(free_memory, (size_t *out, void *device), out, device)
GUARD(read, (void *device, void *host, void *memory, size_t offset, size_t size),
      device, host, memory, offset, size)
GUARD(read_all, (void *device, unsigned int n, const ga_reading *list), device, n, list)
GUARD(write,
      (void *device, void *memory, size_t offset, const void *host, size_t size,
       bool *waited),
      device, memory, offset, host, size, waited)
GUARD(copy,
      (void *device, void *to, size_t to_offset, void *from, size_t from_offset,
       size_t size),
      device, to, to_offset, from, from_offset, size)
GUARD(fill,
      (void *device, void *memory, size_t offset, unsigned char byte, size_t size),
      device, memory, offset, byte, size)
GUARD(host_alloc, (void **memory, void **host, void *device, size_t size), memory, host,
      device, size)
GUARD_VOID(host_free, (void *device, void *memory, void *host), device, memory, host)
GUARD_POINTER(host_address, (void *device, void *memory), device, memory)
GUARD_VOID(forget, (void *device), device)
GUARD(copy_peer,
      (void *to_device, void *to, size_t to_offset, void *from_device, void *from,
       size_t from_offset, size_t size),
      to_device, to, to_offset, from_device, from, from_offset, size)

GUARD_FIRST(compile, (void **program, void *device, const char *source, ga_strbuf *log),
            program, device, source, log)
GUARD_FIRST(compile_for,
            (const char *source, const char *arch, void **bytes, size_t *size,
             ga_strbuf *log),
            source, arch, bytes, size, log)
GUARD(binary, (void **bytes, size_t *size, void *device, void *program), bytes, size,
      device, program)
GUARD_FIRST(load, (void **program, void *device, const void *bytes, size_t size),
            program, device, bytes, size)
GUARD_VOID(unload, (void *device, void *program), device, program)
GUARD(kernel,
      (void **kernel, void *device, void *program, const char *name, bool waits),
      kernel, device, program, name, waits)
GUARD_VOID(kernel_free, (void *device, void *kernel), device, kernel)
GUARD(kernel_threads, (size_t *out, void *device, void *kernel), out, device, kernel)
GUARD(kernel_parameters, (unsigned int *out, void *device, void *kernel), out, device,
      kernel)
GUARD(launch, (void *device, void *kernel, const ga_launch *launch), device, kernel,
      launch)

GUARD(wait, (void *device), device)
GUARD(queue_new, (void **queue, void *device), queue, device)
GUARD_VOID(queue_free, (void *queue), queue)
GUARD(mark, (void *device, uint32_t mark), device, mark)
GUARD(event, (void **event, void *device, bool timed), event, device, timed)
GUARD(event_order, (void *device, void *event), device, event)
GUARD(event_done, (bool *out, void *device, void *event), out, device, event)
GUARD(event_wait, (void *device, void *event), device, event)
GUARD(event_seconds, (double *out, void *device, void *start, void *end), out, device,
      start, end)
GUARD_VOID(event_free, (void *device, void *event), device, event)
GUARD_POINTER(watched, (void *device), device)
GUARD(event_span, (double *start, double *end, void *device, void *origin, void *event),
      start, end, device, origin, event)

GUARD(graph_begin, (void *device, unsigned int lanes), device, lanes)
GUARD(graph_next,
      (void *device, unsigned int n, const unsigned int *after, unsigned int lane),
      device, n, after, lane)
GUARD(graph_end, (void **graph, void *device), graph, device)
GUARD(graph_launch, (void *device, void *graph), device, graph)
GUARD_VOID(graph_free, (void *device, void *graph), device, graph)
GUARD(graph_if, (void *device, void *memory, size_t offset, size_t size), device,
      memory, offset, size)
GUARD(graph_else, (void *device), device)
GUARD(graph_end_if, (void *device), device)

GUARD_FIRST(blas_open, (void *device, bool with_epilogues), device, with_epilogues)

#undef GUARD
#undef GUARD_FIRST
#undef GUARD_VOID
#undef GUARD_POINTER
