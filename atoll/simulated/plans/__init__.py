"""What the controllers of a cluster decide, as plain functions: objects and facts in, steps out."""
