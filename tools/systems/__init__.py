"""Installations as people have them: each Python without a compiler; Windows by Wine; gVisor."""
