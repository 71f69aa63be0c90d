"""Ratios of traces: what finds their global optimum."""
