"""Differences of systems behind one interface: Linux, macOS, Windows.

`processors`, `memory`, `sockets`, `console`, `locales`, `paths` and `confinement` answer on all
three. Other modules run wherever Python does, but for those that raise an ImportError at their
head: they are of Linux.
"""
