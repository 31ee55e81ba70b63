"""Command `compare`: answers, models and tables beside each other, and rules about the change."""
