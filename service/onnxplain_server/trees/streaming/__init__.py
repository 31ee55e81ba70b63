"""Streamed trees engine: effects of sums over trees on tables that are never whole in memory.

A statistic reads the table in passes, block by block (`blocks`). A counting pass (`counts`) sums
what effects average over: for each leaf, the weight of the rows that meet its conditions but those
on some features. An effects pass (`block_effects`) then computes the effects at the rows of one
block at a time, and a measure of the caller's turns them into sums (`moments`). Only counts,
tables of pure effects and those sums are kept between passes: their size is that of the model and
does not grow with the rows.

| Statistic | Passes | Kept between them |
|---|---|---|
| H², overall, importance | counts of single features, effects | leaf counts, moments |
| pairs, triples | one more of each, as the first two choose the features | the same for groups |
| partial dependence | values and quantiles of columns, counts | leaf counts by group of rows |
| average loss, FIRM | the same of columns, predictions | sums by group of rows, or by bin |

Blocks have 65,536 rows by row number. Tasks of a few blocks run in any order, and their sums are
added in the order of the rows, so that bits depend neither on threads nor on the files' layout.
The in-memory engine adds the same numbers in another order, and merges equal rows of the whole
table, not of a block: the two agree to some 1e-12 of the predictions' scale, not bit for bit.

A pass is data (`passes`), as are the trees and the sums: `encoding` writes them as bytes, with
which another process computes the same bits (`workers`).

Reading order: `blocks`, `counts`, `block_effects`, `moments`, `passes`, `tasks`, `engine`; then
`column_sums` and `column_summary`, quantiles and distinct values of columns.
Nothing here opens files, or knows of requests.
"""
