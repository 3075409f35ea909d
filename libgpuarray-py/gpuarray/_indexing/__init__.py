"""Basic and advanced indexing."""
