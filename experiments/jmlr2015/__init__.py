"""The comparisons of Cunningham and Ghahramani, JMLR 16 (2015), section 4, rerun."""
