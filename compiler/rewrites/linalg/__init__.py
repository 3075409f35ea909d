"""Rules of matrix products and of linear systems."""
