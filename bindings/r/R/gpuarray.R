# libgpuarray from R: matrices and vectors on any CUDA or OpenCL device.
#
# Numbers are float64 on the device, in R's column-major order. Work is queued; only
# gpu_read and gpu_sync wait. A failed call is an R error with the library's text.

# Opens a device: "cuda0", "opencl0:1"; "" is the best device found.
gpu_open <- function(name = "") .Call(C_gpu_open, name)

# Waits for all work queued on the context.
gpu_sync <- function(context) invisible(.Call(C_gpu_sync, context))

# Puts a vector, matrix or array of numbers on the device.
gpu_array <- function(context, values) {
  dims <- dim(values)
  if (is.null(dims)) dims <- length(values)
  .Call(C_gpu_array, context, as.double(values), as.integer(dims))
}

# Brings an array back as an R vector, matrix or array.
gpu_read <- function(array) {
  values <- .Call(C_gpu_read, array)
  dims <- dim(array)
  if (length(dims) > 1) dim(values) <- dims
  values
}

# A new array: gpu_elementwise(ctx, "out = x + 2 * y", x = a, y = b).
gpu_elementwise <- function(context, expression, ...)
  .Call(C_gpu_elementwise, context, expression, list(...))

# The sum over the given dimensions (numbers from 1), by default over all.
gpu_sum <- function(array, along = seq_along(dim(array)))
  .Call(C_gpu_sum, array, as.integer(sum(2^(along - 1))))

# The matrix product of two matrices.
gpu_matmul <- function(a, b) .Call(C_gpu_matmul, a, b)

# Compiles CLUDA source. The kernel's arguments are GLOBAL_MEM ga_double *, ga_size
# offset, ga_size n, and as many ga_double as `numbers` says.
gpu_kernel <- function(context, source, name, numbers = 0L)
  .Call(C_gpu_kernel, context, source, name, as.integer(numbers))

# Runs a kernel over the elements of an array, in place.
gpu_call <- function(kernel, array, ...)
  invisible(.Call(C_gpu_call, kernel, array, as.double(c(...))))

# A function of float64 that was compiled and saved in Python.
gpu_load <- function(context, path) .Call(C_gpu_load, context, path.expand(path))

# The list of its outputs for arrays in the order of its inputs.
gpu_run <- function(fun, ...) .Call(C_gpu_run, fun, list(...))

# A value that it keeps between calls.
gpu_value <- function(fun, name) .Call(C_gpu_value, fun, name)

dim.gpu_array <- function(x) .Call(C_gpu_dim, x)

print.gpu_array <- function(x, ...) {
  cat("float64 array on a device, dimensions", paste(dim(x), collapse = " x "), "\n")
  invisible(x)
}

print.gpu_context <- function(x, ...) {
  cat("device", .Call(C_gpu_name, x), "\n")
  invisible(x)
}
