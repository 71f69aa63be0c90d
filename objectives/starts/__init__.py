"""Points to start from: directions that are cheap to find, and the best of many looks."""
