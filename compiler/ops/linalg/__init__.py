"""Linear algebra: products, factorizations, systems, norms."""
