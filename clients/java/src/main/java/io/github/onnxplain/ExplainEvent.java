package io.github.onnxplain;

/**
 * What an explanation on its way tells: {@link Progress}, and at last the {@link Answer}.
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
     * The results; the last event.
     *
     * @param explanations one result per method
     */
    record Answer(Explanations explanations) implements ExplainEvent {}
}
