"""Classes of passes and of their sums, over all methods: those that their encoding lists."""

from __future__ import annotations

from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.groups import Grouping
from onnxplain_server.methods.losses import Loss, LossParameters
from onnxplain_server.methods.streamed_loss import LossPass, LossSums, TargetReader
from onnxplain_server.trees.streaming import column_sums, failure_pass, passes
from onnxplain_server.trees.streaming.computed_columns import ComputedPass


def pass_classes() -> tuple[type, ...]:
    """Return the classes; methods are imported on use."""
    from onnxplain_server.methods.firm.cuts import Cuts
    from onnxplain_server.methods.firm.streamed import FirmPass, FirmSums
    from onnxplain_server.methods.interactions.streamed_measurement import (
        JointMoments,
        SingleMoments,
    )

    return (
        *passes.CLASSES,
        *column_sums.CLASSES,
        *failure_pass.CLASSES,
        *(ComputedPass, Grouping),
        *(LossPass, TargetReader, Comparison, Loss, LossParameters, LossSums),
        *(FirmPass, Cuts, FirmSums),
        *(SingleMoments, JointMoments),
    )
