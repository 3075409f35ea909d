/* Dynamic loading of NVIDIA's driver and libraries into one table of functions.
 *
 * Types and functions are declared here; no vendor header is needed. Each library is
 * opened on first use, once in a process, under a lock. */
#ifndef GA_CUDA_API_H
#define GA_CUDA_API_H

#include <stdint.h>

#include "c/base/strbuf.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct ga_cuda_context_ *CUcontext;
typedef struct ga_cuda_stream_ *CUstream;
typedef struct ga_cuda_event_ *CUevent;
typedef struct ga_cuda_module_ *CUmodule;
typedef struct ga_cuda_function_ *CUfunction;
typedef struct ga_cuda_graph_ *CUgraph;
typedef struct ga_cuda_graph_node_ *CUgraphNode;
typedef struct ga_cuda_graph_exec_ *CUgraphExec;
typedef unsigned long long CUgraphConditionalHandle;
/* CUgraphNodeParams of a conditional node, padded to the size of the union. */
typedef struct ga_cuda_choice_node {
  int type, reserved0[3];
  CUgraphConditionalHandle handle;
  int kind;
  unsigned int size;
  CUgraph *bodies; /* output, owned by the graph */
  CUcontext context;
  long long padding[25], reserved2;
} ga_cuda_choice_node;
/* An attribute of a launch; the value is an int for the one in use. */
typedef struct CUlaunchAttribute {
  int id;
  char padding[4];
  union {
    int number;
    uint64_t words[8];
  } value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig {
  unsigned int grid[3], block[3], shared;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned int n_attributes;
} CUlaunchConfig;
typedef struct ga_cuda_ipc_handle {
  char bytes[64];
} ga_cuda_ipc_handle;
typedef int nvrtcResult;
typedef struct ga_nvrtc_program_ *nvrtcProgram;
typedef int cublasStatus;
typedef struct ga_cublas_handle_ *cublasHandle;
typedef int cusolverStatus;
typedef struct ga_cusolver_handle_ *cusolverHandle;
typedef struct ga_cusolver_params_ *cusolverParams;
typedef int cufftResult;
typedef int cufftPlan;
typedef int cudnnStatus;
typedef struct ga_cudnn_handle_ *cudnnHandle;
typedef struct ga_cudnn_descriptor_ *cudnnDescriptor; /* any descriptor */
typedef int ncclResult;
typedef struct ga_nccl_comm_ *ncclComm;
typedef struct ncclUniqueId {
  char bytes[128];
} ncclUniqueId;
typedef struct ga_cublaslt_handle_ *cublasLtHandle;
typedef struct ga_cublaslt_object_ *cublasLtObject; /* any descriptor */
typedef struct cublasLtAlgorithm {
  uint64_t words[8];
} cublasLtAlgorithm;
typedef struct cublasLtHeuristic {
  cublasLtAlgorithm algorithm;
  size_t workspace;
  cublasStatus state;
  float waves;
  int reserved[4];
} cublasLtHeuristic;

/* Status codes. */
enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  CUBLAS_STATUS_ALLOC_FAILED = 3
};

/* Valid after ga__cuda_need_* of a function's library; an optional one may be NULL. */
typedef struct ga_cuda_api {
#define FIELD(result, name, suffix, arguments) result(*name) arguments;
#define DRIVER FIELD
#define DRIVER_OPTIONAL FIELD
#define NVRTC FIELD
#define CUBLAS FIELD
#define CUBLAS_OPTIONAL FIELD
#define NCCL FIELD
#define NCCL_OPTIONAL FIELD
#define CUBLASLT FIELD
#define CUSOLVER FIELD
#define CUSOLVER_OPTIONAL FIELD
#define CUFFT FIELD
#define CUDNN FIELD
#define CUDNN_OPTIONAL FIELD
#include "cuda/api.def"
#undef DRIVER
#undef DRIVER_OPTIONAL
#undef NVRTC
#undef CUBLAS
#undef CUBLAS_OPTIONAL
#undef NCCL
#undef NCCL_OPTIONAL
#undef CUBLASLT
#undef CUSOLVER
#undef CUSOLVER_OPTIONAL
#undef CUFFT
#undef CUDNN
#undef CUDNN_OPTIONAL
#undef FIELD
} ga_cuda_api;
extern ga_cuda_api ga__cuda;

/* Lazy loading of a library. GA_LOAD_ERROR, with advice, if it is missing or lacks a
 * function. Cheap when it is open. */
int ga__cuda_need_driver(void); /* initializes it too; having no device is no failure */
int ga__cuda_need_nvrtc(void);
int ga__cuda_need_cublas(void);
int ga__cuda_need_nccl(void);
int ga__cuda_need_cublaslt(void);
int ga__cuda_need_cusolver(void);
int ga__cuda_need_cufft(void);
int ga__cuda_need_cudnn(void);

/* Cache key of NVRTC: path, size, and a hash of the first bytes, which hold the build
 * id, of the file that would be opened. Without opening it, for that takes longer than
 * all else that a program with cached kernels does. Where only the loader finds NVRTC,
 * it is opened, and the key is its version. GA_LOAD_ERROR if there is none. */
int ga__cuda_nvrtc_id(char *out, size_t size);

/* Appends what was searched and found, a line each, with advice. */
void ga__cuda_report(ga_strbuf *out);

/* Fails with the call, the error's name and its description. */
int ga__cuda_fail(CUresult result, const char *call);
/* Calls a driver function; returns its failure from the caller. */
#define CUDA_TRY(name, ...) CUDA_LIBRARY_TRY(ga__cuda_fail, name, __VA_ARGS__)

/* The same of a library's function: `fail` is given its status and its name. */
#define CUDA_LIBRARY_TRY(fail, name, ...)                                              \
  do {                                                                                 \
    const int cuda_try_ = ga__cuda.name(__VA_ARGS__);                                  \
    if (cuda_try_ != 0)                                                                \
      return fail(cuda_try_, #name);                                                   \
  } while (0)

#endif
