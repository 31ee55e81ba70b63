"""Lists of the operator, and processes that reach nothing else.

`list_file` reads lists of prefixes, `network_process` starts a process that has the network and no
files, and `confined_process` is that process's side. Sources and remote models stand on both.
"""
