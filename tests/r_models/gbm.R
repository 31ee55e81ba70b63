suppressMessages(library(gbm))
source("common.R")

# Of rows with holes, so that missing values have leaves of their own.
fitted <- function(distribution, target, ...) {
  table <- cbind(with_holes[-3], target = target)
  gbm(target ~ ., data = table, distribution = distribution, n.trees = 50, interaction.depth = 4, ...)
}
response <- function(fit, table = rows) predict(fit, table, n.trees = 50, type = "response")

targets <- list(
  gaussian = price, laplace = price, bernoulli = is_sold, adaboost = is_sold, huberized = is_sold,
  poisson = rows$rooms
)
for (name in names(targets)) {
  fit <- fitted(name, targets[[name]])
  keep(name, fit, response(fit))
}
boosted <- fitted("gaussian", price)
keep("holes_in_rows", boosted, response(boosted, with_holes))
keep("new_town", boosted, response(boosted, with_new_town))
save_table(with_new_town, "rows_new_town")
keep("twenty_trees", boosted, predict(boosted, rows, n.trees = 20), n.trees = 20)
doubled <- fitted("adaboost", is_sold)
keep("adaboost_link", doubled, predict(doubled, rows, n.trees = 50), type = "link")
several <- suppressWarnings(fitted("multinomial", kind))
keep("multinomial", several, response(several)[, , 1])

validated <- fitted("gaussian", price, train.fraction = 0.5)
save_messages(
  message_of(to_onnx(validated)),
  message_of(to_onnx(boosted, n.trees = 51))
)
