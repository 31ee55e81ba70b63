# Linear models of lm and glm, with numbers and factors as they are: no products, no functions.

to_onnx.lm <- function(model, data = NULL, type = c("response", "link"), indicators = list(), ...) {
  refuse_arguments(...)
  is_response <- match.arg(type) == "response"
  terms <- stats::delete.response(stats::terms(model))
  refuse_terms(model, terms)
  weights <- lapply(term_names(terms), function(name) term_weights(model, terms, name))
  columns <- with_indicators(unlist(lapply(weights, `[[`, "columns"), recursive = FALSE), indicators)
  weights <- unlist(lapply(weights, `[[`, "weights"))
  intercept <- if (attr(terms, "intercept")) stats::coef(model)[["(Intercept)"]] else 0
  linear_model(columns, weights, intercept, if (is_response) linear_link(model) else "")
}

linear_model <- function(columns, weights, intercept, link) {
  graph <- column_graph(columns)
  output <- free_names(output_name(link, NULL), graph$names)
  inner <- free_names(c("weights", "intercept", "product", "score"), graph$names)
  sums <- if (nzchar(link)) inner[4] else output
  nodes <- c(
    graph$nodes,
    initializer(inner[1], weights, c(length(weights), 1)),
    initializer(inner[2], intercept, 1),
    node("MatMul", c(graph$matrix, inner[1]), inner[3]),
    node("Add", c(inner[3], inner[2]), sums),
    if (nzchar(link)) link_node(link, sums, output)
  )
  finish(graph, nodes, output, "double", 1)
}

linear_link <- function(model) {
  link <- if (is.null(model$family)) "identity" else model$family$link
  switch(link, identity = "", logit = "Sigmoid", log = "Exp", stop(
    "the link ", link, " is not one of identity, logit and log", call. = FALSE
  ))
}

refuse_terms <- function(model, terms) {
  if (inherits(model, "mlm")) stop("lm of several responses is not supported", call. = FALSE)
  if (!is.null(attr(terms, "offset"))) stop("an offset is not supported", call. = FALSE)
  is_plain <- vapply(as.list(attr(terms, "variables"))[-1], is.name, TRUE)
  if (!all(is_plain) || any(attr(terms, "order") > 1)) {
    stop(
      "only plain columns are supported, not functions or products of them; put such a column into ",
      "the data frame and fit again", call. = FALSE
    )
  }
  if (!attr(terms, "intercept") && length(model$xlevels)) {
    stop("factors without an intercept are not supported", call. = FALSE)
  }
}

term_names <- function(terms) vapply(as.list(attr(terms, "variables"))[-1], as.character, "")

# A number has one weight; a factor one per level, and a level that it lacks makes the answer NaN.
term_weights <- function(model, terms, name) {
  labels <- c(name, paste0("`", name, "`"))
  levels <- model$xlevels[[intersect(labels, c(names(model$xlevels), name))[1]]]
  if (is.null(levels)) {
    kind <- attr(terms, "dataClasses")[[intersect(labels, names(attr(terms, "dataClasses")))[1]]]
    suffix <- switch(kind, numeric = "", logical = "TRUE", stop(
      "column ", name, " is of the kind ", kind, ", which is not supported", call. = FALSE
    ))
    return(list(
      columns = list(number_column(name)),
      weights = coefficient(model, paste0(labels, suffix))
    ))
  }
  contrasts <- model$contrasts[[intersect(labels, names(model$contrasts))[1]]]
  if (is.character(contrasts)) contrasts <- do.call(contrasts, list(levels))
  suffixes <- if (is.null(colnames(contrasts))) seq_len(ncol(contrasts)) else colnames(contrasts)
  coefficients <- vapply(suffixes, function(suffix) coefficient(model, paste0(labels, suffix)), 0)
  columns <- lapply(levels, function(level) {
    list(source = name, levels = levels, codes = as.numeric(levels == level), other = NaN)
  })
  list(columns = columns, weights = as.vector(contrasts %*% coefficients))
}

# A coefficient that could not be estimated counts as 0, as in predict().
coefficient <- function(model, labels) {
  value <- stats::coef(model)[[intersect(labels, names(stats::coef(model)))[1]]]
  if (is.na(value)) 0 else value
}
