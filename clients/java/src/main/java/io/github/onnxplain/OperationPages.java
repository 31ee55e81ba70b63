package io.github.onnxplain;

import com.google.longrunning.ListOperationsResponse;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;

/** The operations of all pages, each of which is asked for when it is reached. */
final class OperationPages implements Iterator<Operation> {
    private final OperationCalls calls;
    private final String filter;
    private Iterator<com.google.longrunning.Operation> page = Collections.emptyIterator();
    private String token = "";
    private boolean last;

    OperationPages(OperationCalls calls, String filter) {
        this.calls = calls;
        this.filter = filter;
    }

    @Override
    public boolean hasNext() {
        while (!page.hasNext() && !last) {
            ListOperationsResponse found = calls.list(filter, token);
            page = found.getOperationsList().iterator();
            token = found.getNextPageToken();
            last = token.isEmpty();
        }
        return page.hasNext();
    }

    @Override
    public Operation next() {
        if (!hasNext()) {
            throw new NoSuchElementException("there are no more operations");
        }
        return new Operation(page.next(), calls);
    }
}
