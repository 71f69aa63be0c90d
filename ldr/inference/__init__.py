"""Is it more than chance? Many problems at once, permutation tests, and what follows from them."""
