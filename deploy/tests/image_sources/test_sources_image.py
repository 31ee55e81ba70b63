"""The second image: the first one, what reads models and tables by their URIs, and Dask.

`make test-image-sources` builds it and runs this, as root, since it mounts the image's file system.
"""

from __future__ import annotations

from pathlib import Path

import onnxplain
import pytest
from image_root import Image, running

from tools.stores.https_server import Site, https_server

MIAMI = Path(__file__).parents[3] / "examples/miami/miami.onnx"
FOUND = "import importlib.util, sys; print(*map(importlib.util.find_spec, sys.argv[1:]))"
LIST = "/etc/sources.toml"


def test_it_has_the_libraries(image: Image) -> None:
    found = image.output("python", "-c", FOUND, "obstore", "pyarrow", "yaml", "distributed")
    assert "None" not in found


def test_its_server_reads_a_model_and_a_table_by_uri(image: Image) -> None:
    """The process that fetches is confined by all protections, in the image's own root."""
    table = "LND_SQFOOT,TOT_LVG_AREA\n1000,2000\n3000,4000\n"
    site = Site({"/lake/miami.onnx": MIAMI.read_bytes(), "/lake/rows.csv": table.encode()})
    with https_server(site) as store:
        listed = f'[[source]]\nprefix = "s3://lake/"\nendpoint = "{store.url}"\n'
        (image.root / LIST.lstrip("/")).write_text(listed)
        with (
            running(image, ONNXPLAIN_SOURCES_FILE=LIST) as server,
            onnxplain.connect(server.endpoint) as client,
        ):
            by_uri = client.describe("s3://lake/miami.onnx")
            with pytest.raises(onnxplain.ExplainError) as refused:
                client.plan("s3://lake/miami.onnx", "s3://lake/rows.csv")

    assert by_uri.feature_names
    # The table was read, and the model needs more columns.
    assert refused.value.reason == "MISSING_COLUMN"
