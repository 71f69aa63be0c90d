"""Custom objectives: a user's function of M and the data becomes an Objective."""
