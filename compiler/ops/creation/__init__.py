"""Arrays made of lengths, of other arrays, and of diagonals."""
