"""Core types that every other package builds on.

Read `errors`, `table`, `model`, `rows` (the table's columns bound to the model's inputs),
`request` and `interfaces`. No module here knows a transport, a runtime, a contract message or a
setting.
"""
