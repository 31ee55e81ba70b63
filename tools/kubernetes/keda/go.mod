// The published definition of KEDA's ScaledObject; nothing of the module is built.
module github.com/onnxplain/onnxplain/tools/kubernetes/keda

go 1.26.0

require github.com/kedacore/keda/v2 v2.21.0
