"""Families of objectives: problems with a common form, such as traces and trace ratios."""
