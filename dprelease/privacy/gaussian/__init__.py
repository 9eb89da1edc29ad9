"""The discrete and continuous Gaussian mechanism: losses and calibration."""
