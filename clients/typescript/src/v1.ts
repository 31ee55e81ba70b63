/** The messages of the contract, as they are generated. */

export * from "./gen/onnxplain/v1/average_loss_pb.js";
export * from "./gen/onnxplain/v1/explanation_service_pb.js";
export * from "./gen/onnxplain/v1/feature_vectors_pb.js";
export * from "./gen/onnxplain/v1/firm_pb.js";
export * from "./gen/onnxplain/v1/individual_conditional_expectation_pb.js";
export * from "./gen/onnxplain/v1/interactions_pb.js";
export * from "./gen/onnxplain/v1/model_pb.js";
export * from "./gen/onnxplain/v1/partial_dependence_pb.js";
export * from "./gen/onnxplain/v1/permutation_importance_pb.js";
export * from "./gen/onnxplain/v1/plot_pb.js";
export * from "./gen/onnxplain/v1/swarm_pb.js";
export * from "./gen/onnxplain/v1/table_pb.js";
export * from "./gen/onnxplain/v1/upload_pb.js";
