"""Families: objectives that differ in their matrices only are written once."""
