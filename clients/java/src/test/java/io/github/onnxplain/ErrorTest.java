package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What an error tells. */
class ErrorTest {
    @Test
    void theServersWordsArePassedOn() throws IOException {
        try (FakeServer server = new FakeServer();
                OnnxplainClient client = server.client()) {
            server.failures.add(FakeServer.failure(
                    Code.INVALID_ARGUMENT,
                    FakeServer.reason("UNKNOWN_FEATURE"),
                    FakeServer.field("methods[0].interactions.features"),
                    FakeServer.after(Duration.ofMillis(1500))));

            ExplainException error =
                    assertThrows(ExplainException.class, () -> client.describe(Models.bytes(new byte[1])));

            assertEquals("UNKNOWN_FEATURE", error.getReason());
            assertEquals("the message", error.getMessage());
            assertEquals("methods[0].interactions.features", error.getField());
            assertEquals(Code.INVALID_ARGUMENT, error.getCode());
            assertEquals(Optional.of(Duration.ofMillis(1500)), error.getRetryAfter());
            assertEquals(
                    "io.github.onnxplain.ExplainException: methods[0].interactions.features: the message"
                            + " (UNKNOWN_FEATURE)",
                    error.toString());
        }
    }

    @Test
    void whereNobodyListensIsTold() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        String endpoint = "localhost:" + port;

        try (OnnxplainClient client = Onnxplain.connect(endpoint).retryCount(0).build()) {
            ExplainException error = assertThrows(ExplainException.class, client::health);

            assertEquals("UNAVAILABLE", error.getReason());
            assertTrue(error.getMessage().startsWith("no answer from " + endpoint + ": "), error.getMessage());
        }
    }

    @Test
    void mangledDetailsDoNotHideTheCode() {
        Metadata trailers = new Metadata();
        byte[] mangled = "\u0007not a message".getBytes(StandardCharsets.UTF_8);
        trailers.put(Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER), mangled);

        ExplainException error = Border.translate(
                new StatusRuntimeException(Status.INTERNAL.withDescription("it broke"), trailers), "here");

        assertEquals("INTERNAL", error.getReason());
        assertEquals("it broke", error.getMessage());
    }

    @Test
    void mangledReasonsDoNotHideTheCode() {
        Any mangled = Any.newBuilder()
                .setTypeUrl("type.googleapis.com/google.rpc.ErrorInfo")
                .setValue(ByteString.copyFromUtf8("\u0007"))
                .build();
        com.google.rpc.Status status = com.google.rpc.Status.newBuilder()
                .setCode(Code.INTERNAL.value())
                .setMessage("it broke")
                .addDetails(mangled)
                .build();

        ExplainException error =
                Border.translate(io.grpc.protobuf.StatusProto.toStatusRuntimeException(status), "here");

        assertEquals("INTERNAL", error.getReason());
    }
}
