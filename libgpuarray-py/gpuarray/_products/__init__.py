"""Products of vectors, matrices and stacks of them."""
