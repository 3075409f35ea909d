"""Rules of conditionals, assertions and gradient markers."""
