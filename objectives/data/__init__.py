"""Data as samples in rows: containers, memory or files, and sums over the samples."""
