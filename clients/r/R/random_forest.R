# Forests of randomForest: means of leaves, or votes for classes.

to_onnx.randomForest <- function(model, data = NULL, indicators = list(), ...) {
  refuse_arguments(...)
  forest <- model$forest
  if (is.null(forest)) stop("randomForest kept no forest: fit with keep.forest = TRUE", call. = FALSE)
  if (model$type == "unsupervised") stop("an unsupervised forest predicts nothing", call. = FALSE)
  columns <- with_indicators(forest_columns(model, data), indicators)
  is_regression <- model$type == "regression"
  nodes <- forest_nodes(forest, is_regression)
  values <- nodes$threshold[nodes$column == 0] / forest$ntree
  base <- 0
  classes <- NULL
  if (is_regression && !is.null(model$coefs)) {
    values <- values * model$coefs[2]
    base <- model$coefs[1]
  }
  if (!is_regression) {
    refuse_cutoff(forest$cutoff)
    classes <- model$classes
    chosen <- round(values * forest$ntree)
    values <- diag(length(classes))[chosen, , drop = FALSE] / forest$ntree
    base <- rep(0, length(classes))
  }
  tree_model(columns, nodes, as.matrix(values), base, classes = classes)
}

# The label would not be the class with most votes.
refuse_cutoff <- function(cutoff) {
  if (diff(range(cutoff)) > 1e-12) {
    stop("the forest's cutoff differs by class; fit with the default", call. = FALSE)
  }
}

# Unordered factors keep their levels; ordered ones do not, and `data` tells them.
forest_columns <- function(model, data) {
  importance <- model$importance
  names <- if (is.null(dim(importance))) names(importance) else rownames(importance)
  check_data(names, data)
  columns <- columns_of(names, data)
  levels <- model$forest$xlevels
  for (i in which(vapply(levels, is.character, TRUE))) {
    columns[[i]] <- factor_column(names[i], levels[[i]])
  }
  columns
}

forest_nodes <- function(forest, is_regression) {
  count <- if (is_regression) forest$ndbigtree else colSums(forest$nodestatus != 0)
  trees <- lapply(seq_len(forest$ntree), function(tree) forest_tree(forest, tree, count[tree]))
  nodes <- do.call(Map, c(list(c), trees))
  is_set <- nodes$column > 0 & c(1, forest$ncat)[nodes$column + 1] > 1
  nodes$mode <- ifelse(is_set, "SET", "LEQ")
  nodes$missing_is_true <- rep(FALSE, length(is_set))
  nodes$set <- rep(list(NULL), length(is_set))
  nodes$set[is_set] <- Map(bits, nodes$threshold[is_set], forest$ncat[nodes$column[is_set]])
  nodes
}

# A level whose bit is 1 goes left.
forest_tree <- function(forest, tree, count) {
  kept <- seq_len(count)
  map <- forest$treemap
  left <- if (is.null(map)) forest$leftDaughter[kept, tree] else map[kept, 1, tree]
  right <- if (is.null(map)) forest$rightDaughter[kept, tree] else map[kept, 2, tree]
  is_leaf <- forest$nodestatus[kept, tree] == -1
  list(
    tree = rep(tree - 1, count), node = kept - 1,
    column = ifelse(is_leaf, 0, forest$bestvar[kept, tree]),
    threshold = ifelse(is_leaf, forest$nodepred[kept, tree], forest$xbestsplit[kept, tree]),
    true = left - 1, false = right - 1
  )
}
