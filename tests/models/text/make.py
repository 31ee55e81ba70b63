"""Models of reviews: texts cut to words or letters by scikit-learn, with what it predicts.

    python tests/models/text/make.py

writes reviews.json, and a model per vectorizer. Needs scikit-learn and skl2onnx.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

FOLDER = Path(__file__).parent
GOOD, BAD = ["great", "Lovely", "excellent", "Süß"], ["poor", "awful", "not good", "ÜBEL"]
OTHER = ["the", "product", "arrived", "today", "box", "it", "was", "colour"]
ROW_COUNT = 120
PATTERN = "[a-zA-Z0-9_]+"
"""What skl2onnx writes for scikit-learn's own, which takes letters of all alphabets."""
VECTORIZERS = {
    "words": TfidfVectorizer(token_pattern=PATTERN),
    "pairs": CountVectorizer(token_pattern=PATTERN, ngram_range=(1, 2), lowercase=False),
    "letters": TfidfVectorizer(analyzer="char", ngram_range=(2, 3), max_features=150),
}


def reviews() -> pd.DataFrame:
    """Draw reviews of six to eight words, and stars; one in ten has the wrong class."""
    random = np.random.default_rng(0)
    texts, classes = [], []
    for _ in range(ROW_COUNT):
        is_good = random.random() < 0.5
        words = [*random.choice(OTHER, 5), *random.choice(GOOD if is_good else BAD, 2)]
        random.shuffle(words)
        texts.append(" ".join(words))
        classes.append(int(is_good ^ (random.random() < 0.1)))
    stars = random.integers(1, 6, ROW_COUNT).astype(np.float32)
    return pd.DataFrame({"review": texts, "stars": stars, "class": classes})


def main() -> None:
    table = reviews()
    features = table[["review", "stars"]]
    answers = {}
    for name, vectorizer in VECTORIZERS.items():
        columns = [("text", vectorizer, "review"), ("number", "passthrough", ["stars"])]
        model = make_pipeline(ColumnTransformer(columns), LogisticRegression())
        model.fit(features, table["class"])
        types = [("review", StringTensorType([None, 1])), ("stars", FloatTensorType([None, 1]))]
        with warnings.catch_warnings(action="ignore"):
            written = to_onnx(model, initial_types=types, options={"zipmap": False})
        (FOLDER / f"{name}.onnx").write_bytes(written.SerializeToString())
        answers[name] = model.predict_proba(features)[:, 1].tolist()
    document = {"columns": table.to_dict("list"), "predictions": answers}
    (FOLDER / "reviews.json").write_text(json.dumps(document, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
