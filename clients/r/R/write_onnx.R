write_onnx <- function(model, path, data = NULL, ...) {
  bytes <- if (is.null(data)) to_onnx(model, ...) else to_onnx(model, data = data, ...)
  writeBin(bytes, path)
  invisible(path)
}

to_onnx <- function(model, ...) UseMethod("to_onnx")

to_onnx.default <- function(model, ...) {
  stop(
    "write_onnx() takes forests and boosting of ranger, randomForest and gbm, linear models of lm ",
    "and glm, and what caret, parsnip, workflows, mlr3 and DALEX make of them, not ",
    paste(class(model), collapse = "/"), call. = FALSE
  )
}

refuse_arguments <- function(...) {
  if (...length()) {
    name <- c(...names(), "")[1]
    stop("write_onnx() has no argument ", if (nzchar(name)) name else "of this place", call. = FALSE)
  }
}
