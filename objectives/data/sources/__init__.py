"""Where rows larger than memory are stored; each source reads a stretch of rows when asked."""
