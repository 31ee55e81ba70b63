"""Message about bytes that are no ONNX model: what they are, and what to give instead."""

from __future__ import annotations

from onnxplain_server.core.messages.file_kinds import CATBOOST, OLD_XGBOOST, ONNX, Role, file_kind

_ADVICE = {
    Role.TABLE: "The table may stand in its place: give the .onnx file as the model, before the "
    "table.",
    Role.MODEL: "Export the model to ONNX where it was trained, and give the .onnx file.",
    Role.OTHER: "Give the whole content of the .onnx file.",
}
_SAVE_ANEW = {
    OLD_XGBOOST: "Load it with the XGBoost that wrote it, save it as .json or .ubj",
    CATBOOST: 'Load it with CatBoost, save it by model.save_model("model.json", format="json")',
}


def no_model(content: bytes | bytearray) -> str:
    """Tell what a file is that is no ONNX model, and what to give instead."""
    kind = file_kind(content)
    if kind is None or kind is ONNX:
        return (
            f"The {len(content)} bytes are no ONNX model, or only a part of one. "
            "Send the whole content of the .onnx file."
        )
    saved = _SAVE_ANEW.get(kind)
    advice = f"{saved}, and give that file." if saved else _ADVICE[kind.role]
    return f"The {len(content)} bytes are no ONNX model, but {kind.words}. {advice}"
