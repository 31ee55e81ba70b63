package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.github.onnxplain.v1.Column;
import io.github.onnxplain.v1.RemoteModel;
import io.github.onnxplain.v1.Table;
import io.github.onnxplain.v1.TableFilter;
import io.github.onnxplain.v1.TableUris;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rows of many kinds become the contract's Table. */
class TablesTest {
    private static byte[] packed(byte[] content) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream stream = new GZIPOutputStream(bytes)) {
            stream.write(content);
        }
        return bytes.toByteArray();
    }

    private static Column only(TableSource table) {
        assertEquals(1, table.message().getColumns().getColumnsCount());
        return table.message().getColumns().getColumns(0);
    }

    @ParameterizedTest
    @CsvSource({"CSV, 612c620a", "PARQUET, 50415231", "ARROW, 4152524f5731", "ARROW, ffffffff70"})
    void filesAreToldApartByWhatIsInThem(Table.SourceCase form, String hex, @TempDir Path folder) throws IOException {
        byte[] content = ByteString.fromHex(hex).toByteArray();
        Path plain = Files.write(folder.resolve("plain"), content);
        Path gzip = Files.write(folder.resolve("gzip"), packed(content));

        assertEquals(form, Tables.file(plain).message().getSourceCase());
        assertEquals(Tables.file(plain).message(), Tables.file(gzip).message());
        assertEquals(ByteString.copyFrom(content), Content.of(Tables.file(plain).message()));
    }

    @Test
    void aModelBehindAnAddressIsNamed() {
        RemoteModel remote = RemoteModel.newBuilder()
                .setUri("http://models:8080")
                .setProtocol(RemoteModel.Protocol.OIP_REST)
                .setName("churn")
                .build();

        assertEquals(remote, Models.remote(remote).message().getRemote());
    }

    @Test
    void filesOfStoresAreNamedByTheirUris() {
        TableFilter year =
                TableFilter.newBuilder().setColumn("year").addValues("2026").build();
        TableUris selection =
                TableUris.newBuilder().addUris("s3://lake/").addFilters(year).build();

        assertEquals(
                List.of("s3://lake/a.csv", "s3://lake/b.csv"),
                Tables.uris("s3://lake/a.csv", "s3://lake/b.csv")
                        .message()
                        .getUris()
                        .getUrisList());
        assertEquals(selection, Tables.uris(selection).message().getUris());
        assertEquals("s3://a/m.onnx", Models.uri("s3://a/m.onnx").message().getUri());
        assertEquals(
                "0".repeat(64),
                Models.uri("s3://a/m.onnx", "0".repeat(64)).message().getSha256());
        assertFalse(Content.isFile(Models.uri("s3://a/m.onnx").message()));
        assertFalse(Content.isFile(Tables.uris(selection).message()));
    }

    @Test
    void brokenGzipFilesAreRefusedHere() {
        byte[] broken = ByteString.fromHex("1f8b00").toByteArray();

        assertThrows(UncheckedIOException.class, () -> Tables.bytes(broken));
    }

    @Test
    void missingFilesAreToldByName() {
        Path missing = Path.of("no such file.csv");

        UncheckedIOException error = assertThrows(UncheckedIOException.class, () -> Tables.file(missing));
        assertTrue(error.getMessage().contains("no such file.csv"));
        assertThrows(UncheckedIOException.class, () -> Models.file(missing));
    }

    @Test
    void columnsHoldNumbersOrStrings() {
        Column numbers = only(Tables.columns(Map.of("a", Arrays.asList(1, 2.5, null, true, 3L))));
        Column strings = only(Tables.columns(Map.of("b", Arrays.asList("x", null))));

        assertEquals(List.of(1.0, 2.5, Double.NaN, 1.0, 3.0), numbers.getNumbersList());
        assertEquals(List.of("x", ""), strings.getStringsList());
        assertEquals(
                List.of(7.0),
                only(Tables.columns(Map.of("c", new double[] {7}))).getNumbersList());
    }

    @Test
    void rowsAreTurnedIntoColumns() {
        Table table = Tables.rows(List.of("a", "b"), List.of(List.of(1, "x"), List.of(2, "y")))
                .message();

        assertEquals("a", table.getColumns().getColumns(0).getName());
        assertEquals(List.of(1.0, 2.0), table.getColumns().getColumns(0).getNumbersList());
        assertEquals(List.of("x", "y"), table.getColumns().getColumns(1).getStringsList());
    }

    @Test
    void valuesThatWouldChangeAreRefused() {
        long odd = (1L << 53) + 1;

        assertThrows(IllegalArgumentException.class, () -> Tables.columns(Map.of("a", List.of(odd))));
        assertThrows(IllegalArgumentException.class, () -> Tables.columns(Map.of("a", List.of("x", 1))));
        assertThrows(IllegalArgumentException.class, () -> Tables.columns(Map.of("a", List.of(new Object()))));
        assertThrows(IllegalArgumentException.class, () -> Tables.columns(Map.of("a", "text")));
    }

    @Test
    void rowsOfOtherLengthsAreRefused() {
        List<String> names = List.of("a", "b");

        assertThrows(IllegalArgumentException.class, () -> Tables.rows(names, List.of(List.of(1))));
        assertThrows(IllegalArgumentException.class, () -> Tables.rows(List.of("a", "a"), List.of(List.of(1, 2))));
    }

    @Test
    void bytesAreCopied() {
        byte[] bytes = "a\n1\n".getBytes(StandardCharsets.UTF_8);
        TableSource table = Tables.bytes(bytes);
        bytes[0] = 'b';

        assertEquals("a\n1\n", table.message().getCsv().toStringUtf8());
    }
}
