"""Indexing by integers and slices, and what it requires of lengths."""
