/**
 * What an ONNX model has learned, asked of an onnxplain server.
 *
 * <p>{@link io.github.onnxplain.Onnxplain#connect} makes a client; options of methods and results are the messages of
 * the contract, in {@code io.github.onnxplain.v1}.
 */
package io.github.onnxplain;
