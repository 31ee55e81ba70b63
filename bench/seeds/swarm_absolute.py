"""Results beside the paper on swarm: areas of Keep Absolute (Tables 2 to 5, Figures 14 and 15).

The whole takes an hour (`make keep-absolute`): what it printed is kept in docs/studies/swarm.md,
and read from there. Computed here: the curves of one table, Heart on the other copy of its table,
and ranks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert
from sklearn.feature_selection import f_classif
from sklearn.model_selection import StratifiedKFold, cross_val_score

from bench.accuracy.keep_absolute import DATA, METHODS, MODELS, Study, read
from bench.seeds.kept import Result

_ROOT = Path(__file__).parents[2]
_STUDY = _ROOT / "docs" / "studies" / "swarm.md"
_IMAGES = _ROOT / "docs" / "images"
_PRINTED = Path(__file__).parent / "swarm_tables.json"
_OURS = {
    "SWARM": "swarm, published",
    "Kernel SHAP": "Kernel SHAP",
    "Tree SHAP": "Tree SHAP",
    "LIME": "LIME",
    "PI": "permutation",
    "ANOVA": "ANOVA",
    "M. Information": "mutual information",
    "RFE": "RFE",
}
_QUICK = ("swarm, exact", "swarm, published", "Tree SHAP", "permutation", "ANOVA", "RFE")
_SPLITS = 3
_PACKAGES = ("xgboost-cpu", "scikit-learn", "shap")


def table(model: str) -> dict[str, list[float]]:
    """Read the areas of a model from the study: method -> areas of DATA."""
    text = _STUDY.read_text(encoding="utf-8").partition(f"| {model} |")[2].partition("\n\n")[0]
    lines = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()[2:]
    ]
    return {name: [float(cell) for cell in cells[: len(DATA)]]
            for name, *cells in lines if not name.startswith("paper")}  # fmt: skip


def areas(model: str) -> Result:
    """Return the areas of the paper's methods, by its names."""
    found = table(model)
    values = {f"{theirs}, {name}": area
              for theirs, ours in _OURS.items()
              for name, area in zip(DATA, found[ours], strict=True)}  # fmt: skip
    exact, best = np.array(found["swarm, exact"]), np.array([*found.values()]).max(axis=0)
    claims = {"close": bool((best - exact)[np.array(DATA) != "Heart"].max() < 0.01)}
    return Result(values, claims=claims, seed=0, rows="docs/studies/swarm.md, three splits")


def ranks(number: int, model: str) -> Result:
    """Return ranks of printed areas, `printed` first, and of ours, for the same methods."""
    printed: dict[str, list[str]] = json.loads(_PRINTED.read_text("utf-8"))[f"Table {number}"]
    methods = [name for name in _OURS if f"{name}, Iris" in printed]
    theirs = np.array([[float(printed[f"{m}, {d}"][0]) for d in DATA] for m in methods])
    ours = np.array([table(model)[_OURS[m]] for m in methods])
    values = _ranked(theirs, methods, "")
    values |= _ranked(ours, methods, "our ")
    return Result(values, rows=f"Table {number}; docs/studies/swarm.md")


def _ranked(found: Any, methods: Sequence[str], prefix: str) -> dict[str, float]:
    values = {}
    places = np.array([[1 + (column > area + 5e-5).sum() for area in column] for column in found.T])
    for method, own in zip(methods, places.T, strict=True):
        for name, place in zip(DATA, own, strict=True):
            values[f"{prefix}{method}, {name}"] = float(place)
        values[f"{prefix}{method}, mean rank"] = float(own.mean())
        values[f"{prefix}{method}, deviation"] = float(own.std(ddof=1))
    return values


def curves() -> Result:
    """Compute and draw scores by the number of features kept: Vertebral, XGBoost, one split."""
    study = Study("Vertebral", "XGBoost", 0)
    found = {name: study.curve(METHODS[name](study)) for name in _QUICK}
    points = [{"method": name, "features": k, "score": score}
              for name, curve in found.items() for k, score in enumerate(curve, 1)]  # fmt: skip
    _draw(points, "seeds-keep-absolute.png", x="features:Q", y="score:Q", colour="method:N",
          titles=("features kept", "weighted F1, five folds", "ranked by"),
          title="Vertebral, XGBoost: score of the best ranked features", nested=True)  # fmt: skip
    rising = {name: curve[-1] > curve[0] for name, curve in found.items()}
    values = {
        f"{name}, {k}": score for name, one in found.items() for k, score in enumerate(one, 1)
    }
    return Result(values, claims={"rises": all(rising.values())}, seed=0, packages=_PACKAGES,
                  rows="Vertebral, XGBoost, one split")  # fmt: skip


def heart(model: str) -> Result:
    """Compute areas on the recoded table of hearts: means over splits."""
    known: dict[tuple[int, ...], float] = {}
    studies = [Study("Heart, recoded", model, seed, known) for seed in range(_SPLITS)]
    quick = {theirs: ours for theirs, ours in _OURS.items() if ours in _QUICK}
    values = {
        theirs: float(np.mean([study.area(METHODS[ours](study)) for study in studies]))
        for theirs, ours in quick.items()
    }
    return Result(values, seed=0, packages=_PACKAGES, rows=f"heart_recoded.csv, {_SPLITS} splits")


