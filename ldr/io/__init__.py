"""Reading of arrays from files, clusters and containers, and writing of results."""
