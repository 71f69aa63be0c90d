"""From files, clusters and containers to arrays, and back."""
