/* Functions of one backend only, looked up by name.
 *
 * All names are known on every machine. "cuda_...", to be called through the pointers
 * of gpuarray/ext_cuda.h:
 *
 *   void cuda_enter(gpucontext *)                  makes its CUcontext current on this
 *   void cuda_exit(gpucontext *)                   thread; restores the previous one
 *   gpucontext *cuda_make_ctx(CUcontext, gpucontext_props *)
 *                     on a CUcontext that stays the caller's, and outlives it; the
 *                     properties, which may be NULL, stay the caller's too
 *   CUstream cuda_get_stream(gpucontext *)         this thread's queue
 *   gpudata *cuda_make_buf(gpucontext *, CUdeviceptr, size_t)
 *                     a buffer on memory that the library never frees
 *   size_t cuda_get_sz(gpudata *)                  its bytes
 *   int cuda_wait(gpudata *, int flags)            before, and
 *   int cuda_record(gpudata *, int flags)          after the caller's own work on it in
 *                     this thread's queue: flags are GPUARRAY_CUDA_WAIT_READ and
 *                     GPUARRAY_CUDA_WAIT_WRITE
 *   int cuda_get_device(CUdeviceptr, int *)        the number of the device that owns
 *                     the memory; GA_VALUE_ERROR if it is not CUDA's
 *   int cuda_get_ipc_handle(gpudata *, GpuArrayIpcMemHandle *)
 *   gpudata *cuda_open_ipc_handle(gpucontext *, GpuArrayIpcMemHandle *, size_t)
 *                     memory of another process on the same machine; a handle is of a
 *                     whole allocation of CUDA's
 *
 * and "cl_...":
 *
 *   gpucontext *cl_make_ctx(cl_context, gpucontext_props *)   on its first device; the
 *                     cl_context is retained
 *   cl_command_queue cl_get_stream(gpucontext *)   this thread's queue
 *   int cl_use_stream(gpucontext *, cl_command_queue)   makes it the default queue, in
 *                     order with what others queue there; it is retained, must be of
 *                     the same cl_context and device and not out of order. Waits; no
 *                     other thread may use the context meanwhile
 *   gpudata *cl_make_buf(gpucontext *, cl_mem)     retains it; it must be of the same
 *                     cl_context
 *   cl_mem cl_get_buf(gpudata *)                   borrowed
 *
 * and, of the null backend, which runs no kernel:
 *
 *   void null_refuse(gpucontext *, int)            nonzero: launches fail with
 *                     GA_UNSUPPORTED_ERROR; 0, the default: they do nothing
 *
 * Ownership: as said of each. Waiting: none, except cuda_get_ipc_handle and functions
 * that close a device. Failure: functions that return a pointer give NULL, with
 * gpuarray_error_text(). Threads: every function may be called from several at once;
 * cuda_enter and cuda_exit concern the calling thread. */
#ifndef GPUARRAY_EXTENSION_H
#define GPUARRAY_EXTENSION_H

#include <gpuarray/buffer.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
#define GPUARRAY_CUDA_CTX_NOFREE 0x10000000 /* there for libgpuarray 0.7 */
#define GPUARRAY_CUDA_WAIT_READ 0x10000
#define GPUARRAY_CUDA_WAIT_WRITE 0x20000

/* A handle of CUDA memory that another process can open. */
typedef struct _GpuArrayIpcMemHandle {
  char priv[64];
} GpuArrayIpcMemHandle;

/* The function of this name, or NULL. Static; any thread. */
void *gpuarray_get_extension(const char *name);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
