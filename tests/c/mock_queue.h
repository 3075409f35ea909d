/* What the parts of the mock share: its queues, and what every call begins with. */
#ifndef MOCK_QUEUE_H
#define MOCK_QUEUE_H

#include "mock_cuda.h"

/* The prototypes of api.def, under the names that the library looks up: a function that
 * does not fit its declaration there does not compile. */
#define MOCK(result, name, suffix, arguments)                                          \
  __attribute__((visibility("default"))) result name arguments __asm__(#name suffix);
#define DRIVER MOCK
#define DRIVER_OPTIONAL MOCK
#define NVRTC MOCK
#define CUBLAS MOCK
#define CUBLAS_OPTIONAL MOCK
#define CUBLASLT MOCK
#define NCCL MOCK
#define NCCL_OPTIONAL MOCK
#define CUSOLVER MOCK
#define CUSOLVER_OPTIONAL MOCK
#define CUFFT MOCK
#define CUDNN MOCK
#define CUDNN_OPTIONAL MOCK
#include "cuda/api.def"

enum {
  INVALID_VALUE = 1,
  INVALID_CONTEXT = 201,
  CAPTURE_UNSUPPORTED = 900,
  MOST_SHARED = 227 << 10, /* bytes of shared memory that a block may have */
  BINARY_HEAD = 72 /* bytes of a binary that tell its architecture; then the source */
};

/* ---- commands ---- */

/* c (m, n) = alpha a b + beta c, `batch` times; the element (i, j) of a is
 * a[i * ai + j * aj]. Only float and double are computed. */
typedef struct product {
  bool is_double, is_skipped, is_relu;
  int m, n, k, batch;
  double alpha, beta;
  const void *a, *b, *bias; /* bias: one for each row of c, or NULL */
  void *c;
  ptrdiff_t ai, aj, bi, bj, ci, cj, a_step, b_step, c_step;
} product;

typedef struct command {
  void (*run)(struct command *self, CUstream stream);
  void *to;
  const void *from;
  size_t size; /* of a copy or fill; the place in `awaited` of what is waited for */
  unsigned char byte;
  CUstream awaited;
  CUfunction function;
  mock_launch launch;
  product product;
  struct mock_meeting *meeting; /* of a collective */
  const void *workspace;        /* of a product by cuBLAS; NULL: none */
  CUgraphConditionalHandle handle;
  CUgraph bodies[2]; /* of a node that chooses; the graph's own */
} command;

typedef struct command_list {
  command *items;
  size_t n, capacity;
} command_list;

struct ga_cuda_context_ {
  CUresult sticky; /* what every call gives once a kernel failed */
  int references;
};
struct ga_cuda_stream_ {
  CUcontext context;
  command_list commands;
  size_t done;
  CUgraph graph; /* that it records, or NULL */
  CUstream next; /* of those that are gone */
};
struct ga_cublas_handle_ {
  CUstream stream;
  const void *workspace;
};

#define MOCK_NODES 64

/* Node i has command i; bit j of before[i]: it waits for node j, directly or not. */
struct ga_cuda_graph_ {
  command_list commands;
  uint64_t before[MOCK_NODES];
  CUgraphNode waited[MOCK_NODES]; /* what the next node waits for */
  size_t n_waited;
  bool is_body; /* of a node that chooses */
  bool is_open; /* its recording was begun, and not ended well */
};

void mock_append(command_list *list, const command *c);
/* Makes the command a graph's next node. */
void mock_record(CUgraph graph, const command *c);
/* Makes it a node behind some others, which the next one need not wait for. */
CUgraphNode mock_add_node(CUgraph graph, const command *c, size_t n_after,
                          const CUgraphNode *after);
/* Whether the next node waits for one, which is a kernel. */
bool mock_follows_kernel(CUgraph graph);
/* Adds a graph's commands to a list in an order in which they may run. */
void mock_flatten(command_list *list, CUgraph graph);
/* The same of one node that chooses, and what sets its handle as a launch does. */
void mock_flatten_choice(command_list *list, const command *c);
void mock_flatten_default(command_list *list, const command *c);
/* What a kernel tells a handle. */
void mock_tell(CUgraphConditionalHandle handle, bool holds);
/* One recording of the thread more or less; gives how many there are. */
int mock_count_recordings(int change);
/* Runs the stream's commands up to a place, as far as there are any. */
void mock_run_until(CUstream stream, size_t place);

/* ---- calls ---- */

extern mock_cuda mock_state;
extern _Thread_local CUcontext mock_current;
/* Whether the thread records, and may do nothing else meanwhile. */
extern _Thread_local bool mock_is_recording;

void mock_lock(void);
/* Gives the lock back, and `result`. */
CUresult mock_end(CUresult result);
/* Holding the lock: waits until another thread calls mock_notify. */
void mock_wait(void);
void mock_notify(void);

/* What a call begins with, which takes the lock: whether it is the one that fails. */
int mock_begin_anywhere(void);
/* As mock_begin_anywhere, for a call that works on the current context. */
CUresult mock_begin(void);
/* As mock_begin, for what a thread may not do while it records a graph. */
CUresult mock_begin_unrecorded(void);
/* What ends a call that began so and makes an object of a library, at `place`; a whole
 * call that gives it back. */
int mock_make(int begun, void *place, size_t size);
int mock_discard(void *object);
/* A whole call that queues a command. */
CUresult mock_push(CUstream stream, const command *c);

#endif
