"""How an optimum moves with what it was found for: data, weights of rows, parameters."""
