package io.github.onnxplain;

import io.github.onnxplain.v1.Table;

/**
 * Rows to explain on; {@link Tables} makes them, and {@link OnnxplainClient#uploadTable(TableSource)}.
 *
 * <pre>{@code
 * String id = client.uploadTable(Tables.file(Path.of("rows.csv"))).id();
 * }</pre>
 */
public final class TableSource {
    private final Table message;
    private final Table file;

    TableSource(Table message, Table file) {
        this.message = message;
        this.file = file;
    }

    /** Names a table that the server keeps; its file is sent again where the server has it no longer. */
    static TableSource uploaded(String id, Table file) {
        return new TableSource(Table.newBuilder().setId(id).build(), file);
    }

    /**
     * Returns the id of an uploaded table.
     *
     * @return {@code "sha256:"} and the hexadecimal digest of the file; empty where the table goes with the request
     */
    public String id() {
        return message.getId();
    }

    /**
     * Returns the table as it goes into a request.
     *
     * @return a message of the contract
     */
    public Table message() {
        return message;
    }

    /** The file of what is named by an id; null where it is not at hand, or goes with the request. */
    Table file() {
        return file;
    }
}
