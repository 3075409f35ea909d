"""Functions of the user's on arrays: traced and fused, or applied along axes."""
