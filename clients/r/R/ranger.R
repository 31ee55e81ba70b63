# Forests of ranger: means of leaves; classification votes.

to_onnx.ranger <- function(model, data = NULL, indicators = list(), ...) {
  refuse_arguments(...)
  forest <- model$forest
  if (is.null(forest)) stop("ranger kept no forest: fit with write.forest = TRUE", call. = FALSE)
  if (!is.null(forest$dependent.varID)) {
    stop("this forest is of a ranger before 0.12; fit it again", call. = FALSE)
  }
  columns <- with_indicators(ranger_columns(forest, data), indicators)
  nodes <- ranger_nodes(forest, columns)
  leaves <- ranger_leaves(forest, nodes)
  tree_model(
    columns, nodes, leaves$values / forest$num.trees,
    base = rep(0, ncol(leaves$values)), classes = leaves$classes
  )
}

# ranger keeps levels only where it orders them (respect.unordered.factors = "order"); otherwise
# `data` tells them, and without it a column is a number.
ranger_columns <- function(forest, data) {
  names <- forest$independent.variable.names
  check_data(names, data)
  columns <- columns_of(names, data)
  kept <- forest$covariate.levels
  for (i in seq_along(names)) {
    levels <- if (!is.null(names(kept))) kept[[names[i]]] else if (length(kept)) kept[[i]]
    if (!is.null(levels)) columns[[i]] <- factor_column(names[i], levels)
    if (!forest$is.ordered[i] && is.null(columns[[i]]$levels)) {
      stop("ranger keeps no levels of ", names[i], ": give the training rows as `data`", call. = FALSE)
    }
  }
  columns
}

ranger_nodes <- function(forest, columns) {
  child <- forest$child.nodeIDs
  sizes <- lengths(forest$split.varIDs)
  left <- unlist(lapply(child, function(ids) ids[[1]]))
  right <- unlist(lapply(child, function(ids) ids[[2]]))
  is_leaf <- left == 0 & right == 0
  column <- ifelse(is_leaf, 0, unlist(forest$split.varIDs) + 1)
  split <- unlist(forest$split.values)
  is_set <- !is_leaf & !c(TRUE, forest$is.ordered)[column + 1]
  nodes <- list(
    tree = rep(seq_along(sizes) - 1, sizes), node = sequence(sizes) - 1,
    column = column, mode = ifelse(is_set, "SET", "LEQ"), threshold = split,
    true = ifelse(is_set, right, left), false = ifelse(is_set, left, right),
    missing_is_true = !is_set & missing_goes_left(child, left)
  )
  nodes$set <- rep(list(NULL), length(left))
  nodes$set[is_set] <- Map(
    function(mask, position) bits(mask, length(columns[[position]]$levels)),
    split[is_set], column[is_set]
  )
  nodes
}

# Since 0.16, a third list has the child for missing values; 0 is the left one.
missing_goes_left <- function(child, left) {
  if (length(child[[1]]) < 3) return(rep(TRUE, length(left)))
  default <- unlist(lapply(child, function(ids) ids[[3]]))
  default == 0 | default == left
}

# Positions of the bits of a whole number that are 1, from 1 up to `count`.
bits <- function(mask, count) which((mask %/% 2^(seq_len(count) - 1)) %% 2 == 1)

# Values of the leaves, (n_leaves, n_outputs), in the order of predict(), and names of classes.
ranger_leaves <- function(forest, nodes) {
  leaf <- nodes$column == 0
  if (forest$treetype == "Regression") {
    return(list(values = matrix(ranger_predictions(forest)[leaf])))
  }
  if (forest$treetype == "Survival") return(list(values = survival_leaves(forest, leaf)))
  position <- seq_along(forest$class.values)
  names <- if (is.null(forest$levels)) forest$class.values else forest$levels[forest$class.values]
  if (forest$treetype == "Classification") {
    chosen <- match(ranger_predictions(forest)[leaf], forest$class.values)
    values <- diag(length(position))[chosen, , drop = FALSE]
  } else {
    counts <- unlist(forest$terminal.class.counts, recursive = FALSE)
    if (length(counts) == length(leaf)) counts <- counts[leaf] else counts <- counts[lengths(counts) > 0]
    values <- do.call(rbind, counts)
  }
  order <- order(forest$class.values)
  list(values = values[, order, drop = FALSE], classes = as.character(names[order]))
}

# With node.stats = TRUE, predictions are kept apart from the split values.
ranger_predictions <- function(forest) {
  unlist(if (is.null(forest$num.samples.nodes)) forest$split.values else forest$node.predictions)
}

# Cumulative hazard at each unique time of death.
survival_leaves <- function(forest, leaf) {
  hazards <- unlist(forest$chf, recursive = FALSE)
  do.call(rbind, if (length(hazards) == length(leaf)) hazards[leaf] else hazards)
}
