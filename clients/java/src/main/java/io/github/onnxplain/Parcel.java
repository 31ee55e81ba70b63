package io.github.onnxplain;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.github.onnxplain.v1.Model;
import io.github.onnxplain.v1.Table;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A request, with the files that it names by id at hand.
 *
 * @param <Q> a request of the contract with a model, a table or both
 */
final class Parcel<Q extends Message> {
    private final Map<String, Message> files = new HashMap<>();
    private Q request;

    /**
     * Packs a request.
     *
     * @param request what to send
     * @param model the file that it names by id; null where it does not, or the file is not at hand
     * @param table likewise
     * @param limit bytes that a message may have: in a larger one, files are named instead of sent, the largest first.
     *     The server is asked whether it has them before they are uploaded
     */
    Parcel(Q request, Model model, Table table, int limit) {
        this.request = request;
        Stream.of(Optional.ofNullable(model), Optional.ofNullable(table))
                .flatMap(Optional::stream)
                .forEach(file -> files.put(kind(file), file));
        Optional<FieldDescriptor> largest = largest();
        while (this.request.getSerializedSize() > limit && largest.isPresent()) {
            name(largest.get());
            largest = largest();
        }
    }

    /** What to send. */
    Q request() {
        return request;
    }

    /** Returns the file whose absence is the error, once; empty where that is not the case. */
    Optional<Message> missing(ExplainException error) {
        if (!error.getReason().equals("BLOB_NOT_FOUND")) {
            return Optional.empty();
        }
        return Optional.ofNullable(files.remove(error.getField().split("\\.", 2)[0]));
    }

    private Optional<FieldDescriptor> largest() {
        return Stream.of("model", "table")
                .map(request.getDescriptorForType()::findFieldByName)
                .filter(field -> field != null && Content.isFile((Message) request.getField(field)))
                .max(Comparator.comparingInt(field -> ((Message) request.getField(field)).getSerializedSize()));
    }

    /** Puts the id of a file in the place of its bytes. */
    private void name(FieldDescriptor field) {
        Message file = (Message) request.getField(field);
        files.put(kind(file), file);
        name(field, file, Content.id(file));
    }

    /** Names a file that was uploaded by what the server calls it. */
    void rename(Message file, String id) {
        name(request.getDescriptorForType().findFieldByName(kind(file)), file, id);
    }

    @SuppressWarnings("unchecked") // a builder of Q builds Q
    private void name(FieldDescriptor field, Message file, String id) {
        Message named = file instanceof Model
                ? Model.newBuilder().setId(id).build()
                : Table.newBuilder().setId(id).build();
        request = (Q) request.toBuilder().setField(field, named).build();
    }

    private static String kind(Message file) {
        return file instanceof Model ? "model" : "table";
    }
}
