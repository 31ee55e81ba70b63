"""Commands about rows of a table: their predictions, and descriptions of the table."""
