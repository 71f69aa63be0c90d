"""What runs, keeps and reports experiments, whatever they are about."""
