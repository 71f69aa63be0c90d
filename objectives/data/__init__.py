"""Data with samples in rows: containers, files, sample metadata, and sums over rows."""
