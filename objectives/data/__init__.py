"""The data as rows: what they come in, where they are, and how sums over them are made."""
