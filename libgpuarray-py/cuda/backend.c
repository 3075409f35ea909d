/* CUDA's backend table. */
#include "cuda/compile.h"
#include "cuda/conditional.h"
#include "cuda/device_state.h"
#include "cuda/graph.h"
#include "cuda/kernel.h"
#include "cuda/library/blas.h"
#include "cuda/library/dnn.h"
#include "cuda/library/fft.h"
#include "cuda/library/nccl.h"
#include "cuda/library/solver.h"
#include "cuda/pinned.h"
#include "cuda/share.h"
#include "cuda/transfer.h"

static const ga_backend plain = {
    .report = ga__cuda_report,
    .platform_count = ga__cuda_platform_count,
    .device_count = ga__cuda_device_count,
    .probe = ga__cuda_probe,
    .open = ga__cuda_open,
    .adopt = ga__cuda_adopt,
    .close = ga__cuda_close,
    .alloc = ga__cuda_alloc,
    .free = ga__cuda_free,
    .free_memory = ga__cuda_free_memory,
    .read = ga__cuda_read,
    .read_all = ga__cuda_read_all,
    .write = ga__cuda_write,
    .copy = ga__cuda_copy,
    .fill = ga__cuda_fill,
    .copy_peer = ga__cuda_copy_peer,
    .host_alloc = ga__cuda_host_alloc,
    .host_free = ga__cuda_host_free,
    .compile = ga__cuda_compile,
    .compile_for = ga__cuda_compile_for,
    .binary = ga__cuda_binary,
    .load = ga__cuda_load,
    .unload = ga__cuda_unload,
    .kernel = ga__cuda_kernel,
    .kernel_free = ga__cuda_kernel_free,
    .kernel_threads = ga__cuda_kernel_threads,
    .kernel_parameters = ga__cuda_kernel_parameters,
    .launch = ga__cuda_launch,
    .wait = ga__cuda_wait,
    .queue_new = ga__cuda_queue_new,
    .queue_free = ga__cuda_queue_free,
    .mark = ga__cuda_mark,
    .event = ga__cuda_event,
    .event_order = ga__cuda_event_order,
    .event_done = ga__cuda_event_done,
    .event_wait = ga__cuda_event_wait,
    .event_seconds = ga__cuda_event_seconds,
    .event_free = ga__cuda_event_free,
    .graph_begin = ga__cuda_graph_begin,
    .graph_next = ga__cuda_graph_next,
    .graph_end = ga__cuda_graph_end,
    .graph_launch = ga__cuda_graph_launch,
    .graph_free = ga__cuda_graph_free,
    .graph_if = ga__cuda_graph_if,
    .graph_else = ga__cuda_graph_else,
    .graph_end_if = ga__cuda_graph_end_if,
    .blas_open = ga__cuda_blas_open,
};

#include "c/backend/backend_guard.h"

const ga_backend ga__cuda_backend = {
    .name = "cuda",
    .prelude = ga__cuda_prelude,
    .compiles_at_once = true,
    .sure_threads = 256, /* at 255 registers a thread, an SM's 65536 suffice */
    GUARDED_BY_ALL,

    GUARDED(read_all),
    GUARDED(copy_peer),
    .pinning = &ga__cuda_pinning,

    GUARDED(compile_for),
    GUARDED(kernel_parameters),

    GUARDED(mark),
    .progress = ga__cuda_progress,

    .graph_lanes = GA_CUDA_LANES,
    GUARDED(graph_begin),
    GUARDED(graph_next),
    GUARDED(graph_end),
    GUARDED(graph_launch),
    GUARDED(graph_free),
    .graph_chooses = ga__cuda_graph_chooses,
    GUARDED(graph_if),
    GUARDED(graph_else),
    GUARDED(graph_end_if),

    .blas = &ga__cuda_blas,
    .solver = &ga__cuda_solver,
    .fft = &ga__cuda_fft,
    .dnn = &ga__cuda_dnn,

    .sharing = &ga__cuda_sharing,
    .collectives = &ga__cuda_collectives,
};
