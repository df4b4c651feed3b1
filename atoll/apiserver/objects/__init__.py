"""What is true of every object, whatever its kind: metadata, life and death, pure."""
