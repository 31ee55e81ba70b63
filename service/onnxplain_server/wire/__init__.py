"""Messages and file formats to values, and back."""
