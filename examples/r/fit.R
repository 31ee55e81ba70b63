# Models of hstats' README, fitted with its settings and seeds, as ONNX files with their rows.
# Usage, from the checkout: R CMD INSTALL clients/r && Rscript examples/r/fit.R

library(onnxplain)
suppressMessages({library(ranger); library(caret)})

folder <- "examples/r"
save_table <- function(table, name) {
  write.csv(table, file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
}
save_table(iris, "iris")

set.seed(1)
forest <- ranger(Sepal.Length ~ ., data = iris)
write_onnx(forest, file.path(folder, "forest.onnx"), data = iris)

shown <- c(1:40, 51:90, 101:140)
save_table(iris[-shown, ], "iris_valid")
set.seed(1)
species <- ranger(Species ~ ., data = iris[shown, ], probability = TRUE)
write_onnx(species, file.path(folder, "species.onnx"))

set.seed(1)
linear <- train(
  Sepal.Length ~ ., data = iris, method = "lm", tuneGrid = data.frame(intercept = TRUE),
  trControl = trainControl(method = "none")
)
write_onnx(linear, file.path(folder, "linear.onnx"))

set.seed(1)
boosted <- gbm::gbm(
  Sepal.Length ~ ., data = iris, distribution = "gaussian", n.trees = 200, interaction.depth = 3,
  shrinkage = 0.05
)
write_onnx(boosted, file.path(folder, "boosted.onnx"))

# What R predicts for the first flower of each species, to compare with.
few <- iris[c(1, 51, 101), ]
print(data.frame(
  forest = predict(forest, few)$predictions, species = predict(species, few)$predictions,
  linear = predict(linear, few), boosted = predict(boosted, few, n.trees = 200)
), digits = 10)
