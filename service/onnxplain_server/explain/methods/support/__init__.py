"""Support of curves: where they lead through combinations of values that the table lacks."""
