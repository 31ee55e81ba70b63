package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.Explanation;
import io.github.onnxplain.v1.InteractionsResult;
import io.github.onnxplain.v1.MethodOptions;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Nothing of the contract is left out. */
class CompletenessTest {
    static List<FieldDescriptor> methods() {
        return MethodOptions.getDescriptor().getFields();
    }

    static List<FieldDescriptor> results() {
        return Explanation.getDescriptor().getOneofs().get(0).getFields();
    }

    @ParameterizedTest
    @MethodSource("methods")
    void everyMethodCanBeAsked(FieldDescriptor field) throws ReflectiveOperationException {
        MethodOptions.Builder expected = MethodOptions.newBuilder();
        Object options = expected.newBuilderForField(field).build();
        expected.setField(field, options);

        ExplainCall.Builder builder = ExplainCall.builder();
        ExplainCall.Builder.class.getMethod("method", options.getClass()).invoke(builder, options);

        assertEquals(List.of(expected.build()), builder.build().request().getMethodsList());
    }

    @ParameterizedTest
    @MethodSource("results")
    void everyResultCanBeRead(FieldDescriptor field) throws ReflectiveOperationException {
        Explanation.Builder explanation = Explanation.newBuilder();
        Object result = explanation.newBuilderForField(field).build();
        explanation.setField(field, result);
        ExplainResponse response =
                ExplainResponse.newBuilder().addExplanations(explanation).build();

        Method reader = Explanations.class.getMethod(field.getJsonName());

        assertEquals(result, reader.invoke(new Explanations(response)));
    }

    @Test
    void everyFieldOfARequestCanBeSet() {
        Set<String> setters = Arrays.stream(ExplainCall.Builder.class.getMethods())
                .map(Method::getName)
                .collect(Collectors.toSet());
        setters.add("methods"); // by method(...), one at a time

        for (FieldDescriptor field : ExplainRequest.getDescriptor().getFields()) {
            assertTrue(setters.contains(field.getJsonName()), field.getName());
        }
    }

    @Test
    void resultsAreReadByNameOnlyWhereThereIsOne() {
        Explanation interactions = Explanation.newBuilder()
                .setInteractions(InteractionsResult.getDefaultInstance())
                .build();
        Explanations twice = new Explanations(ExplainResponse.newBuilder()
                .addExplanations(interactions)
                .addExplanations(interactions)
                .build());

        assertThrows(NoSuchElementException.class, twice::interactions);
        assertThrows(NoSuchElementException.class, twice::swarm);
        assertThrows(NoSuchElementException.class, () -> twice.plot("pairwise"));
        assertEquals("Explanations[INTERACTIONS, INTERACTIONS]", twice.toString());
    }

    @Test
    void plotsAreFoundByName() {
        Explanation.Builder explanation = Explanation.newBuilder();
        explanation.addPlotsBuilder().setName("overall").setVegaLite("{}");
        Explanations found = new Explanations(
                ExplainResponse.newBuilder().addExplanations(explanation).build());

        assertEquals("{}", found.plot("overall").getVegaLite());
        assertEquals(1, found.plots().size());
    }
}
