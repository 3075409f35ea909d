"""Linear algebra: factorizations, what they solve, norms, polynomials."""
