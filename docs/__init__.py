"""The documentation, built by ``sphinx-build -W docs build/docs``."""
