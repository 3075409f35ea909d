/* The backend interface: one table of functions per vendor. All the library knows of
 * CUDA and OpenCL.
 *
 * The caller has checked every argument. `device`, `memory`, `program`, `kernel` and
 * `event` are the vendor's. An entry may be NULL only where it is marked (optional).
 * Every device has an in-order queue; "queued" means on it. What queue_new returns
 * stands for another queue wherever a device is expected. Thread-safe: a backend locks
 * what its vendor does not. A vendor's failure is GA_IMPL_ERROR with call, error name
 * and text; out of memory is GA_MEMORY_ERROR; a failed build is GA_COMPILE_ERROR. */
#ifndef GA_C_BACKEND_H
#define GA_C_BACKEND_H

#include <stdint.h>

#include "c/backend/libraries.h"
#include "c/base/strbuf.h"

/* Properties of a device; filled once when it is opened. */
typedef struct ga_device_info {
  char name[256];      /* the vendor's name */
  char bin_id[256];    /* target of compiled code: architecture, compiler version */
  char arch[16];       /* compute capability for cross compilation, "sm_90", or "" */
  char unique_id[16];  /* PCI bus id, or "" */
  size_t total_memory; /* bytes */
  size_t max_alloc;    /* bytes of the largest buffer */
  size_t local_memory; /* bytes of shared memory per block */
  size_t max_grid[3];
  size_t max_block[3];
  size_t max_threads; /* per block */
  unsigned int processors;
  unsigned int warp;         /* size; on a CPU the number of SIMD lanes */
  unsigned int vector_bytes; /* of a register of a CPU; or 0 */
  bool has_double, has_half; /* float64 arithmetic; half arithmetic */
  bool is_cpu, is_discrete_gpu, is_gpu;
  bool has_progress; /* forward progress of started blocks (they may spin on one
                        another), and warp intrinsics of 32 threads in the prelude */
} ga_device_info;

/* An argument of a launch. */
enum ga_arg_kind {
  GA_ARG_MEMORY, /* a buffer */
  GA_ARG_OFFSET, /* a ga_size: byte offset into `buffer` */
  GA_ARG_VALUE   /* `size` bytes of `value` */
};
typedef struct ga_arg {
  enum ga_arg_kind kind;
  bool is_read_only; /* MEMORY: the kernel does not write to it */
  char number;       /* VALUE: 'i' if known to be an integer, whatever the parameter's
                        type, 'f' if a float or a double, else 0 */
  unsigned int size; /* of the value; 8 for GA_ARG_OFFSET */
  gpudata *buffer;   /* MEMORY: the argument; OFFSET: the buffer it refers to */
  union {
    uint64_t u64;
    unsigned char bytes[16];
  } value;
} ga_arg;

#define GA_MAX_ARGS 256

/* Launch configuration: grid[i] blocks of block[i] threads in nd dimensions, with
 * `shared` bytes of dynamic shared memory (on OpenCL an extra last argument, if not
 * 0). */
typedef struct ga_launch {
  unsigned int nd;
  size_t grid[3], block[3];
  size_t shared;
  size_t elements; /* that any number of threads may share, by strides of them; or 0 */
  size_t work;     /* about as many elements, one after another; 0 if not known */
  unsigned int n_args;
  const ga_arg *args;
} ga_launch;

/* Interoperability: how other libraries of the process share a device's memory and
 * order their work with its queue. A `stream` is DLPack's (gpuarray/dlpack.h), not
 * -1. */
typedef struct ga_sharing {
  int device_type; /* DLPack's DLDeviceType */
  bool is_address; /* memory is a device address; else an opaque handle without pointer
                      arithmetic */
  /* (optional) The stream that is in order with the queue. */
  int (*stream)(intptr_t *out, void *device);
  /* publish: the stream waits for the queue. follow: the queue waits for the stream. */
  int (*publish)(void *device, intptr_t stream);
  int (*follow)(void *device, intptr_t stream);
  /* (optional) GA_INVALID_ERROR unless the device can access this foreign memory; *size
   * becomes its bytes. */
  int (*check)(size_t *size, void *device, void *memory);
  /* (optional) Replaces a sub-buffer *memory by its parent, and adds up *offset.
   * Anything else stays as it is. */
  void (*whole)(void **memory, size_t *offset, void *device);
} ga_sharing;

/* A vendor-specific function, by name (gpuarray/extension.h). */
typedef struct ga_extension {
  const char *name; /* NULL ends a list */
  void (*function)(void);
} ga_extension;

/* Pinned (page-locked) host memory, which the device reads and writes by DMA. It may
 * outlive the device. */
