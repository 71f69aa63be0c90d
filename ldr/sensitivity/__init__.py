"""Derivatives of an optimum with respect to data, sample weights and parameters."""
