"""Models and tables where they lie: objects of buckets, web servers and registries, by their URI.

One process of its own, the fetcher, has the network and no files; it reads only what lies below the
prefixes that the operator lists. In reading order: `canonical_uri`, `source_list`, `fetcher`,
`cache_lookup` and `listed.network_process` in the server, `fetch_protocol`, and in the process
`fetch_process`, `fetching`, `connections`, `stores`, `objects`, `source_files`, `interfaces`,
`table_reader`. Commands have `local_sources`.

    fetcher ═ socket of a fetch ═ fetch_process ─▶ fetching ─▶ objects ─▶ obstore ─▶ guard ─▶ store
                                                      └─▶ table_reader ─▶ source_files ─▶ objects
"""
