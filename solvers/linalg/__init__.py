"""Linear algebra of symmetric matrices: eigenvectors, products, bounds that are proved."""
