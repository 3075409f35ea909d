"""One file a library; each has ``rows(sizes, context)`` and runs in a process of its own."""
