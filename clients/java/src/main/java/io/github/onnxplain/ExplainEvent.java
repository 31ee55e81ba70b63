package io.github.onnxplain;

import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.PartialExplanation;

/**
 * What an explanation on its way tells: {@link Progress}, {@link Partial} if asked for, and at last the {@link Answer}.
 *
 * <pre>{@code
 * if (event instanceof ExplainEvent.Answer answer) {
 *     System.out.println(answer.explanations().receipt());
 * }
 * }</pre>
 */
public sealed interface ExplainEvent {
    /**
     * How far the computation is.
     *
     * @param done rows predicted or found in the cache; never falls
     * @param planned rows planned: an upper bound, which never rises
     */
    record Progress(double done, double planned) implements ExplainEvent {}

    /**
     * Part of an answer that is not finished; see the request's {@code partial}.
     *
     * @param index index of the explanation in the answer
     * @param explanations the explanation alone, with its warnings
     * @param isFinal whether the answer will have the same explanation; otherwise it is from some of the rows
     */
    record Partial(int index, Explanations explanations, boolean isFinal) implements ExplainEvent {
        static Partial of(PartialExplanation part) {
            ExplainResponse alone = ExplainResponse.newBuilder()
                    .addExplanations(part.getExplanation())
                    .addAllWarnings(part.getWarningsList())
                    .build();
            return new Partial(part.getIndex(), new Explanations(alone), part.getIsFinal());
        }
    }

    /**
     * The results; the last event.
     *
     * @param explanations one result per method
     */
    record Answer(Explanations explanations) implements ExplainEvent {}
}
