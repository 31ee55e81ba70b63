# Friedman and Popescu's statistics by their definition, with predict(): all pairs of rows.
suppressMessages({library(ranger); library(gbm)})
source("common.R")

# Partial dependence at the rows' own values of some columns, centered.
dependence <- function(predict_rows, table, columns) {
  n <- nrow(table)
  stacked <- table[rep(seq_len(n), times = n), ]
  stacked[columns] <- table[rep(seq_len(n), each = n), columns]
  curve <- colMeans(matrix(predict_rows(stacked), n))
  curve - mean(curve)
}

statistics <- function(predict_rows, table) {
  center <- predict_rows(table) - mean(predict_rows(table))
  names <- names(table)
  one <- sapply(names, function(name) dependence(predict_rows, table, name))
  others <- sapply(names, function(name) dependence(predict_rows, table, setdiff(names, name)))
  pair <- dependence(predict_rows, table, c("size", "age"))
  c(
    total = mean((center - rowSums(one))^2) / mean(center^2),
    setNames(colMeans((center - one - others)^2) / mean(center^2), names),
    pair = mean((pair - one[, "size"] - one[, "age"])^2) / mean(pair^2)
  )
}

few <- rows[1:40, ]
save_table(few, "few")
keep_statistics <- function(name, model, predict_rows, ...) {
  keep(name, model, predict_rows(rows), ...)
  found <- statistics(predict_rows, few)
  save_table(data.frame(name = names(found), value = format(found, digits = 17)), paste0("statistics_", name))
}

forest <- ranger(price ~ ., data = cbind(rows, price = price), num.trees = 30, respect.unordered.factors = "partition")
keep_statistics("forest", forest, function(table) predict(forest, table)$predictions, data = rows)
boosted <- gbm(price ~ ., data = cbind(with_holes, price = price), distribution = "gaussian", n.trees = 40, interaction.depth = 3)
keep_statistics("boosted", boosted, function(table) predict(boosted, table, n.trees = 40))

# interact.gbm() averages over training rows by the branches they took: the same as over rows where
# features are independent and each tree saw all rows.
design <- expand.grid(a = 1:5, b = 1:4, c = 1:6)
design$y <- with(design, a * b + sqrt(c) * a + sin(2 * b)) + rnorm(nrow(design)) / 10
independent <- gbm(
  y ~ ., data = design, distribution = "gaussian", n.trees = 50, interaction.depth = 3,
  shrinkage = 0.2, bag.fraction = 1, n.minobsinnode = 3
)
write_onnx(independent, file.path(output_folder, "independent.onnx"))
save_table(design[1:3], "design")
pairs <- combn(3, 2, simplify = FALSE)
save_table(data.frame(
  first = c("a", "a", "b"), second = c("b", "c", "c"),
  value = sapply(pairs, function(pair) interact.gbm(independent, design, pair, 50)^2)
), "interact_gbm")
