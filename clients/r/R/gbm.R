# Boosting of gbm: a missing value leaves each split by a third way.

to_onnx.gbm <- function(
  model, data = NULL, n.trees = NULL, type = c("response", "link"), indicators = list(), ...
) {
  refuse_arguments(...)
  type <- match.arg(type)
  check_data(model$var.names, data)
  if (!is.null(attr(model$Terms, "offset"))) {
    stop("the model has an offset, which predict() does not add either", call. = FALSE)
  }
  columns <- with_indicators(gbm_columns(model), indicators)
  class_count <- max(1, model$num.classes)
  trees <- model$trees[seq_len(gbm_tree_count(model, n.trees) * class_count)]
  nodes <- gbm_nodes(trees, model$var.type, model$c.splits)
  leaf <- nodes$column == 0
  is_of_class <- outer(nodes$tree[leaf] %% class_count, seq_len(class_count) - 1, "==")
  distribution <- model$distribution$name
  is_response <- type == "response"
  factor <- if (is_response && distribution == "adaboost") 2 else 1
  tree_model(
    columns, nodes, factor * nodes$threshold[leaf] * is_of_class,
    base = rep(factor * model$initF, class_count),
    link = if (is_response) gbm_link(distribution) else "",
    classes = if (distribution == "multinomial") as.character(model$classes)
  )
}

gbm_link <- function(distribution) {
  switch(distribution,
    bernoulli = , adaboost = , pairwise = "Sigmoid",
    multinomial = "Softmax", poisson = "Exp", ""
  )
}

# predict() may choose the number of trees by their errors; here it is said, or it is all.
gbm_tree_count <- function(model, count) {
  if (is.null(count)) {
    if (model$train.fraction < 1 || !is.null(model$cv.error)) {
      stop("give n.trees, for example gbm.perf(model): the model has errors to choose it by", call. = FALSE)
    }
    return(model$n.trees)
  }
  if (length(count) != 1 || count < 1 || count > model$n.trees) {
    stop("n.trees is a number from 1 to ", model$n.trees, call. = FALSE)
  }
  count
}

# Factors have their levels as text, numbers have quantiles; ordered levels are compared as 0, 1, 2.
gbm_columns <- function(model) {
  Map(function(name, levels, type) {
    if (!is.character(levels)) return(number_column(name))
    column <- factor_column(name, levels, other = NaN)
    if (type == 0) column$codes <- column$codes - 1
    column
  }, model$var.names, model$var.levels, model$var.type, USE.NAMES = FALSE)
}

# Each split becomes two nodes: for numbers, a test that a missing value fails (value <= Inf), then
# value < threshold; for levels, a test of those that go left, then of those that go right.
gbm_nodes <- function(trees, var_types, level_splits) {
  sizes <- lengths(lapply(trees, `[[`, 1))
  part <- function(number) unlist(lapply(trees, `[[`, number))
  column <- part(1) + 1
  split <- part(2)
  left <- part(3)
  right <- part(4)
  missing <- part(5)
  is_factor <- c(0, var_types)[column + 1] > 0
  number <- sequence(sizes) - 1
  second <- number + rep(sizes, sizes)
  ways <- level_splits[ifelse(is_factor, split, 0) + 1]
  codes <- function(way) lapply(ways, function(splits) which(splits == way))
  first <- list(
    tree = rep(seq_along(sizes) - 1, sizes), node = number, column = column,
    mode = ifelse(is_factor, "SET", "LEQ"), threshold = ifelse(column == 0, split, Inf),
    true = ifelse(is_factor, left, second), false = ifelse(is_factor, second, missing),
    missing_is_true = rep(FALSE, length(split)), set = if (any(is_factor)) codes(-1) else empty_sets(split)
  )
  then <- first
  then$node <- second
  then$mode <- ifelse(is_factor, "SET", "LT")
  then$threshold <- split
  then$true <- ifelse(is_factor, right, left)
  then$false <- ifelse(is_factor, missing, right)
  then$set <- if (any(is_factor)) codes(1) else empty_sets(split)
  Map(c, first, lapply(then, function(values) values[column > 0]))
}

empty_sets <- function(like) rep(list(NULL), length(like))
