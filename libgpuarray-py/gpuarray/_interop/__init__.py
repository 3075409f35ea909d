"""Exchange with other libraries: memory, host values, pickles, chunks."""
