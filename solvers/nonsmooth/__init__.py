"""Functions with kinks: penalties that make zeros."""
