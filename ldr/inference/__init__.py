"""Many problems at once, permutation tests, bootstrap and other inference."""
