"""Ways out of a confined process: to ports, names, packets, other processes, files and rights.

`ways` lists them, `listening` has somebody wait behind those that carry bytes, `attempts` is the
program that confines itself as one kind of the server's processes, tries all, and reports, and
`rules` takes away one rule after the other.
"""
