"""Keep Absolute: accuracy of models on the features that each method ranks first.

python -m bench.accuracy.keep_absolute COMMAND

    tables [SPLITS]   as the paper's Tables 2 to 5 and Figure 14
    parameters        as its Figure 15
    optimum           the exact optimum against 40 published searches

A model is trained on the first feature of a ranking, on the first two, and so on; the weighted F1
of five-fold cross-validation over the number of features encloses an area, divided by the number
of features less one. Rankings are made on 20 % of the rows, held out from a model of all features.
Figures are in docs/studies/swarm.md. `make keep-absolute` runs it in an environment of its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import lime.lime_tabular
import numpy as np
import pandas as pd
import shap
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.swarm_pb2 import SwarmOptions, SwarmResult
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from skl2onnx import to_onnx
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, f_classif, mutual_info_classif
from sklearn.inspection import permutation_importance
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from xgboost import XGBClassifier

from bench.shared.null_host import NullHost

ROOT = Path(__file__).parents[2]
FILES = {
    "Vertebral": "examples/swarm/vertebral_column_3c.csv",
    "Indian Liver": "tests/models/data/indian_liver_patient.csv",
    "Heart": "examples/swarm/heart_statlog.csv",
}
BUNDLED = {"Wine": "wine", "Breast Cancer": "breast_cancer", "Iris": "iris"}
DATA = (*FILES, *BUNDLED)
# Of the study of the difference on Heart only.
OTHER_FILES = {"Heart, recoded": "bench/data/heart_recoded.csv"}
COMPARED = ("XGBoost", "random forest")
MODELS: dict[str, Callable[[], Any]] = {
    "XGBoost": lambda: XGBClassifier(n_jobs=1),
    "random forest": lambda: RandomForestClassifier(random_state=0, n_jobs=1),
    # Defaults of XGBClassifier before version 1.0.
    "XGBoost, old defaults": lambda: XGBClassifier(
        n_jobs=1, learning_rate=0.1, max_depth=3, tree_method="exact"
    ),
}
_RUNNER = InProcess(2)

Ranking = list[int]


def read(name: str) -> tuple[Any, Any]:
    """Read a table: (n, m) numbers without missing ones, and classes from 0."""
    if name in BUNDLED:
        found = getattr(datasets, f"load_{BUNDLED[name]}")()
        return found.data.astype(np.float32), found.target
    table = pd.read_csv(ROOT / {**FILES, **OTHER_FILES}[name]).dropna()
    features = table.iloc[:, :-1].apply(lambda c: c if c.dtype.kind in "if" else c == c.iloc[0])
    return features.to_numpy(np.float32), pd.factorize(table.iloc[:, -1], sort=True)[0]


@dataclass
class Study:
    """A model of a table, with rows held out."""

    name: str
    model_name: str
    seed: int
    areas: dict[tuple[int, ...], float] = field(default_factory=dict)

    @cached_property
    def rows(self) -> tuple[Any, Any]:
        return read(self.name)

    @cached_property
    def parts(self) -> list[Any]:
        x, y = self.rows
        return list(train_test_split(x, y, test_size=0.2, random_state=self.seed, stratify=y))

    @cached_property
    def model(self) -> Any:
        return MODELS[self.model_name]().fit(self.parts[0], self.parts[2])

    @cached_property
    def onnx(self) -> bytes:
        width = self.parts[0].shape[1]
        if self.model_name.startswith("XGBoost"):
            kind = [("x", FloatTensorType([None, width]))]
            converted = convert_xgboost(self.model, initial_types=kind, target_opset=15)
        else:
            options = {"zipmap": False}
            converted = to_onnx(self.model, self.parts[0][:1], options=options, target_opset=15)
        return bytes(converted.SerializeToString())

    def swarm(self, seed: int = 0, **options: Any) -> SwarmResult:
        _, x, _, y = self.parts
        columns = [Column(name=f"f{j}", numbers=x[:, j]) for j in range(x.shape[1])]
        columns.append(Column(name="y", numbers=y))
        request = ExplainRequest(
            model=Model(content=self.onnx),
            table=Table(columns=Columns(columns=columns)),
            target_column="y",
            methods=[MethodOptions(swarm=SwarmOptions(**options))],
            seed=seed,
            plots=False,
        )
        answer = _RUNNER.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), NullHost()
        )
        return ExplainResponse.FromString(answer.content).explanations[0].swarm

    def area(self, ranking: Ranking) -> float:
        """Area under the weighted F1 over the number of features kept, divided by its width."""
        curve = self.curve(ranking)
        return float(np.trapezoid(curve) / (len(curve) - 1))

    def curve(self, ranking: Ranking) -> list[float]:
        return [self._f1(tuple(sorted(ranking[:k]))) for k in range(1, len(ranking) + 1)]

    def _f1(self, kept: tuple[int, ...]) -> float:
        if kept not in self.areas:
            x, y = self.rows
            folds = StratifiedKFold(5).split(x, y)
            self.areas[kept] = float(np.mean([self._fold(kept, *fold) for fold in folds]))
        return self.areas[kept]

    def _fold(self, kept: tuple[int, ...], train: Any, test: Any) -> float:
        x, y = self.rows
        model = MODELS[self.model_name]().fit(x[np.ix_(train, kept)], y[train])
        return float(f1_score(y[test], model.predict(x[np.ix_(test, kept)]), average="weighted"))


def ranked(importances: Any) -> Ranking:
    return [int(j) for j in np.argsort(-np.asarray(importances), kind="stable")]


def by_swarm(study: Study, **options: Any) -> Ranking:
    return ranked([one.value for one in study.swarm(**options).importances])


def by_tree_shap(study: Study) -> Ranking:
    values = np.abs(np.array(shap.TreeExplainer(study.model).shap_values(study.parts[1])))
    width = study.parts[1].shape[1]
    axis = next(i for i in (-1, 1, 2) if i < values.ndim and values.shape[i] == width)
    return ranked(np.moveaxis(values, axis, -1).reshape(-1, width).mean(axis=0))


def by_kernel_shap(study: Study) -> Ranking:
    train, test = study.parts[:2]
    explainer = shap.KernelExplainer(study.model.predict_proba, shap.kmeans(train, 10))
    values = np.abs(np.array(explainer.shap_values(test[:30], nsamples=200, silent=True)))
    axis = next(i for i in (1, 2) if values.shape[i] == test.shape[1])
    return ranked(np.moveaxis(values, axis, -1).reshape(-1, test.shape[1]).mean(axis=0))


def by_lime(study: Study) -> Ranking:
    train, test = study.parts[:2]
    explainer = lime.lime_tabular.LimeTabularExplainer(train, random_state=0)
    total = np.zeros(train.shape[1])
    for row in test[:30]:
        told = explainer.explain_instance(
            row, study.model.predict_proba, num_features=len(total), num_samples=500, top_labels=1
        )
        for weights in told.local_exp.values():
            for j, weight in weights:
                total[j] += abs(weight)
    return ranked(total)


def by_permutation(study: Study) -> Ranking:
    _, x, _, y = study.parts
    found = permutation_importance(study.model, x, y, n_repeats=5, random_state=0)
    return ranked(found.importances_mean)


def by_rfe(study: Study) -> Ranking:
    found = RFE(MODELS[study.model_name](), n_features_to_select=1)
    return ranked(-found.fit(study.parts[0], study.parts[2]).ranking_)


METHODS: dict[str, Callable[[Study], Ranking]] = {
    "swarm, exact": by_swarm,
    "swarm, published": lambda study: by_swarm(study, search="PUBLISHED", iteration_count=40),
    "Kernel SHAP": by_kernel_shap,
    "Tree SHAP": by_tree_shap,
    "LIME": by_lime,
    "permutation": by_permutation,
    "ANOVA": lambda study: ranked(f_classif(study.parts[0], study.parts[2])[0]),
    "mutual information": lambda study: ranked(
        mutual_info_classif(study.parts[0], study.parts[2], random_state=0)
    ),
    "RFE": by_rfe,
}


def tables(splits: int) -> None:
    """Print a table of areas, mean over splits, and of ranks, for each model."""
    for model in COMPARED:
        areas = {name: np.mean(list(_column(name, model, splits)), axis=0) for name in DATA}
        print(f"\n| {model} | {' | '.join(DATA)} | mean | mean rank |")
        print("|---|" + "---:|" * (len(DATA) + 2))
        whole = np.array(list(areas.values())).T
        ranks = np.array([_ranks(column) for column in whole.T]).T
        for i, method in enumerate(METHODS):
            cells = " | ".join(f"{area:.4f}" for area in whole[i])
            mean, rank = whole[i].mean(), ranks[i].mean()
            print(f"| {method} | {cells} | {mean:.4f} | {rank:.2f} |", flush=True)


def _column(name: str, model: str, splits: int) -> Iterator[list[float]]:
    known: dict[tuple[int, ...], float] = {}
    for seed in range(splits):
        study = Study(name, model, seed, known)
        rankings = {method: rank(study) for method, rank in METHODS.items()}
        if seed == 0:
            for method, ranking in rankings.items():
                curve = " ".join(f"{value:.3f}" for value in study.curve(ranking))
                print(f"{name}, {model}, {method}: {curve}", file=sys.stderr, flush=True)
        yield [study.area(ranking) for ranking in rankings.values()]


def _ranks(areas: Any) -> list[int]:
    """Rank areas, the largest first; equal ones share the better rank."""
    return [1 + int((areas > area + 5e-5).sum()) for area in areas]


def parameters() -> None:
    """Print areas for other velocity limits, particles and iterations: mean of five runs."""
    print(f"\n| velocity limit | particles | iterations | {' | '.join(DATA)} |")
    print("|---:|---:|---:|" + "---:|" * len(DATA))
    studies = [Study(name, "XGBoost", 0) for name in DATA]
    for chosen in product((0.5, 1.0, 2.0), (5, 10, 15), (30, 60, 100)):
        cells = []
        for study in studies:
            names = ("velocity_limit", "particle_count", "iteration_count")
            given: dict[str, Any] = dict(zip(names, chosen, strict=True))
            runs = [by_swarm(study, seed=run, search="PUBLISHED", **given) for run in range(5)]
            cells.append(f"{np.mean([study.area(ranking) for ranking in runs]):.4f}")
        print(f"| {' | '.join(map(str, (*chosen, *cells)))} |", flush=True)


def optimum() -> None:
    """Count effects on which 40 published searches found something worse, the same, or better."""
    print("\n| data | model | effects | exact does more harm | the same | less |")
    print("|---|---|---:|---:|---:|---:|")
    for name, model in product(DATA, COMPARED):
        study = Study(name, model, 0)
        exact = study.swarm()
        tried = study.swarm(search="PUBLISHED", restart_count=40, iteration_count=60)
        gains = np.array([b.best_score - a.best_score
                          for a, b in zip(exact.effects, tried.effects, strict=True)])  # fmt: skip
        counts = [(gains > 1e-12).sum(), (np.abs(gains) <= 1e-12).sum(), (gains < -1e-12).sum()]
        print(f"| {name} | {model} | {len(gains)} | {' | '.join(map(str, counts))} |", flush=True)


def main() -> None:
    warnings.filterwarnings("ignore")  # of the other methods' libraries
    if sys.argv[1:2] == ["parameters"]:
        parameters()
    elif sys.argv[1:2] == ["optimum"]:
        optimum()
    else:
        tables(int(sys.argv[2]) if len(sys.argv) > 2 else 3)


if __name__ == "__main__":
    main()
