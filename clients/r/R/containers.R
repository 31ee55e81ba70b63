# Models inside the objects of caret, parsnip, workflows, mlr3 and DALEX.

to_onnx.train <- function(model, data = NULL, ...) {
  if (!is.null(model$preProcess)) {
    is_used <- lengths(model$preProcess$method) > 0 & names(model$preProcess$method) != "ignore"
    refuse_steps("caret's preProcess", paste(names(which(is_used)), collapse = ", "))
  }
  if (inherits(model, "train.formula")) {
    return(to_onnx(model$finalModel, indicators = indicators(model$xlevels), ...))
  }
  if (is.null(data)) data <- model$trainingData
  to_onnx(model$finalModel, data = data, ...)
}

# Formulas of caret and workflows turn factors into indicators before the model is fitted, and may
# leave out the first level.
indicators <- function(factors) {
  unlist(lapply(names(factors), function(name) {
    levels <- factors[[name]]
    stats::setNames(lapply(levels, function(level) indicator_column(name, level)), paste0(name, levels))
  }), recursive = FALSE)
}

# A workflow keeps its columns as a table without rows, whose factors have their levels.
to_onnx.workflow <- function(model, data = NULL, ...) {
  if (is.null(model$fit$fit)) stop("the workflow is not fitted", call. = FALSE)
  blueprint <- model$pre$mold$blueprint
  steps <- blueprint$recipe$steps
  if (length(steps)) refuse_steps("the recipe", class(steps[[1]])[1])
  columns <- blueprint$ptypes$predictors
  if (is.null(data) && !any(vapply(columns, is.character, TRUE))) data <- columns
  if (!inherits(blueprint, "formula_blueprint")) return(to_onnx(model$fit$fit, data = data, ...))
  factors <- lapply(Filter(is.factor, columns), levels)
  engine <- model$fit$fit$fit
  uses_indicators <- !identical(blueprint$indicators, "none")
  to_onnx(
    engine, data = if (!uses_indicators) data,
    indicators = if (uses_indicators) indicators(factors) else list(), ...
  )
}

to_onnx.model_fit <- function(model, ...) to_onnx(model$fit, ...)

to_onnx.Learner <- function(model, ...) {
  if (is.null(model$model)) stop("the learner is not trained", call. = FALSE)
  if (inherits(model, "GraphLearner")) refuse_steps("the pipeline", "its operators")
  to_onnx(model$model, ...)
}

to_onnx.explainer <- function(model, data = model$data, ...) to_onnx(model$model, data = data, ...)

refuse_steps <- function(what, step) {
  stop(
    what, " prepares the columns (", step, "), which an ONNX file of the model alone would leave ",
    "out; prepare the table in R and write the model inside", call. = FALSE
  )
}

refuse_file_models <- function(package, save) {
  stop(
    package, " has a file format of its own: save the model by ", save, " and convert the file in ",
    "Python with onnxmltools", call. = FALSE
  )
}

to_onnx.xgb.Booster <- function(model, ...) refuse_file_models("xgboost", "xgb.save(model, \"model.json\")")

to_onnx.lgb.Booster <- function(model, ...) refuse_file_models("lightgbm", "lgb.save(model, \"model.txt\")")
