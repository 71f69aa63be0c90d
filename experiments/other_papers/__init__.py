"""Experiments of other papers, each with its claims."""
