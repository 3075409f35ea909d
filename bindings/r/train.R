# Training from R with a step that was compiled in Python, in float64, and saved.
#
#   python ../train.py train.plan cuda0 float64
#   Rscript train.R train.plan cuda0
library(gpuarray)

rows <- 64
columns <- 6
steps <- 40

# Rows of numbers from -1 to 1, labelled by which half of the row has more.
state <- 1
numbers <- matrix(0, rows, columns)
for (i in seq_len(rows)) for (j in seq_len(columns)) {
  state <- (75 * state + 74) %% 65537
  numbers[i, j] <- state %% 256
}
labels <- as.double(rowSums(numbers[, 1:3]) > rowSums(numbers[, 4:6]))

arguments <- commandArgs(trailingOnly = TRUE)
context <- gpu_open(if (length(arguments) > 1) arguments[2] else "")
train <- gpu_load(context, arguments[1])
stopifnot(gpu_describe(train)$inputs$name == c("x", "y"))
x <- gpu_array(context, (numbers - 128) / 128)
y <- gpu_array(context, labels)
for (i in seq_len(steps) - 1) {
  cost <- gpu_read(gpu_run(train, x, y)[[1]])
  if (i %% 10 == 0 || i == steps - 1) cat(sprintf("step %d: %.17g\n", i, cost))
}
cat("w:", sprintf("%.17g", gpu_read(gpu_value(train, "w"))), "\n")
