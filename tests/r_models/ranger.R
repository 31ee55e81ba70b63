suppressMessages({library(ranger); library(survival)})
source("common.R")

predicted <- function(fit, ...) predict(fit, rows, ...)$predictions
of_price <- cbind(rows, price = price)
of_kind <- cbind(rows, kind = kind)

for (mode in c("ignore", "order", "partition")) {
  fit <- ranger(price ~ ., data = of_price, num.trees = 60, respect.unordered.factors = mode)
  keep(mode, fit, predicted(fit), data = rows)
  if (mode == "order") keep("order_without_data", fit, predicted(fit))
  new_town <- paste0(mode, "_new_town")
  keep(new_town, fit, predict(fit, with_new_town)$predictions, data = rows)
  save_table(with_new_town, paste0("rows_", new_town))
}
fit <- ranger(price ~ size + age + rooms, data = of_price, num.trees = 30, splitrule = "extratrees")
keep("numbers", fit, predicted(fit))
names_of_any_kind <- setNames(rows, c("size", "\"age\"", "the rooms", "é\t", "prediction", "matrix"))
fit <- ranger(x = names_of_any_kind, y = price, num.trees = 20)
keep("names", fit, predict(fit, names_of_any_kind)$predictions, data = names_of_any_kind)
save_table(names_of_any_kind, "rows_names")
fit <- ranger(price ~ ., data = of_price, num.trees = 1, max.depth = 1)
keep("stump", fit, predicted(fit), data = rows)
fit <- ranger(kind ~ ., data = of_kind, num.trees = 60, probability = TRUE, respect.unordered.factors = "partition")
keep("probability", fit, predicted(fit), data = rows)
fit <- ranger(kind ~ ., data = of_kind, num.trees = 61)
votes <- predicted(fit, predict.all = TRUE)
keep("votes", fit, sapply(seq_along(levels(kind)), function(k) rowMeans(votes == k)), data = rows)
fit <- ranger(Surv(age, is_sold) ~ size + rooms + town, data = rows, num.trees = 20, min.node.size = 30)
keep("survival", fit, predict(fit, rows)$chf, data = rows)

partition <- ranger(price ~ ., data = of_price, num.trees = 1, respect.unordered.factors = "partition")
bare <- ranger(price ~ ., data = of_price, num.trees = 1, write.forest = FALSE)
save_messages(
  message_of(to_onnx(partition)),
  message_of(to_onnx(bare, data = rows)),
  message_of(to_onnx(partition, data = rows[-1])),
  message_of(to_onnx(partition, data = rows, n.trees = 3))
)