def tries() -> Result:
    """Compute ANOVA's areas on Heart in other ways: folds, scores, copies of the table."""
    ways: dict[str, tuple[str, str, int | None, str]] = {
        "recoded": ("Heart, recoded", "XGBoost, old defaults", None, "f1_weighted"),
        "recoded, macro F1": ("Heart, recoded", "XGBoost, old defaults", None, "f1_macro"),
        "recoded, accuracy": ("Heart, recoded", "XGBoost, old defaults", None, "accuracy"),
        "Statlog": ("Heart", "XGBoost, old defaults", None, "f1_weighted"),
        "Statlog, forest": ("Heart", "random forest", None, "f1_weighted"),
        "recoded, forest": ("Heart, recoded", "random forest", None, "f1_weighted"),
    }
    ways |= {
        f"recoded, shuffled {seed}": (
            "Heart, recoded",
            "XGBoost, old defaults",
            seed,
            "f1_weighted",
        )
        for seed in range(_SPLITS)
    }
    values = {name: _area(*way) for name, way in ways.items()}
    shuffled = [values[f"recoded, shuffled {seed}"] for seed in range(_SPLITS)]
    values |= {"lowest shuffled": min(shuffled), "highest shuffled": max(shuffled)}
    claims = {"near": max(abs(area - 0.794) for area in values.values()) < 0.02}
    return Result(values, claims=claims, seed=0, packages=_PACKAGES, rows="ANOVA of all rows")


def _area(name: str, model: str, shuffle: int | None, score: str) -> float:
    x, y = read(name)
    ranking = np.argsort(-f_classif(x, y)[0], kind="stable")
    folds = StratifiedKFold(5, shuffle=shuffle is not None, random_state=shuffle)
    curve = [
        cross_val_score(MODELS[model](), x[:, ranking[:k]], y, scoring=score, cv=folds).mean()
        for k in range(1, len(ranking) + 1)
    ]
    return float(np.trapezoid(curve) / (len(curve) - 1))


def parameters() -> Result:
    """Draw the areas by parameters of the search, and compute how far they move."""
    text = (
        _STUDY.read_text(encoding="utf-8").partition("| velocity limit |")[2].partition("\n\n")[0]
    )
    lines = [
        [float(cell) for cell in line.strip("| ").split("|")] for line in text.splitlines()[2:]
    ]
    points = [
        {"limit": f"velocity up to {limit:g}", "particles": int(particles),
         "iterations": int(iterations), "area": area, "data": name}
        for limit, particles, iterations, *found in lines
        for name, area in zip(DATA, found, strict=True)
    ]  # fmt: skip
    _draw(points, "seeds-swarm-parameters.png", x="particles:O", y="area:Q", colour="data:N",
          titles=("particles", "area of Keep Absolute", "table"), column="limit:N",
          dash="iterations:O", title="Keep Absolute by the parameters of the swarm")  # fmt: skip
    spread = np.ptp(np.array(lines)[:, 3:], axis=0)
    values = {f"largest change, {name}": float(one) for name, one in zip(DATA, spread, strict=True)}
    claims = {"maintained": bool(np.delete(spread, DATA.index("Heart")).max() < 0.005)}
    return Result(values, claims=claims, seed=0, rows="docs/studies/swarm.md, five runs each")


def _draw(
    points: Sequence[Mapping[str, Any]],
    picture: str,
    *,
    x: str,
    y: str,
    colour: str,
    titles: tuple[str, str, str],
    column: str = "",
    dash: str = "",
    title: str,
    nested: bool = False,
) -> None:
    """Draw lines over numbers or categories, and write the picture into docs/images.

    `nested` draws later lines thinner, so that lines under others are seen.
    """

    def channel(shorthand: str, **more: Any) -> dict[str, Any]:
        field, _, kind = shorthand.partition(":")
        types = {"Q": "quantitative", "O": "ordinal", "N": "nominal"}
        return {"field": field, "type": types[kind], **more}

    names = list(dict.fromkeys(point[colour.partition(":")[0]] for point in points))
    widths = np.linspace(9, 1.5, len(names)).tolist()
    scale = {"type": "ordinal", "domain": names, "range": widths}
    spec = {
        "title": title,
        "data": {"values": list(points)},
        "width": 200 if column else 420,
        "height": 260,
        "mark": {"type": "line"},
        "encoding": {
            "x": channel(x, title=titles[0], axis={"labelAngle": 0, "tickMinStep": 1}),
            "y": channel(y, title=titles[1], scale={"zero": False}),
            "color": channel(colour, title=titles[2], scale={"domain": names}),
            **({"strokeWidth": channel(colour, title=titles[2], scale=scale)} if nested else {}),
            **({"column": channel(column, title=None)} if column else {}),
            **({"strokeDash": channel(dash)} if dash else {}),
        },
    }
    drawn = vl_convert.vegalite_to_png(json.dumps(spec), vl_version="6.4", scale=1.5)
    (_IMAGES / picture).write_bytes(drawn)


def absolute_makers() -> dict[str, Callable[[], Result]]:
    hearts = {
        re.sub(r"[ ,]+", "-", f"heart, {model}").lower(): partial(heart, model) for model in MODELS
    }
    return {
        "areas-xgboost": partial(areas, "XGBoost"),
        "areas-forest": partial(areas, "random forest"),
        "ranks-xgboost": partial(ranks, 2, "XGBoost"),
        "ranks-forest": partial(ranks, 3, "random forest"),
        "curves": curves,
        "parameters": parameters,
        "heart-tries": tries,
        **hearts,
    }
