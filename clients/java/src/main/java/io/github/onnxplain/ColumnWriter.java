package io.github.onnxplain;

import io.github.onnxplain.v1.Column;
import io.github.onnxplain.v1.Columns;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Columns in memory -> the contract's Columns. */
final class ColumnWriter {
    private ColumnWriter() {}

    static Columns write(Map<String, ?> columns) {
        Columns.Builder message = Columns.newBuilder();
        columns.forEach((name, values) -> message.addColumns(column(name, values)));
        return message.build();
    }

    private static Column column(String name, Object values) {
        Column.Builder column = Column.newBuilder().setName(name);
        if (values instanceof double[] numbers) {
            return column.addAllNumbers(() -> Arrays.stream(numbers).iterator()).build();
        }
        if (!(values instanceof List<?> list)) {
            throw new IllegalArgumentException("the values of column " + name + " must be a list or double[]");
        }
        if (list.stream().anyMatch(String.class::isInstance)) {
            list.forEach(value -> column.addStrings(text(name, value)));
        } else {
            list.forEach(value -> column.addNumbers(number(name, value)));
        }
        return column.build();
    }

    private static String text(String name, Object value) {
        if (value != null && !(value instanceof String)) {
            throw refused(name, value, "is no string, as others in it");
        }
        return Objects.requireNonNullElse((String) value, "");
    }

    private static double number(String name, Object value) {
        if (value == null) {
            return Double.NaN;
        }
        if (value instanceof Boolean flag) {
            return flag ? 1 : 0;
        }
        if (!(value instanceof Number number)) {
            throw refused(name, value, "is neither number nor string");
        }
        boolean whole = number instanceof Long || number instanceof java.math.BigInteger;
        if (whole && new BigDecimal(number.toString()).compareTo(new BigDecimal(number.doubleValue())) != 0) {
            throw refused(name, value, "has more digits than a double can hold");
        }
        return number.doubleValue();
    }

    private static IllegalArgumentException refused(String name, Object value, String why) {
        return new IllegalArgumentException("in column " + name + ", " + value + " " + why);
    }
}
