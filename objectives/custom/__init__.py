"""Objectives of the user's own: a function of M and the data becomes an Objective."""
