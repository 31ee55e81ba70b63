"""Models and tables where they lie: objects of buckets, web servers and registries, by their URI.

One process of its own, the fetcher, has the network and no files; it reads only what lies below the
prefixes that the operator lists. In reading order: `interfaces`, `canonical_uri`, `source_list`;
in the parent `fetcher`; in the fetcher `fetch_process`, `stores`, `table_reader`.
"""
