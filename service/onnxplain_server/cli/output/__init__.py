"""Output of commands: an answer as JSON, tables or HTML; a plot as SVG or PNG.

Commands import `formats`, which names the choices, `formatting` and `progress`. What needs rich or
the reports is imported when a table, a page, a plot or a progress bar is asked for.
"""
