"""What can be said: one file per family of operations."""
