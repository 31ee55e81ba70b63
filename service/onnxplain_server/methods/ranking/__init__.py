"""Rankings: rows of a query are ordered by predictions; read `scores` first."""
