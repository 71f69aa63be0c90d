"""Derivatives of an optimum in data, weights of samples and parameters."""
