"""Reading an ONNX graph into tree ensembles: one pass from the inputs to the outputs."""
