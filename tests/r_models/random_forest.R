suppressMessages(library(randomForest))
source("common.R")

fit <- randomForest(rows, price, ntree = 60)
keep("means", fit, predict(fit, rows), data = rows)
fit <- randomForest(rows[-6], price, ntree = 20)
keep("without_data", fit, predict(fit, rows))
fit <- randomForest(rows, price, ntree = 20, corr.bias = TRUE, maxnodes = 10)
keep("bias", fit, predict(fit, rows), data = rows)
fit <- randomForest(rows, kind, ntree = 61)
keep("votes", fit, predict(fit, rows, type = "prob"), data = rows)
two <- randomForest(kind ~ ., data = cbind(rows[-6], kind = factor(is_sold)), ntree = 61)
keep("two_classes", two, predict(two, rows, type = "prob"))

unequal <- randomForest(rows, kind, ntree = 5, cutoff = c(0.5, 0.3, 0.2))
save_messages(
  message_of(to_onnx(unequal)),
  message_of(to_onnx(randomForest(rows, kind, ntree = 5, keep.forest = FALSE)))
)
