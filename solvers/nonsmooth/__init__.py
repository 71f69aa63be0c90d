"""Nonsmooth functions: sparsity-inducing penalties."""
