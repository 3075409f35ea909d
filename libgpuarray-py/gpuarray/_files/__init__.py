"""Arrays and compiled functions in files."""
