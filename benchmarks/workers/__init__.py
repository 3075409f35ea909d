"""A file a library: ``rows(sizes, context)``, run in a process of its own."""
