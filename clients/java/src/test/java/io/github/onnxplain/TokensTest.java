package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status.Code;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who calls is shown to those who may know. */
class TokensTest {
    @Test
    void theTokenGoesWithEveryCall() throws IOException {
        try (FakeServer server = new FakeServer();
                OnnxplainClient client = server.client(settings -> settings.token("secret"))) {
            ModelSource model = client.uploadModel(Models.bytes(new byte[1]));
            client.uploadTable(Tables.bytes(new byte[1]));
            client.describe(model);
            client.explain(ExplainCall.builder().model(model).build());
            client.explain(ExplainCall.builder().progress((done, planned) -> {}).build());
            try (ExplainEvents events =
                    client.explainStream(ExplainCall.builder().build())) {
                events.forEach(event -> {});
            }

            assertEquals(6, server.authorizations.size());
            assertEquals(Set.of("Bearer secret"), Set.copyOf(server.authorizations));
        }
    }

    @Test
    void eachAttemptAsksForTheTokenOfTheMoment() throws IOException {
        AtomicInteger count = new AtomicInteger();
        try (FakeServer server = new FakeServer();
                OnnxplainClient client =
                        server.client(settings -> settings.token(() -> "t" + count.incrementAndGet()))) {
            server.failures.add(FakeServer.failure(Code.UNAVAILABLE));

            client.explain(ExplainCall.builder().build());

            assertEquals(List.of("Bearer t1", "Bearer t2"), server.authorizations);
        }
    }

    @Test
    void whatTheSupplierThrowsIsThrown() throws IOException {
        try (FakeServer server = new FakeServer();
                OnnxplainClient client = server.client(settings -> settings.token(() -> {
                    throw new IllegalStateException("no token today");
                }))) {
            assertThrows(
                    IllegalStateException.class,
                    () -> client.explain(ExplainCall.builder().build()));
        }
    }

    @Test
    void whatIsNoTokenIsNotRepeated() {
        ClientBuilder builder = Onnxplain.connect("localhost:1");

        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> builder.token("se cret\n"));

        assertFalse(error.getMessage().contains("cret"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost:8081",
                "LocalHost:1",
                "127.0.0.1:8081",
                "127.9.9.9",
                "[::1]:8081",
                "::1",
                "dns:///localhost:8081",
                "unix:/run/onnxplain",
                "%6cocalhost:1"
            })
    void tokensMayStayOnThisMachine(String endpoint) {
        Onnxplain.connect(endpoint).token("secret");

        Tokens.checkLoopback(endpoint);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "explain.example:443",
                "127.0.0.1.example:1",
                "localhost.example:1",
                "10.0.0.1:8081",
                "[2001:db8::1]:1",
                "dns://localhost/explain.example:1",
                "localhost:1@explain.example:1",
                "localhost:1,explain.example:1",
                "0.0.0.0:1",
                "xds:///localhost"
            })
    void tokensDoNotLeaveThisMachineUnencrypted(String endpoint) {
        ClientBuilder builder = Onnxplain.connect(endpoint).token("secret");

        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, builder::build);

        assertFalse(error.getMessage().contains("secret"));
    }

    @Test
    void tokensMayLeaveWhereThatIsSaid() {
        ClientBuilder plain = Onnxplain.connect("explain.example:443").token("secret");

        plain.allowUnencryptedToken().build().close();
        Onnxplain.connect("explain.example:443").token("secret").tls().build().close();
    }
}
