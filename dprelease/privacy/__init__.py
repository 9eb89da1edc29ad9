"""Privacy losses as exact numbers: bounds, conversions, calibration, composition."""
