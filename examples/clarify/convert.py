"""Inputs of SageMaker Clarify as a request, and an answer as outputs of Clarify.

    python convert.py request analysis_config.json rows.csv FOLDER
    python convert.py analysis answer.json [mean_abs | median | mean_sq]

The first writes FOLDER/request.json and FOLDER/table.csv, the second prints an analysis.json.
Schema of the configuration: 1.0, as version 2 of the SDK of SageMaker checks it.
"""

import csv
import json
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

READ = {"version", "dataset_type", "dataset_uri", "headers", "label", "excluded_columns"}
READ |= {"methods", "predictor"}
READ_SHAP = {"baseline", "num_samples", "use_logit", "agg_method", "seed", "save_local_shap_values"}
MOST_ROWS, MOST_ORDERS = 10_000, 100_000

AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean_abs": lambda values: statistics.fmean(map(abs, values)),
    "median": statistics.median,
    "mean_sq": lambda values: statistics.fmean(value**2 for value in values),
}

Row = list[str]


def refuse(problem: str) -> None:
    raise SystemExit(f"convert.py: {problem}")


def check(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse what has no counterpart, and return the part of SHAP."""
    methods = config.get("methods", {})
    shap = methods.get("shap")
    if shap is None:
        refuse("the configuration has no methods.shap")
    without = [name for name in config if name not in READ]
    without += [f"methods.{name}" for name in methods if name not in {"shap", "report"}]
    without += [f"methods.shap.{name}" for name in shap if name not in READ_SHAP]
    if without:
        refuse(f"no counterpart of {', '.join(without)}; leave them out")
    if config.get("dataset_type", "").lower() != "text/csv":
        refuse("dataset_type: only text/csv is read")
    if shap.get("agg_method", "mean_abs").lower() not in AGGREGATES:
        refuse(f"methods.shap.agg_method: one of {', '.join(AGGREGATES)}")
    baseline = shap.get("baseline")
    if baseline is not None and not (
        isinstance(baseline, list) and baseline and all(isinstance(row, list) for row in baseline)
    ):
        refuse("methods.shap.baseline: only a list of rows is read; take a file's rows into it")
    return shap  # type: ignore[no-any-return]


def column_index(headers: Sequence[str], column: str | int) -> int:
    if isinstance(column, int):
        if not 0 <= column < len(headers):
            refuse(f"there is no column {column}")
        return column
    if column not in headers:
        refuse(f"there is no column {column!r}")
    return headers.index(column)


def read_rows(config: Mapping[str, Any], path: Path) -> tuple[list[str], list[Row]]:
    """Read the data set, whose first line may be its headers."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    headers = config.get("headers") or rows[0]
    rows = rows[1:] if rows[0] == headers else rows
    if any(len(row) != len(headers) for row in rows):
        refuse(f"rows do not have {len(headers)} values, as headers have")
    return list(headers), rows


def as_column(name: str, values: Sequence[str]) -> dict[str, Any]:
    """Write a column of numbers, NaN where they lack, or of texts."""
    try:
        numbers = [float(value or "nan") for value in values]
    except ValueError:
        return {"name": name, "strings": list(values)}
    return {"name": name, "numbers": [each if math.isfinite(each) else "NaN" for each in numbers]}


def write_request(config: Mapping[str, Any], rows_path: Path, folder: Path) -> None:
    shap = check(config)
    headers, rows = read_rows(config, rows_path)
    left_out = {column_index(headers, each) for each in config.get("excluded_columns", [])}
    request: dict[str, Any] = {}
    if "label" in config:
        label = column_index(headers, config["label"])
        left_out.add(label)
    kept = [place for place in range(len(headers)) if place not in left_out]
    features = [headers[place] for place in kept]
    request["featureColumns"] = features
    # Attributions alone would be those of the margin, where the model has one.
    request["scale"] = "MARGIN" if shap.get("use_logit", False) else "RESPONSE"
    if "seed" in shap:
        request["seed"] = shap["seed"]
    options: dict[str, Any] = {}
    if "num_samples" in shap:
        # An order and its reverse take as many coalitions.
        orders = math.ceil(shap["num_samples"] / max(2 * (len(features) - 1), 1))
        options["permutationCount"] = min(max(orders, 2), MOST_ORDERS)
    if "baseline" in shap:
        table = [["" if value is None else str(value) for value in row] for row in shap["baseline"]]
        if any(len(row) != len(features) for row in table):
            refuse(f"methods.shap.baseline: rows have the {len(features)} features, in order")
        if len(rows) > MOST_ROWS:
            refuse(f"at most {MOST_ROWS:,} rows are explained beside a baseline")
        # A table has two rows; the same row twice is the same background.
        table = table * 2 if len(table) == 1 else table
        own = [as_column(headers[place], [row[place] for row in rows]) for place in kept]
        options["explainedRows"] = {"columns": own}
    else:
        table = [[row[place] for place in kept] for row in rows]
        options["explainedRowCount"] = len(rows)
    request["methods"] = [{"attributions": options}]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([features, *table])
    text = json.dumps(request, indent=2, allow_nan=False)
    (folder / "request.json").write_text(text + "\n", encoding="utf-8")


def analysis_of(answer: Mapping[str, Any], agg_method: str) -> dict[str, Any]:
    """Return what Clarify has in its analysis.json of global SHAP values."""
    if agg_method not in AGGREGATES:
        refuse(f"{agg_method!r} is none of {', '.join(AGGREGATES)}")
    found = [each for each in answer["explanations"] if "attributions" in each]
    if len(found) != 1:
        refuse("the answer has no attributions, or more than one")
    attributions, options = found[0]["attributions"], found[0]["options"]["attributions"]
    if options.get("value", "SHAPLEY") != "SHAPLEY":
        refuse("values are not those of Shapley")
    features = [each["names"] for each in attributions["features"]]
    if any(len(names) > 1 for names in features):
        refuse("groups of features have no place in an analysis.json")
    values = attributions.get("values", [])
    if not values or not all(map(is_finite, values)):
        refuse("the answer has no values, or some that are not finite")
    outputs = len(attributions["outputNames"])
    step = len(features) * outputs
    labels = {}
    for k in range(outputs):
        own = {
            names[0]: AGGREGATES[agg_method](values[j * outputs + k :: step])
            for j, names in enumerate(features)
        }
        expected = attributions["baseValues"][k]
        labels[f"label{k}"] = {"global_shap_values": own, "expected_value": expected}
    return {"explanations": {"kernel_shap": labels}}


def is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def main(arguments: Sequence[str]) -> None:
    if len(arguments) == 4 and arguments[0] == "request":
        config, rows, folder = map(Path, arguments[1:])
        write_request(json.loads(config.read_text(encoding="utf-8")), rows, folder)
    elif len(arguments) in {2, 3} and arguments[0] == "analysis":
        answer = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
        print(json.dumps(analysis_of(answer, *(arguments[2:] or ["mean_abs"])), indent=2))
    else:
        refuse(__doc__ or "")


if __name__ == "__main__":
    main(sys.argv[1:])
