package io.github.onnxplain;

import com.google.protobuf.ByteString;
import io.github.onnxplain.v1.Table;
import io.github.onnxplain.v1.TableUris;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;

/**
 * Tables of several kinds.
 *
 * <p>Files may be CSV, Parquet or Arrow IPC, told apart by what is in them, and packed by gzip or not.
 *
 * <pre>{@code
 * TableSource file = Tables.file(Path.of("rows.csv.gz"));
 * TableSource columns = Tables.columns(Map.of("age", List.of(31, 64), "smoker", List.of("yes", "no")));
 * TableSource rows = Tables.rows(List.of("age", "smoker"), List.of(List.of(31, "yes"), List.of(64, "no")));
 * }</pre>
 */
public final class Tables {
    private static final ByteString GZIP = ByteString.fromHex("1f8b");
    private static final ByteString PARQUET = ByteString.copyFromUtf8("PAR1");
    private static final ByteString ARROW_FILE = ByteString.copyFromUtf8("ARROW1");
    private static final ByteString ARROW_STREAM = ByteString.fromHex("ffffffff");

    private Tables() {}

    /**
     * Reads a file.
     *
     * @param path of a CSV, Parquet or Arrow IPC file
     * @return the table, with the bytes of the file
     * @throws UncheckedIOException where the file cannot be read
     */
    public static TableSource file(Path path) {
        try (InputStream stream = Files.newInputStream(path)) {
            return stream(stream);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Takes the bytes of a file.
     *
     * @param content of a CSV, Parquet or Arrow IPC file
     * @return the table, with a copy of the bytes
     * @throws UncheckedIOException where they begin like a gzip file, but are broken
     */
    public static TableSource bytes(byte[] content) {
        return of(ByteString.copyFrom(content));
    }

    /**
     * Reads a stream to its end. The bytes are kept: attempts may be needed.
     *
     * @param stream of the bytes of a CSV, Parquet or Arrow IPC file; left open
     * @return the table, with the bytes
     * @throws UncheckedIOException where the stream cannot be read
     */
    public static TableSource stream(InputStream stream) {
        try {
            return of(ByteString.readFrom(stream));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Takes columns in memory. They go into the request itself: convenient for small tables only.
     *
     * @param columns values by name, in the order of the map: a {@code double[]}, or a list of numbers or booleans, or
     *     of strings, in which null is a missing value
     * @return the table
     * @throws IllegalArgumentException where values are of other kinds, or an integer has more than 53 bits
     */
    public static TableSource columns(Map<String, ?> columns) {
        return new TableSource(
                Table.newBuilder().setColumns(ColumnWriter.write(columns)).build(), null);
    }

    /**
     * Takes rows in memory, likewise.
     *
     * @param names of the columns
     * @param rows each with one value per column
     * @return the table
     * @throws IllegalArgumentException where a row has more or fewer values, or they are not as {@link #columns} says
     */
    public static TableSource rows(List<String> names, List<? extends List<?>> rows) {
        rows.stream().filter(row -> row.size() != names.size()).findFirst().ifPresent(row -> {
            throw new IllegalArgumentException(
                    "there are " + names.size() + " columns, but a row of " + row.size() + " values");
        });
        Map<String, List<?>> columns = new LinkedHashMap<>();
        for (int index = 0; index < names.size(); index++) {
            if (columns.put(names.get(index), column(rows, index)) != null) {
                throw new IllegalArgumentException("two columns are called " + names.get(index));
            }
        }
        return columns(Collections.unmodifiableMap(columns));
    }

    /**
     * Names a table that was uploaded, by this caller, to this server.
     *
     * @param id what {@link TableSource#id} told
     * @return the table, without its bytes: where the server has it no longer, calls fail with {@code BLOB_NOT_FOUND}
     */
    public static TableSource id(String id) {
        return new TableSource(Table.newBuilder().setId(id).build(), null);
    }

    /**
     * Names files that the server reads where they lie, below prefixes that its operator lists.
     *
     * @param uris such as {@code "s3://lake/rows.parquet"}, or with a slash at the end a folder
     * @return the table, without its bytes
     */
    public static TableSource uris(String... uris) {
        return uris(TableUris.newBuilder().addAllUris(List.of(uris)).build());
    }

    /**
     * Names files likewise, with a format, and filters of their rows.
     *
     * @param uris a message of the contract
     * @return the table, without its bytes
     */
    public static TableSource uris(TableUris uris) {
        return new TableSource(Table.newBuilder().setUris(uris).build(), null);
    }

    private static List<?> column(List<? extends List<?>> rows, int index) {
        return rows.stream().<Object>map(row -> row.get(index)).collect(Collectors.toList());
    }

    /** Packed files are unpacked here: they are the caller's own, and the server would have to be wary of them. */
    private static TableSource of(ByteString content) {
        ByteString file = content.startsWith(GZIP) ? unpacked(content) : content;
        Table.Builder table = Table.newBuilder();
        if (file.startsWith(ARROW_FILE) || file.startsWith(ARROW_STREAM)) {
            table.setArrow(file);
        } else if (file.startsWith(PARQUET)) {
            table.setParquet(file);
        } else {
            table.setCsv(file);
        }
        return new TableSource(table.build(), null);
    }

    private static ByteString unpacked(ByteString content) {
        try (InputStream stream = new GZIPInputStream(content.newInput())) {
            return ByteString.readFrom(stream);
        } catch (IOException error) {
            throw new UncheckedIOException("the table begins like a gzip file, but is broken", error);
        }
    }
}
