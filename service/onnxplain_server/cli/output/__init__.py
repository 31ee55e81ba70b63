"""Output of commands: an answer as JSON, tables or an HTML page; a plot as SVG or PNG.

Commands import `formats`, which names the choices. `formatting` and `drawing` are imported when
there is an answer, since they load the reports and the renderer.
"""
