"""Storage of cached numbers, uploaded files and operations, in memory and in Redis.

In reading order: `memory_cache` and `memory_blobs` with `signing` and `eviction`;
`redis_connection` with `circuit_breaker`,
`redis_failures` (which pass by themselves), `redis_health` and `tls_mismatch`; `redis_cache`,
`redis_lease`, `redis_blobs` with `redis_eviction`; `layered_cache` and `layered_blobs`, which
`shared_storage` builds; `operations/`.
Storage may lose anything, but an answer never depends on it: failures of Redis end here, except
that operations in it cannot be reached meanwhile.
"""
