/* A mock of NVIDIA's driver and libraries: what tests tell it, and what it saw. */
#ifndef MOCK_CUDA_H
#define MOCK_CUDA_H

#include "cuda/api.h"

#define MOCK_DEVICES 2
#define MOCK_ARGS 64
#define MOCK_KERNEL_THREADS 768 /* that a block of any kernel may have */

/* A launch of the kernel `name`. Arguments are pointers and values of up to 8 bytes. */
typedef struct mock_launch {
  char name[128];
  unsigned int grid[3], block[3], shared;
  bool overlaps; /* the node before it in a graph */
  unsigned int n_args;
  uint64_t args[MOCK_ARGS];
} mock_launch;

/* How the last product was asked for: cuBLAS's numbers. */
typedef struct mock_product {
  int type, compute, ta, tb, batch, epilogue; /* epilogue 0: by cuBLAS, not cuBLASLt */
  bool is_vector;
} mock_product;

typedef struct mock_cuda {
  /* What it is; the first three are read when the driver starts. */
  int version, devices;
  CUresult init;          /* of cuInit */
  int capability, newest; /* of the devices, and of what NVRTC compiles for */

  /* How it fails. Of the calls that can fail and that come from now on, the one with
   * this number gives `fail_with`; a negative number: none. */
  long fail_at;
  int fail_with;
  CUresult fault; /* what the next kernel that runs does to its device */

  /* What a kernel does when it runs; NULL: nothing. */
  void (*run)(const mock_launch *launch);

  /* What there is now. Everything is given back in the end. */
  long contexts, streams, events, allocations, pinned, modules, programs, graphs,
      handles, comms;

  /* What was done. */
  mock_launch queued; /* the last launch that was queued */
  mock_product asked;
  long host_copies; /* to the host and from there */
  long launches, graph_launches, peer_copies, compilations, products;
  long overlaps;             /* nodes of graphs that may start beside the one before */
  unsigned int compile_time; /* us that NVRTC is to take */
  bool is_fast;              /* a command takes 1 us, else 1 ms */
  int together;         /* compilations that wait for each other, for 20 s at most */
  int met, alone;       /* that have begun to, and that waited in vain */
  long branches;        /* nodes of graphs that do not wait for the node before them */
  long choices;         /* nodes of graphs that chose a side, as they ran */
  int own_shared;       /* bytes of shared memory that each kernel has of its own */
  long limits, lowered; /* of dynamic shared memory: set, and of these below another */
  long shared; /* pairs of products that take one workspace and need not wait */
  long factorizations, batches; /* cuSOLVER's, of one matrix and of several */
  long plans, transforms;       /* cuFFT's */
  int direction;                /* of the last transform */
  int dnn_version;              /* of cuDNN; 0: 9.12.0 */
  long convolutions, dnn_plans; /* cuDNN's executions and finalized plans */
  int64_t dnn_engine, dnn_tile; /* of the last execution */
  const void *reached;          /* the context that another was last given access to */
  char architecture[32];        /* of the last compilation */
} mock_cuda;

/* The state; the library exports it under this name. */
mock_cuda *mock_cuda_state(void);

#endif
