"""Commands about operations: explanations that a server computes and keeps."""
