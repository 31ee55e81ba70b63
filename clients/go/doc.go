// Package onnxplain asks an onnxplain server what an ONNX model has learned.
//
// A [Client] explains a model on the rows of a table by one or several methods.
// Requests and answers are the messages of the contract, in the package
// onnxplainv1: so no method and no option is missing here. What this package
// adds is what surrounds a call: models and tables from files, bytes and rows;
// TLS and tokens; retries; uploads of what is too large for one message; and
// errors with the service's reason.
//
// Deadlines and cancellation are those of the context: a call that is left
// frees the server.
package onnxplain
