"""The contract of the clients has limits in words and no options."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from tools.contract.client_protos import without_options
from tools.contract.limits import DefaultRows, Limits, sentence

SOURCE = """syntax = "proto3";

package p;

import "onnxplain/v1/limits.proto";

// Options.
message Options {
  option (default_rows) = {count: 500};

  // Optional. Size.
  optional int32 size = 1 [(limits) = {
    min: 2
    default: 5
  }];

  // Kind of size.
  enum Kind {
    option (foreign_names) = {
      names: "b"
      advice: "is no kind"
    };

    // First.
    FIRST = 1 [(other_names) = "a alpha"];
  }
}
"""

CLIENTS = """syntax = "proto3";

package p;

// Options.
// Rows by default: 500; all with trees.
message Options {
  // Optional. Size.
  // At least 2; default: 5.
  optional int32 size = 1;

  // Kind of size.
  enum Kind {
    // First.
    // Also called a, alpha.
    FIRST = 1;
  }
}
"""


def limits(**given: object) -> Limits:
    known = dict.fromkeys(Limits.__dataclass_fields__)
    return Limits(**{**known, "zero_is_off": False, "default_words": "", **given})  # type: ignore[arg-type] # by name


def contract() -> FileDescriptorProto:
    file = FileDescriptorProto(package="p")
    message = file.message_type.add(name="Options")
    message.field.add(name="size")
    message.enum_type.add(name="Kind").value.add(name="FIRST")
    file.source_code_info.location.add(path=[4, 0, 2, 0], span=[11, 2, 14, 5])
    file.source_code_info.location.add(path=[4, 0, 4, 0, 2, 0], span=[24, 4, 42])
    return file


def test_options_become_lines_of_comments() -> None:
    size = sentence(limits(min=2, default=5), FieldDescriptorProto())
    known = {"p.Options.size": size, "p.Options.Kind.FIRST": "Also called a, alpha."}
    rows = {"p.Options": DefaultRows(500, "all with trees")}

    assert without_options(contract(), SOURCE, known, rows) == CLIENTS


def test_limits_in_words() -> None:
    one = FieldDescriptorProto(label=FieldDescriptorProto.LABEL_OPTIONAL)
    several = FieldDescriptorProto(label=FieldDescriptorProto.LABEL_REPEATED)

    assert sentence(limits(min=2, max=64, default=3), one) == "In [2, 64]; default: 3."
    assert sentence(limits(min=0, exclusive_max=1.0), one) == "In [0, 1)."
    assert sentence(limits(min=10, max=1e9, zero_is_off=True, default=0), one) == (
        "0 turns it off, otherwise in [10, 1e9]; default: 0."
    )
    assert sentence(limits(min=0, max_items=9, default_words="all"), several) == (
        "At most 9 entries; each at least 0; default: all."
    )
    assert sentence(limits(min_items=2, max_items=9, default="ACGT"), one) == (
        "2 to 9 letters; default: ACGT."
    )
    assert sentence(limits(default=False), one) == "Default: false."
    assert not sentence(limits(required=True), one)
