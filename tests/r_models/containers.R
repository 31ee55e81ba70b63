# caret itself; the others, which Debian does not have, as objects of the same shape.
suppressMessages({library(caret); library(ranger); library(gbm)})
source("common.R")

once <- trainControl(method = "none")
of_price <- cbind(rows[-6], price = price)
grid <- data.frame(mtry = 2, splitrule = "variance", min.node.size = 5)
fit <- train(price ~ ., data = of_price, method = "ranger", num.trees = 20, tuneGrid = grid, trControl = once)
keep("caret_formula", fit, predict(fit, rows))
fit <- train(rows, price, method = "ranger", num.trees = 20, tuneGrid = grid, trControl = once)
keep("caret_columns", fit, predict(fit, rows))
fit <- train(price ~ ., data = of_price, method = "lm", trControl = once)
keep("caret_lm", fit, predict(fit, rows))
steps <- data.frame(n.trees = 30, interaction.depth = 3, shrinkage = 0.1, n.minobsinnode = 10)
fit <- train(price ~ ., data = of_price, method = "gbm", verbose = FALSE, tuneGrid = steps, trControl = once)
keep("caret_gbm", fit, predict(fit, rows))
scaled <- train(price ~ size, data = of_price, method = "lm", preProcess = "scale", trControl = once)

inner <- ranger(price ~ ., data = of_price, num.trees = 20, respect.unordered.factors = "partition")
expected <- predict(inner, rows)$predictions
parsnip <- structure(list(fit = inner), class = c("_ranger", "model_fit"))
workflow <- function(class, fit, ...) {
  blueprint <- structure(list(ptypes = list(predictors = rows[0, -6]), ...), class = class)
  structure(list(pre = list(mold = list(blueprint = blueprint)), fit = list(fit = fit)), class = "workflow")
}
of_recipe <- function(steps) workflow("recipe_blueprint", parsnip, recipe = list(steps = steps))
indicated <- as.data.frame(model.matrix(~ ., rows[-6])[, -1])
line <- structure(list(fit = lm(price ~ ., data = indicated)), class = c("_lm", "model_fit"))
of_formula <- workflow("formula_blueprint", line, indicators = "traditional")
keep("workflow_formula", of_formula, predict(line$fit, indicated))
keep("explainer", structure(list(model = inner, data = rows), class = "explainer"), expected)
keep("parsnip", parsnip, expected, data = rows)
keep("workflow", of_recipe(NULL), expected)
learner <- structure(list2env(list(model = inner)), class = c("LearnerRegrRanger", "LearnerRegr", "Learner", "R6"))
keep("learner", learner, expected, data = rows)

save_messages(
  message_of(to_onnx(scaled)),
  message_of(to_onnx(of_recipe(list(structure(list(), class = "step_normalize"))))),
  message_of(to_onnx(structure(list(), class = "xgb.Booster"))),
  message_of(to_onnx(structure(list(), class = c("Learner", "R6"))))
)
