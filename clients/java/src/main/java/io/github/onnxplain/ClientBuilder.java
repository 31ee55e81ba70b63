package io.github.onnxplain;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * What holds for every call of a client, and the client itself; see {@link Onnxplain#connect}.
 *
 * <pre>{@code
 * OnnxplainClient client = Onnxplain.connect("explain.example:443")
 *         .tls()
 *         .token(System.getenv("ONNXPLAIN_TOKEN"))
 *         .timeout(Duration.ofMinutes(1))
 *         .build();
 * }</pre>
 */
public final class ClientBuilder {
    // What servers take and send by default.
    private static final int MESSAGE_LIMIT = 64 << 20;
    // A second or two of attempts, in which a server can be replaced.
    private static final int RETRY_COUNT = 10;
    // Errors name columns, and tables have many.
    private static final int HEADER_LIMIT = 64 << 10;

    private final String endpoint;
    private Supplier<String> token;
    private boolean tls;
    private boolean unencryptedToken;
    private Path caFile;
    private Path certificateFile;
    private Path keyFile;
    private Duration timeout;
    private int messageLimit = MESSAGE_LIMIT;
    private int retryCount = RETRY_COUNT;

    ClientBuilder(String endpoint) {
        this.endpoint = Objects.requireNonNull(endpoint, "endpoint");
    }

    /**
     * Shows who calls, by a bearer token.
     *
     * @param token the token
     * @return this builder
     * @throws IllegalArgumentException where it has characters that no such token has
     */
    public ClientBuilder token(String token) {
        Tokens.check(token);
        return token(() -> token);
    }

    /**
     * Shows who calls, by tokens that change.
     *
     * @param token asked before each attempt for the token of the moment; returns quickly, and may be called by several
     *     threads
     * @return this builder
     */
    public ClientBuilder token(Supplier<String> token) {
        this.token = Objects.requireNonNull(token, "token");
        return this;
    }

    /**
     * Lets a token leave this machine without TLS: where something else, like a mesh, encrypts on the way.
     *
     * @return this builder
     */
    public ClientBuilder allowUnencryptedToken() {
        this.unencryptedToken = true;
        return this;
    }

    /**
     * Encrypts, trusting the authorities that Java trusts.
     *
     * @return this builder
     */
    public ClientBuilder tls() {
        this.tls = true;
        return this;
    }

    /**
     * Encrypts, trusting these authorities only.
     *
     * @param caFile PEM of the authorities that sign the server's certificate
     * @return this builder
     */
    public ClientBuilder caFile(Path caFile) {
        this.caFile = Objects.requireNonNull(caFile, "caFile");
        return tls();
    }

    /**
     * Encrypts, and shows a certificate, for servers that know their callers by them.
     *
     * @param certificateFile PEM of the certificate, followed by those in between
     * @param keyFile its private key, in PKCS #8 ({@code BEGIN PRIVATE KEY}) without a password
     * @return this builder
     */
    public ClientBuilder clientCertificate(Path certificateFile, Path keyFile) {
        this.certificateFile = Objects.requireNonNull(certificateFile, "certificateFile");
        this.keyFile = Objects.requireNonNull(keyFile, "keyFile");
        return tls();
    }

    /**
     * Sets the time of each call that names no other; attempts, pauses and uploads are in it.
     *
     * @param timeout more than zero; default: the server's limit
     * @return this builder
     */
    public ClientBuilder timeout(Duration timeout) {
        this.timeout = Terms.checked(timeout);
        return this;
    }

    /**
     * Sets the bytes that a request or an answer may have. Models and tables beyond it are uploaded in parts.
     *
     * @param messageLimit at least 4096; default 64 MiB
     * @return this builder
     */
    public ClientBuilder messageLimit(int messageLimit) {
        if (messageLimit < 4096) {
            throw new IllegalArgumentException("messageLimit must be at least 4096, not " + messageLimit);
        }
        this.messageLimit = messageLimit;
        return this;
    }

    /**
     * Sets how often a call is made again where nobody answers, or where the server says that it has too much to do;
     * with growing pauses, within the time of the call.
     *
     * @param retryCount not negative; default 10, which last 6 to 13 s: a restart of the only server
     * @return this builder
     */
    public ClientBuilder retryCount(int retryCount) {
        if (retryCount < 0) {
            throw new IllegalArgumentException("retryCount must not be negative, but is " + retryCount);
        }
        this.retryCount = retryCount;
        return this;
    }

    /**
     * Makes the client. It connects at its first call.
     *
     * @return the client, to be closed
     * @throws UncheckedIOException where a file cannot be read
     * @throws IllegalArgumentException where a file holds something else, or a token would go to another machine
     *     unencrypted
     */
    public OnnxplainClient build() {
        if (token != null && !tls && !unencryptedToken) {
            Tokens.checkLoopback(endpoint);
        }
        return over(channel(Grpc.newChannelBuilder(endpoint, credentials())));
    }

    /** Makes a client of a channel of any kind, which is closed with it. */
    OnnxplainClient over(ManagedChannel channel) {
        return new OnnxplainClient(channel, new Terms(endpoint, token, timeout, messageLimit, retryCount));
    }

    private ManagedChannel channel(ManagedChannelBuilder<?> builder) {
        return builder.maxInboundMessageSize(messageLimit)
                .maxInboundMetadataSize(HEADER_LIMIT)
                // A peer that vanished without a word shows after a minute, not only at the deadline.
                .keepAliveTime(60, TimeUnit.SECONDS)
                .keepAliveTimeout(20, TimeUnit.SECONDS)
                .build();
    }

    private ChannelCredentials credentials() {
        if (!tls) {
            return InsecureChannelCredentials.create();
        }
        TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
        try {
            if (caFile != null) {
                builder.trustManager(caFile.toFile());
            }
            if (certificateFile != null) {
                builder.keyManager(certificateFile.toFile(), keyFile.toFile());
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return builder.build();
    }
}
