"""Local randomizers: their parameters, losses and variances."""