typedef struct ga_pinning {
  /* *handle is the vendor's. Fails where the device gains nothing by pinned memory. */
  int (*alloc)(void **handle, void **host, void *device, size_t size);
  /* `device` is NULL if it was closed, after `leave`. No queued work uses the
   * memory. */
  void (*free)(void *device, void *handle, void *host, size_t size);
  /* Unregisters before the device is closed; address and content stay. */
  void (*leave)(void *device, void *handle, void *host);
  /* Asynchronous copies between the device and pinned memory: queued, complete when the
   * queue has reached them. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  int (*write)(void *device, void *memory, size_t offset, const void *host,
               size_t size);
} ga_pinning;

/* Destination of a copy to the host. */
enum ga_reading_way {
  GA_READ_COPIES, /* pageable memory */
  GA_READ_PINNED, /* memory of the backend's pinning */
  GA_READ_LENT /* zero-copy: mapped memory, valid when the work on the buffer is done */
};

/* A copy from the device to the host, of at least one byte. */
typedef struct ga_reading {
  enum ga_reading_way way;
  void *host;
  gpudata *buffer;
  void *memory; /* the buffer's */
  size_t offset, size;
} ga_reading;

/* The pragma (OpenCL's spelling) that forbids contraction into FMA. A backend whose
 * language lacks it must recognize it in the source. */
#define GA_ROUNDED "#pragma OPENCL FP_CONTRACT OFF"

typedef struct ga_backend {
  const char *name;    /* "cuda" */
  const char *prelude; /* definitions of the kernel language for this vendor */
  /* CPU math functions that replace the language's, only in sources that call them; a
   * list that ends with NULL, or NULL. */
  const char *const *math;
  bool compiles_at_once; /* compilation gains by several threads */
  size_t sure_threads;   /* block size that every kernel supports, or 0 if unknown */

  /* Adds the search report, a line for each attempt. Loads the libraries first. */
  void (*report)(ga_strbuf *out);
  int (*platform_count)(unsigned int *out);
  int (*device_count)(unsigned int *out, unsigned int platform);
  /* Properties of a device without opening it. */
  int (*probe)(ga_device_info *out, unsigned int platform, unsigned int index);

  int (*open)(void **device, ga_device_info *info, unsigned int platform,
              unsigned int index);
  /* (optional) Opens a device on a native context of the application's and identifies
   * the device. The application keeps its context alive until close. */
  int (*adopt)(void **device, ga_device_info *info, unsigned int *platform,
               unsigned int *index, void *native);
  /* Waits, then frees everything. */
  void (*close)(void *device);

  int (*alloc)(void **memory, void *device, size_t size);
  /* No queued work uses the memory. */
  void (*free)(void *device, void *memory);
  /* Free bytes on the device; GA_DEVSUP_ERROR where the vendor has no query. */
  int (*free_memory)(size_t *out, void *device);

  /* Synchronous. */
  int (*read)(void *device, void *host, void *memory, size_t offset, size_t size);
  /* (optional) Several reads with one wait, where they are small. */
  int (*read_all)(void *device, unsigned int n, const ga_reading *list);
  /* Returns when `host` may be reused; large copies are staged through pinned memory.
   * Sets *waited if the host waited for queued work. */
  int (*write)(void *device, void *memory, size_t offset, const void *host, size_t size,
               bool *waited);
  /* Queued. The ranges do not overlap. */
  int (*copy)(void *device, void *to, size_t to_offset, void *from, size_t from_offset,
              size_t size);
  int (*fill)(void *device, void *memory, size_t offset, unsigned char byte,
              size_t size);
  /* (optional) Host memory that the device can access. *host is its host address, or
   * NULL where only kernels and copies may touch it. */
  int (*host_alloc)(void **memory, void **host, void *device, size_t size);
  void (*host_free)(void *device, void *memory, void *host);
  /* (optional) Host address of device memory on a device with unified memory; NULL
   * where there is none. */
  void *(*host_address)(void *device, void *memory);
  const ga_pinning *pinning; /* (optional) */
  /* (optional) Drops caches about foreign memory, which its owner may have freed. */
  void (*forget)(void *device);
  /* (optional) Peer copy between two devices of this vendor, queued on the first. The
   * caller orders the queues by events. */
  int (*copy_peer)(void *to_device, void *to, size_t to_offset, void *from_device,
                   void *from, size_t from_offset, size_t size);

  /* Compiles a complete source (prelude included). GA_COMPILE_ERROR leaves the vendor's
   * log in `log`. */
  int (*compile)(void **program, void *device, const char *source, ga_strbuf *log);
  /* (optional) Cross compilation, without a device, for an architecture as in
   * info.arch; *bytes (ga__alloc) is input for `load`. GA_VALUE_ERROR for a malformed
   * architecture, GA_DEVSUP_ERROR for one that the compiler does not know. */
  int (*compile_for)(const char *source, const char *arch, void **bytes, size_t *size,
                     ga_strbuf *log);
  /* The program's binary; the caller frees *bytes with ga__free. */
  int (*binary)(void **bytes, size_t *size, void *device, void *program);
  /* A program from a binary; GA_COMPILE_ERROR if the vendor refuses it. */
  int (*load)(void **program, void *device, const void *bytes, size_t size);
  void (*unload)(void *device, void *program);
  /* A kernel of the program, which must outlive it. `waits`: it begins by KERNEL_BEGIN,
   * so that its launches may start before what they depend on has ended. */
  int (*kernel)(void **kernel, void *device, void *program, const char *name,
                bool waits);
  void (*kernel_free)(void *device, void *kernel);
  /* Maximum block size of the kernel. */
  int (*kernel_threads)(size_t *out, void *device, void *kernel);
  /* Number of parameters; GA_DEVSUP_ERROR if unknown. NULL where `launch` itself
   * refuses a wrong number of arguments. */
  int (*kernel_parameters)(unsigned int *out, void *device, void *kernel);
  int (*launch)(void *device, void *kernel, const ga_launch *launch);

  /* Waits for the queue. Asynchronous failures are GA_RUN_ERROR. */
  int (*wait)(void *device);
  /* (optional, both or none) Another in-order queue of an open device. It must be idle
   * when freed, before the device is closed. */
  int (*queue_new)(void **queue, void *device);
  void (*queue_free)(void *queue);
  /* (optional, both or none) Queues a progress mark, not 0; returns the latest mark
   * passed (0 at first), to find the launch at which a queue failed. */
  int (*mark)(void *device, uint32_t mark);
  void (*progress)(uint32_t *mark, void *device);

  /* An event: done when all work queued before it is. `timed` if event_seconds will be
   * called. */
  int (*event)(void **event, void *device, bool timed);
  /* The queue waits for an event of another queue, of whichever device. */
  int (*event_order)(void *device, void *event);
  int (*event_done)(bool *out, void *device, void *event);
  int (*event_wait)(void *device, void *event);
  /* Device time in seconds between two events that are done. */
  int (*event_seconds)(double *out, void *device, void *start, void *end);
  void (*event_free)(void *device, void *event);
  /* (optional, all or none) Commands with events of their own (OpenCL). `watch` asks
   * for the event of what this thread queues next; `watched` ends that and returns the
   * latest command's event, or NULL where the host did the work. event_span: start and
   * end in seconds since the event `origin`. Without these a command is timed by an
   * event before and one after it. */
  void (*watch)(void *device);
  void *(*watched)(void *device);
  int (*event_span)(double *start, double *end, void *device, void *origin,
                    void *event);

  /* (optional, all or none) Graph capture: the launches, copies, fills and products of
   * this thread between begin and end are recorded, not queued. Nothing else may be
   * called in between; end is called in every case. Commands are a chain, each after
   * the one before. With `lanes` (at most graph_lanes) graph_next is called before each
   * command with its dependencies, counted from 0; products in different lanes may run
   * at once. */
  unsigned int graph_lanes; /* 0: no graph_next */
  int (*graph_begin)(void *device, unsigned int lanes);
  int (*graph_next)(void *device, unsigned int n, const unsigned int *after,
                    unsigned int lane);
  int (*graph_end)(void **graph, void *device);
  int (*graph_launch)(void *device, void *graph);
  void (*graph_free)(void *device, void *graph);
  /* (optional, all or none) Conditional nodes of a graph without lanes: the commands
   * between graph_if and graph_else run if any of `size` bytes is not 0 at that time,
   * those between graph_else and graph_end_if otherwise. They nest. graph_chooses: true
   * if this device supports them; else the others are not called. */
  bool (*graph_chooses)(void *device);
  int (*graph_if)(void *device, void *memory, size_t offset, size_t size);
  int (*graph_else)(void *device);
  int (*graph_end_if)(void *device);

  /* (optional) Opens the vendor's BLAS; `blas` is used only afterwards. Where either is
   * NULL, or this fails with GA_LOAD_ERROR, the library uses its own kernels. No
   * initialization is possible during capture, so it is done here, `with_epilogues`
   * also for those. */
  int (*blas_open)(void *device, bool with_epilogues);
  const ga_blas *blas;
  const ga_solver *solver; /* (optional) */
  const ga_fft *fft;       /* (optional) */
  const ga_dnn *dnn;       /* (optional) */

  const ga_sharing *sharing;         /* (optional) */
  const ga_collectives *collectives; /* (optional) */
} ga_backend;

/* The backend's memory of a buffer: the first member of gpudata, argument of launch,
 * read, copy ... */
static inline void *ga__buffer_memory(const gpudata *buffer) {
  return *(void *const *)(const void *)buffer;
}

extern const ga_backend ga__cuda_backend, ga__opencl_backend, ga__null_backend;
extern const ga_extension ga__cuda_extensions[], ga__opencl_extensions[],
    ga__null_extensions[];

#endif
