"""Requests: the arguments of a call and the options of its methods, as the contract's messages.

Checks only what a message cannot hold, such as a string in place of a list; ranges and
defaults are the server's. Nothing here sends anything.
"""

from onnxplain.requests.arguments import RequestOptions, to_request

__all__ = ["RequestOptions", "to_request"]
