"""Native tree files: models of tree libraries in their own formats, read without the libraries.

In reading order: `forest`, the record that every reader fills; `readers`, which finds the reader by
the content; a folder per library; `tidying` and `onnx_graph`, from the record to an ONNX
model, which is what the rest of the server knows. Files are untrusted: each value that is used is
checked for its type and range, and no size is allocated that the file only claims. Nothing here
runs the model.
"""

from onnxplain_server.adapters.native.readers import NativeModel, read_native

__all__ = ["NativeModel", "read_native"]
