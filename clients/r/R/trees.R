# Trees of any kind as one TreeEnsembleRegressor.
#
# A table of nodes is a list of vectors over all nodes of all trees:
#   tree, node       numbers from 0; together the identity of a node
#   column           position of the column that it compares, from 1; 0 at a leaf
#   mode             LEQ or LT: true where value <= or < threshold; SET: where its code is in `set`
#   threshold, set   set is a list with the codes of a node of mode SET
#   true, false      nodes of the same tree
#   missing_is_true  where a missing value goes
# `values` is a matrix with a row per leaf, in the order of the nodes, and a column per output.

# onnxruntime merges tests of equality with whole numbers up to 64 where their true branches agree
# in the first output only. So levels that are compared for equality are half numbers.
EQUALITY_SHIFT <- 0.5

shift_codes <- function(columns, positions) {
  for (i in positions) {
    columns[[i]]$codes <- columns[[i]]$codes + EQUALITY_SHIFT
    columns[[i]]$other <- columns[[i]]$other + EQUALITY_SHIFT
  }
  columns
}

# A node of mode SET becomes a chain of tests of equality that share the true branch.
expand_sets <- function(nodes) {
  is_set <- nodes$mode == "SET"
  codes <- nodes$set[is_set]
  nodes$set <- NULL
  if (!any(is_set)) return(nodes)
  if (any(lengths(codes) == 0)) stop("a split has an empty set of levels", call. = FALSE)
  head <- rep(which(is_set), lengths(codes))
  place <- sequence(lengths(codes))
  is_new <- place > 1
  next_number <- tapply(nodes$node, nodes$tree, max)[as.character(nodes$tree[head])]
  id <- nodes$node[head]
  id[is_new] <- next_number[is_new] + stats::ave(id[is_new], nodes$tree[head][is_new], FUN = seq_along)
  is_last <- place == lengths(codes)[match(head, which(is_set))]
  following <- c(id[-1], 0)
  chain <- lapply(nodes, function(values) values[head])
  chain$node <- id
  chain$mode <- rep("EQ", length(id))
  chain$threshold <- unlist(codes) + EQUALITY_SHIFT
  chain$false <- ifelse(is_last, chain$false, following)
  chain$missing_is_true <- rep(FALSE, length(id))
  Map(c, lapply(nodes, function(values) values[!is_set]), chain)
}

# Node of the graph: sums over leaves, with `base` added, from the matrix of columns.
tree_ensemble <- function(nodes, values, base, input, output) {
  leaf <- nodes$column == 0
  leaf_tree <- nodes$tree[leaf]
  leaf_node <- nodes$node[leaf]
  nodes <- in_order(expand_sets(nodes))
  leaf_now <- nodes$column == 0
  count <- ncol(values)
  one_each <- function(numbers) rep(numbers, each = count)
  node(
    "TreeEnsembleRegressor", input, output, domain = ML,
    attribute("n_targets", count, "int"),
    attribute("nodes_treeids", nodes$tree, "ints"),
    attribute("nodes_nodeids", nodes$node, "ints"),
    attribute("nodes_featureids", pmax(nodes$column - 1, 0), "ints"),
    attribute("nodes_modes", ifelse(leaf_now, "LEAF", paste0("BRANCH_", nodes$mode)), "texts"),
    attribute("nodes_values_as_tensor", double_tensor(ifelse(leaf_now, 0, nodes$threshold)), "tensor"),
    attribute("nodes_truenodeids", ifelse(leaf_now, 0, nodes$true), "ints"),
    attribute("nodes_falsenodeids", ifelse(leaf_now, 0, nodes$false), "ints"),
    attribute("nodes_missing_value_tracks_true", !leaf_now & nodes$missing_is_true, "ints"),
    attribute("target_treeids", one_each(leaf_tree), "ints"),
    attribute("target_nodeids", one_each(leaf_node), "ints"),
    attribute("target_ids", rep(seq_len(count) - 1, sum(leaf)), "ints"),
    attribute("target_weights_as_tensor", double_tensor(t(values)), "tensor"),
    attribute("base_values_as_tensor", double_tensor(base), "tensor")
  )
}

# Nodes by tree, and by number within a tree: a root comes first, as runtimes want it.
in_order <- function(nodes) {
  order <- order(nodes$tree, nodes$node)
  lapply(nodes, function(values) values[order])
}
