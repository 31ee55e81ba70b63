"""Messages of the Open Inference Protocol over gRPC, and how an explainer reads them."""
