"""First-order methods with a line search: steepest descent, conjugate gradients, BFGS."""
