"""Measurements, printed as ratios within one run; tests assert nothing of this."""
