# libgpuarray from R: matrices and vectors on any CUDA or OpenCL device.
#
# Numbers are float64 on the device, or of the type that is asked for, in R's
# column-major order. Work is queued; only
# gpu_read and gpu_sync wait. A failed call is an R error with the library's text.

# Opens a device: "cuda0", "opencl0:1"; "" is the best device found.
gpu_open <- function(name = "") .Call(C_gpu_open, name)

# Waits for all work queued on the context.
gpu_sync <- function(context) invisible(.Call(C_gpu_sync, context))

# Puts a vector, matrix or array of numbers, complex numbers or logicals on the device.
# `type` is NumPy's name of a type, such as "float32", "int64" or "bool": the device
# converts to it. R's numbers hold integers to 2^53. `dims` are those of `values`;
# integer(0) makes an array without dimensions of one number.
gpu_array <- function(context, values, type = NULL, dims = dim(values)) {
  if (is.null(dims)) dims <- length(values)
  if (is.null(type)) type <- if (is.complex(values)) "complex128" else "float64"
  values <- if (is.complex(values)) as.complex(values) else as.double(values)
  .Call(C_gpu_array, context, values, type, as.integer(dims))
}

# NumPy's name of an array's type.
gpu_type <- function(array) .Call(C_gpu_type, array)

# Brings an array back as an R vector, matrix or array: of logicals for "bool", of
# complex numbers for complex types, else of numbers.
gpu_read <- function(array) {
  values <- .Call(C_gpu_read, array)
  if (gpu_type(array) == "bool") values <- values != 0
  dims <- dim(array)
  if (length(dims) > 1) dim(values) <- dims
  values
}

# A new array of float64: gpu_elementwise(ctx, "out = x + 2 * y", x = a, y = b).
gpu_elementwise <- function(context, expression, ...)
  .Call(C_gpu_elementwise, context, expression, list(...))

# The sum over the given dimensions (numbers from 1), by default over all, in float64.
gpu_sum <- function(array, along = seq_along(dim(array)))
  .Call(C_gpu_sum, array, as.integer(sum(2^(along - 1))))

# The matrix product of two matrices.
gpu_matmul <- function(a, b) .Call(C_gpu_matmul, a, b)

# The convolution of images (batch, channels, spatial dimensions) by filters (results,
# channels, spatial dimensions), which are not turned around.
gpu_conv <- function(images, filters, stride = 1L, padding = 0L)
  .Call(C_gpu_conv, images, filters, as.integer(stride), as.integer(padding))

# The maxima of windows over the last dimensions, which do not overlap.
gpu_max_pool <- function(images, window)
  .Call(C_gpu_max_pool, images, as.integer(window))

# The elements less the mean of their channel, dimension 2, over its deviation, times
# gamma, plus beta.
gpu_batch_norm <- function(array, gamma, beta, epsilon = 1e-4)
  .Call(C_gpu_batch_norm, array, gamma, beta, as.double(epsilon))

# Compiles CLUDA source. The kernel's arguments are GLOBAL_MEM ga_double *, ga_size
# offset, ga_size n, and as many ga_double as `numbers` says.
gpu_kernel <- function(context, source, name, numbers = 0L)
  .Call(C_gpu_kernel, context, source, name, as.integer(numbers))

# Runs a kernel over the elements of an array, in place.
gpu_call <- function(kernel, array, ...)
  invisible(.Call(C_gpu_call, kernel, array, as.double(c(...))))

# A function that was compiled and saved in Python. The file runs for all shapes, on
# every device. Of a file of several contexts `contexts` has those of the other names in
# it, and may have that of the function's own: list(dev1 = gpu_open("cuda1")).
gpu_load <- function(context, path, contexts = list())
  .Call(C_gpu_load, context, path.expand(path), contexts, names(contexts))

# The list of its outputs. Arrays are given in the order of its inputs, each on the
# context of its input (gpu_context_of), NULL leaves an optional one out; whole numbers are its integers of the host, in their order, before,
# between or behind the arrays.
gpu_run <- function(fun, ...) .Call(C_gpu_run, fun, list(...))

# The name of the device of an input, in their order, or of an output or a kept value
# (list = "outputs", "values").
gpu_context_of <- function(fun, i, list = "inputs") {
  lists <- c(inputs = 0L, outputs = 2L, values = 3L)
  .Call(C_gpu_context_of, fun, lists[[list]], as.integer(i) - 1L)
}

# What a function takes, gives and keeps: data frames of names, types, numbers of axes,
# and whether calls may leave an input out.
gpu_describe <- function(fun) {
  lists <- c(inputs = 0L, integers = 1L, outputs = 2L, values = 3L)
  lapply(lists, function(list) {
    columns <- .Call(C_gpu_items, fun, list)
    names(columns) <- c("name", "type", "axes", "optional")
    as.data.frame(columns)
  })
}

# A value that it keeps between calls.
gpu_value <- function(fun, name) .Call(C_gpu_value, fun, name)

# Gives such a value other elements, of its type.
gpu_set_value <- function(fun, name, array)
  invisible(.Call(C_gpu_set_value, fun, name, array))

dim.gpu_array <- function(x) .Call(C_gpu_dim, x)

print.gpu_array <- function(x, ...) {
  cat(gpu_type(x), "array on a device, dimensions", paste(dim(x), collapse = " x "), "\n")
  invisible(x)
}

print.gpu_context <- function(x, ...) {
  cat("device", .Call(C_gpu_name, x), "\n")
  invisible(x)
}
