"""Rules of products of matrices and of systems of equations."""
