# libgpuarray from R: data up, an expression, a sum, a product, layers of networks, a
# kernel, an error.
#
#   R CMD INSTALL bindings/r && Rscript bindings/r/example.R cuda0
library(gpuarray)

expect <- function(what, value, expected) {
  cat(what, ":", value, "\n")
  stopifnot(identical(value, expected))
}

name <- commandArgs(trailingOnly = TRUE)
context <- gpu_open(if (length(name)) name[1] else "")
print(context)
m <- matrix(c(1, 2, 3, 4, 5, 6), nrow = 2)
x <- gpu_array(context, m)
print(x)
y <- gpu_elementwise(context, "out = 2 * x + 1", x = x)
expect("2 x + 1", gpu_read(y), 2 * m + 1)
expect("its sum", gpu_read(gpu_sum(y)), sum(2 * m + 1))
expect("its columns' sums", gpu_read(gpu_sum(y, 1)), colSums(2 * m + 1))
expect("m' m", gpu_read(gpu_matmul(gpu_array(context, t(m)), x)), t(m) %*% m)

expect("integers", gpu_read(gpu_array(context, c(1, -2), "int64")), c(1, -2))
expect("logicals", gpu_read(gpu_array(context, c(TRUE, FALSE), "bool")), c(TRUE, FALSE))
expect("complex", gpu_read(gpu_array(context, 1+2i, "complex64")), 1+2i)
expect("nothing", dim(gpu_read(gpu_array(context, matrix(0, 2, 0), "int8"))), c(2L, 0L))

images <- gpu_array(context, array(c(0, 3, 6, 1, 4, 7, 2, 5, 8), c(1, 1, 3, 3)))
corners <- gpu_array(context, array(c(1, 0, 0, -1), c(1, 1, 2, 2)))
maps <- gpu_conv(images, corners, padding = 1)
expect("a convolution", as.vector(gpu_read(maps)),
       c(0, -3, -6, 0, -1, -4, -4, 6, -2, -4, -4, 7, 0, 2, 5, 8))
expect("its maxima", as.vector(gpu_read(gpu_max_pool(maps, c(2, 2)))), c(0, 6, 2, 8))
ones <- gpu_array(context, c(1, 1))
rows <- gpu_batch_norm(gpu_array(context, matrix(c(1, 3, 20, 22), 2)), ones, ones, 3)
expect("normalised", as.vector(gpu_read(rows)), c(0.5, 1.5, 0.5, 1.5))

source <- "
KERNEL void scale(GLOBAL_MEM ga_double *a, ga_size offset, ga_size n, ga_double by) {
  a = (GLOBAL_MEM ga_double *)((GLOBAL_MEM char *)a + offset);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    a[i] *= by;
}"
scale <- gpu_kernel(context, source, "scale", numbers = 1)
gpu_call(scale, x, 0.5)
expect("a kernel of one's own", gpu_read(x), m / 2)

caught <- tryCatch(gpu_matmul(x, x), error = conditionMessage)
stopifnot(is.character(caught))
cat("caught:", caught, "\n")
