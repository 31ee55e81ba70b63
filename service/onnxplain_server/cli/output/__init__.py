"""Output of commands: an answer as JSON, tables or an HTML page; a plot as SVG or PNG.

Commands import `formats`, which names the choices. They import `formatting`, `drawing` and
`progress` when they run, since those load reports and rich, which `onnxplain serve` does not need.
"""
