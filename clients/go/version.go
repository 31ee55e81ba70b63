package onnxplain

// Version of this client; the server's and the other clients' is the same.
const Version = "0.1.0"
