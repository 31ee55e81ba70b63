"""Units of what plots and reports show: of predictions, of sizes of effects, and of losses."""
