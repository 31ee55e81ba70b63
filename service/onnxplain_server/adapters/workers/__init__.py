"""Requests answered in processes that can be killed, and can do nothing but compute.

A zygote, started before the server has threads, has loaded all code and nothing else. Workers are
forked from it, give up every right that computing does not need, and only then see bytes of a
client. The parent trusts nothing that they send.

    isolated ─▶ pool ─▶ worker ═ socket and arena ═ child ─▶ in_process
                 └────▶ spawn ─▶ zygote ─ fork ─────▶┘ └─▶ sandbox, limits
"""
