"""The parts of ``dprelease.certify``: what a plan means, what a unit can do, what that costs."""
