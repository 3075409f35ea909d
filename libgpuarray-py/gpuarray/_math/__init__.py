"""Functions of samples: statistics, quantiles, histograms, logic, calculus."""
