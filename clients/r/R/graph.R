# ONNX graphs: nodes, inputs, outputs and the model around them.

ML <- "ai.onnx.ml"
OPSETS <- list(c("", 17), c(ML, 4))
IR_VERSION <- 8

# NodeProto in the graph; `...` are attributes, encoded.
node <- function(operator, inputs, outputs, ..., domain = "") {
  field(1, c(
    text_fields(1, inputs), text_fields(2, outputs), field(4, operator), ...,
    if (nzchar(domain)) field(7, domain)
  ))
}

# Constant in the graph.
initializer <- function(name, numbers, dims) field(5, double_tensor(numbers, dims, name))

int_initializer <- function(name, numbers) {
  field(5, c(
    field(1, varints(length(numbers))), number_field(2, ELEMENT_TYPES[["int64"]]),
    field(7, varints(numbers)), field(8, name)
  ))
}

# ValueInfoProto: a table of any number of rows; without `width`, a vector.
value_info <- function(name, type, width = NULL) {
  dims <- c(
    field(1, field(2, "rows")),
    if (!is.null(width)) field(1, number_field(1, width))
  )
  tensor <- c(number_field(1, ELEMENT_TYPES[[type]]), field(2, dims))
  c(field(1, name), field(2, field(1, tensor)))
}

# ModelProto with one input per column; feature_names tells the names where there is one input.
onnx_model <- function(inputs, nodes, outputs) {
  names <- vapply(inputs, function(input) input$name, "")
  graph <- c(
    nodes,
    field(2, "model"),
    unlist(lapply(inputs, function(input) field(11, value_info(input$name, input$type, 1)))),
    unlist(lapply(outputs, function(output) field(12, output)))
  )
  opsets <- lapply(OPSETS, function(opset) {
    field(8, c(if (nzchar(opset[1])) field(1, opset[1]), number_field(2, as.numeric(opset[2]))))
  })
  quoted <- vapply(names, json_text, "")
  features <- paste0("[", paste(quoted, collapse = ", "), "]")
  c(
    number_field(1, IR_VERSION), field(2, "onnxplain for R"), field(7, graph), unlist(opsets),
    field(14, c(field(1, "feature_names"), field(2, features)))
  )
}

json_text <- function(text) {
  controls <- vapply(1:31, intToUtf8, "")
  text <- gsub("\\", "\\\\", enc2utf8(text), fixed = TRUE)
  text <- gsub("\"", "\\\"", text, fixed = TRUE)
  for (code in which(vapply(controls, grepl, TRUE, x = text, fixed = TRUE))) {
    text <- gsub(controls[code], sprintf("\\u%04x", code), text, fixed = TRUE)
  }
  paste0("\"", text, "\"")
}
