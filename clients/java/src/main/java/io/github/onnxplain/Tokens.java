package io.github.onnxplain;

import java.net.InetAddress;
import java.net.URLDecoder;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What a bearer token may be, and where it may go. */
final class Tokens {
    // RFC 6750, section 2.1.
    private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9._~+/-]+=*");
    private static final Pattern ADDRESS = Pattern.compile("\\[([^\\]]*)\\](?::\\d+)?|([^:]*):\\d+|(.*)");
    // Of these, Java asks nobody for their address.
    private static final Pattern LITERAL = Pattern.compile("\\d+(\\.\\d+){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*");
    private static final List<String> SCHEMES = List.of("dns:///", "dns:");

    private Tokens() {}

    /** Returns the token; the error does not repeat it. */
    static String check(String token) {
        if (token == null || !TOKEN.matcher(token).matches()) {
            throw new IllegalArgumentException("the token is empty, or has characters that no bearer token has");
        }
        return token;
    }

    static void checkLoopback(String endpoint) {
        if (!isLoopback(endpoint)) {
            throw new IllegalArgumentException("the token would go to " + endpoint + " unencrypted; use tls(), or "
                    + "allowUnencryptedToken() where something else encrypts it");
        }
    }

    /** Tells whether calls stay on this machine; false where that cannot be told. */
    static boolean isLoopback(String endpoint) {
        String target = URLDecoder.decode(endpoint.replace("+", "%2B"), StandardCharsets.UTF_8);
        if (target.startsWith("unix:")) {
            return true;
        }
        String address = SCHEMES.stream()
                .filter(target::startsWith)
                .findFirst()
                .map(scheme -> target.substring(scheme.length()))
                .orElse(target);
        return isLocal(address);
    }

    private static boolean isLocal(String address) {
        Matcher matcher = ADDRESS.matcher(address);
        if (!matcher.matches()) {
            return false;
        }
        String host = Stream.of(1, 2, 3)
                .map(matcher::group)
                .filter(part -> part != null)
                .findFirst()
                .orElse("");
        if (!LITERAL.matcher(host).matches()) {
            return host.equalsIgnoreCase("localhost");
        }
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException notAnAddress) {
            return false;
        }
    }
}
