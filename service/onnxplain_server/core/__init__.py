"""Core types that every other package uses: arrays, tables, models, rows, errors, interfaces."""
