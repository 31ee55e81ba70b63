package io.github.onnxplain;

import io.github.onnxplain.v1.ExplainStreamResponse;
import io.github.onnxplain.v1.Progress;

/** Tells progress that never falls, though a second attempt begins at 0 again. */
final class RisingProgress {
    private final ProgressListener listener;
    private double most = -1;

    RisingProgress(ProgressListener listener) {
        this.listener = listener;
    }

    void tell(ExplainStreamResponse event) {
        Progress progress = event.getProgress();
        if (event.hasProgress() && progress.getDone() > most) {
            most = progress.getDone();
            listener.onProgress(progress.getDone(), progress.getPlanned());
        }
    }
}
