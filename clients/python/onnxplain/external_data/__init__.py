"""External data: values of a model's tensors in files beside it, as ONNX calls them.

`inlining` puts them into the model, from files of a `folder` or from `given_files`; `wire_fields`
reads protobuf without a schema. Needs neither numpy nor the package onnx, so that a server's
decoders may load it.
"""
