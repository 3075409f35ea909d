"""Rules of indexing, joining, filling and shapes."""
