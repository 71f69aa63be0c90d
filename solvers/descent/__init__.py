"""Descent along a gradient, on a line at a time."""
