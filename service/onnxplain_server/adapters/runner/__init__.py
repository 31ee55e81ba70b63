"""Runner in this process: decodes a request, computes, encodes the reply."""
