# Outputs of the ONNX model: what R's predict() returns, as one matrix, and labels of classes.

# Model from columns, trees and the operators after their sums.
#   base     what is added to the sums, one per output
#   link     "", "Sigmoid", "Softmax" or "Exp"
#   classes  texts of the classes; NULL for other outputs
tree_model <- function(columns, nodes, values, base, link = "", classes = NULL) {
  graph <- column_graph(shift_codes(columns, unique(nodes$column[nodes$mode == "SET"])))
  output <- free_names(output_name(link, classes), graph$names)
  sums <- if (nzchar(link)) free_names("score", graph$names) else output
  made <- c(
    graph$nodes,
    tree_ensemble(nodes, values, base, graph$matrix, sums),
    if (nzchar(link)) link_node(link, sums, output)
  )
  finish(graph, made, output, "float", ncol(values), classes)
}

output_name <- function(link, classes) {
  if (!is.null(classes)) "probabilities" else if (link == "Sigmoid") "probability" else "prediction"
}

link_node <- function(link, input, output) {
  if (link == "Softmax") return(node(link, input, output, attribute("axis", 1, "int")))
  node(link, input, output)
}

finish <- function(graph, nodes, output, type, width, classes = NULL) {
  outputs <- list(value_info(output, type, width))
  if (!is.null(classes)) {
    label <- free_names(c("label", "position"), graph$names)
    nodes <- c(
      nodes,
      node("ArgMax", output, label[2], attribute("axis", 1, "int"), attribute("keepdims", 0, "int")),
      node(
        "LabelEncoder", label[2], label[1], domain = ML,
        attribute("keys_int64s", seq_along(classes) - 1, "ints"),
        attribute("values_strings", classes, "texts")
      )
    )
    outputs <- c(list(value_info(label[1], "string")), outputs)
  }
  onnx_model(graph$inputs, nodes, outputs)
}
