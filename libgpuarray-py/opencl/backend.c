/* OpenCL's backend table. */
#include "opencl/kernel.h"
#include "opencl/library/blas.h"
#include "opencl/pinned.h"
#include "opencl/platform.h"
#include "opencl/share.h"
#include "opencl/transfer.h"

static const char prelude[] = {
#include "prelude.inc"
};

static const char numbers[] = {
#include "math.inc"
};

static const char angles[] = {
#include "math_angles.inc"
};

static const char words[] = {
#include "math_words.inc"
};

static const char *const math[] = {numbers, angles, words, NULL};

static const ga_backend plain = {
    .report = ga__opencl_report,
    .platform_count = ga__opencl_platform_count,
    .device_count = ga__opencl_device_count,
    .probe = ga__opencl_probe,
    .open = ga__opencl_open,
    .adopt = ga__opencl_adopt,
    .close = ga__opencl_close,
    .alloc = ga__opencl_alloc,
    .free = ga__opencl_free,
    .free_memory = ga__opencl_free_memory,
    .read = ga__opencl_read,
    .write = ga__opencl_write,
    .copy = ga__opencl_copy,
    .fill = ga__opencl_fill,
    .host_alloc = ga__opencl_host_alloc,
    .host_free = ga__opencl_host_free,
    .host_address = ga__opencl_host_address,
    .forget = ga__opencl_forget,
    .compile = ga__opencl_compile,
    .binary = ga__opencl_binary,
    .load = ga__opencl_load_program,
    .unload = ga__opencl_unload,
    .kernel = ga__opencl_kernel,
    .kernel_free = ga__opencl_kernel_free,
    .kernel_threads = ga__opencl_kernel_threads,
    .launch = ga__opencl_launch,
    .wait = ga__opencl_wait,
    .queue_new = ga__opencl_queue_new,
    .queue_free = ga__opencl_queue_free,
    .event = ga__opencl_event,
    .event_order = ga__opencl_event_order,
    .event_done = ga__opencl_event_done,
    .event_wait = ga__opencl_event_wait,
    .event_seconds = ga__opencl_event_seconds,
    .event_free = ga__opencl_event_free,
    .watched = ga__opencl_watched,
    .event_span = ga__opencl_event_span,
    .blas_open = ga__opencl_blas_open,
};

#include "c/backend/backend_guard.h"

const ga_backend ga__opencl_backend = {
    .name = "opencl",
    .prelude = prelude,
    .math = math,
    GUARDED_BY_ALL,
    GUARDED(host_address),
    .pinning = &ga__opencl_pinning,
    GUARDED(forget),
    .watch = ga__opencl_watch,
    GUARDED(watched),
    GUARDED(event_span),
    .sharing = &ga__opencl_sharing,
    .blas = &ga__opencl_blas,
};
