# Runs saved functions from R and compares what they give with what NumPy wrote.
#
#   Rscript families.R FOLDER DEVICE...
#
# tests/family_files.py tells what the folder has. The last line says how many results
# and values were right.
library(gpuarray)

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
path <- function(name) file.path(folder, name)
data <- readBin(path("data"), "double", file.size(path("data")) / 8)
lines <- strsplit(readLines(path("calls")), " ", fixed = TRUE)

# The array of the words TYPE OFFSET AXES LENGTHS, in R's order.
described <- function(words) {
  numbers <- as.numeric(words[-1])
  dims <- numbers[-(1:2)]
  pairs <- startsWith(words[1], "complex")
  size <- prod(dims)
  values <- data[numbers[1] + seq_len(if (pairs) 2 * size else size)]
  if (pairs) values <- complex(real = values[2 * seq_len(size) - 1],
                               imaginary = values[2 * seq_len(size)])
  if (length(dims) > 1) values <- as.vector(aperm(array(values, rev(dims))))
  list(type = words[1], dims = dims, values = values)
}

is_close <- function(found, wanted, state) {
  if (is.complex(wanted))
    return(is_close(Re(found), Re(wanted), state) && is_close(Im(found), Im(wanted), state))
  near <- found == wanted | abs(found - wanted) <= state$atol + state$rtol * abs(wanted)
  all(ifelse(is.nan(wanted), is.nan(found), near & !is.nan(found)))
}

compare <- function(array, words, state) {
  wanted <- described(words)
  if (gpu_type(array) != wanted$type || !identical(as.numeric(dim(array)), wanted$dims))
    stop(state$name, ": a result of another type or shape")
  if (!is_close(as.vector(gpu_read(array)), wanted$values, state))
    stop(state$name, ": other elements than NumPy's")
  state$right <- state$right + 1
}

# Makes the call, unless it was made.
run <- function(state) {
  if (state$ran) return()
  state$results <- do.call(gpu_run, c(list(state$fun), state$given))
  state$ran <- TRUE
}

end_call <- function(state) {
  run(state)
  if (length(state$results)) stop(state$name, ": more results than NumPy's")
}

words_of <- list(
  "function" = function(words, state) {
    state$name <- paste(words[-(1:3)], collapse = " ")
    state$rtol <- as.numeric(words[2])
    state$atol <- as.numeric(words[3])
    state$fun <- gpu_load(state$context, path(words[1]))
  },
  call = function(words, state) {
    state$given <- list()
    state$ran <- FALSE
  },
  given = function(words, state) {
    each <- if (words[1] == "int") as.numeric(words[2]) else if (words[1] != "none") {
      a <- described(words)
      gpu_array(state$context, a$values, a$type, a$dims)
    }
    state$given <- c(state$given, list(each))
  },
  result = function(words, state) {
    run(state)
    if (!length(state$results)) stop(state$name, ": fewer results than NumPy's")
    compare(state$results[[1]], words, state)
    state$results <- state$results[-1]
  },
  value = function(words, state) {
    run(state)
    compare(gpu_value(state$fun, words[1]), words[-1], state)
  })

run_all <- function(device) {
  state <- new.env()
  state$context <- gpu_open(device)
  state$right <- 0
  state$ran <- TRUE
  for (words in lines) {
    if (words[1] %in% c("call", "function")) end_call(state)
    words_of[[words[1]]](words[-1], state)
  }
  end_call(state)
  state$right
}

cat(sum(vapply(arguments[-1], run_all, 0)), "\n")
