"""Reports for people: tables of findings as text, and a self-contained HTML page.

Read `registry`, a file of findings, then `facts` and `page`. It reads response messages only; it
neither computes nor draws plots.
"""
