"""Stores of operations, in memory and in Redis.

Read `memory_operations` with `memory_operation_records` first; then `redis_operations` with
`redis_operation_scripts`, which runs the files in `lua/`, `redis_operation_records`, which packs
and signs, `redis_attachments` and `redis_operation_parts`, which splits bytes.
"""
