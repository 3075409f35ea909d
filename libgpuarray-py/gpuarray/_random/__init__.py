"""Random numbers: distributions, parameters, seeds, methods of generators."""
