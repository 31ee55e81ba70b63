# The forest of mlr3 in hstats' README, with its seed, as an ONNX file. mlr3 and mlr3learners are on
# CRAN, not in Debian. Usage: Rscript examples/r/fit_mlr3.R, after examples/r/fit.R

library(onnxplain)
suppressMessages({library(mlr3); library(mlr3learners)})

set.seed(1)
task_iris <- TaskClassif$new(id = "class", backend = iris, target = "Species")
learner <- lrn("classif.ranger", predict_type = "prob")
learner$train(task_iris)
write_onnx(learner, "examples/r/mlr3.onnx")

# With hstats, what the page and the tests compare with.
if (requireNamespace("hstats", quietly = TRUE)) {
  statistics <- hstats::hstats(learner, X = iris[, -5], predict_type = "prob", verbose = FALSE)
  print(hstats::h2(statistics)$M, digits = 12)
}
