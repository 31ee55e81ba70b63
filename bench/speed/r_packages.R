# Interactions by packages of R, of a model that the script fits, with times. Usage:
# Rscript r_packages.R PACKAGE_FOLDER TRAINING_ROWS.csv ROWS.csv TARGET OUTPUT_FOLDER
#
# Writes model.onnx; statistics.csv with package, what it was asked, features and value; and times.csv with package, version, what it was asked, and processor seconds. A package
# that is not installed has no seconds.

arguments <- commandArgs(trailingOnly = TRUE)
for (file in list.files(file.path(arguments[1], "R"), full.names = TRUE)) source(file)
training <- read.csv(arguments[2])
rows <- read.csv(arguments[3])
target <- arguments[4]
folder <- arguments[5]
suppressMessages(library(gbm))

trees <- 200
set.seed(1)
formula <- reformulate(setdiff(names(training), target), target)
fit <- gbm(
  formula, data = training, distribution = "gaussian", n.trees = trees, interaction.depth = 4,
  shrinkage = 0.05
)
write_onnx(fit, file.path(folder, "model.onnx"))
features <- fit$var.names
x <- rows[features]
predicted <- function(model, newdata, ...) predict(model, newdata, n.trees = trees)

found <- list()
times <- list()
asked <- NULL
add <- function(names, values) {
  found[[length(found) + 1]] <<- data.frame(asked, features = names, value = as.numeric(values))
}
time <- function(package, question, compute) {
  asked <<- data.frame(package = package, asked = question)
  installed <- requireNamespace(package, quietly = TRUE)
  seconds <- if (installed) sum(system.time(compute())[c("user.self", "sys.self")]) else NA
  version <- if (installed) format(packageVersion(package)) else ""
  times[[length(times) + 1]] <<- data.frame(asked, seconds = seconds, version = version)
}
joined <- function(names) paste(names, collapse = ":")
of_pair <- combn(features, 2, joined)

time("gbm", "all pairs", function() {
  add(of_pair, combn(features, 2, function(pair) interact.gbm(fit, x, pair, trees)^2))
})
time("hstats", "H2, all features, all pairs", function() {
  made <- hstats::hstats(
    fit, x, pred_fun = predicted, pairwise_m = length(features), n_max = Inf, verbose = FALSE
  )
  add("", hstats::h2(made)$M)
  overall <- hstats::h2_overall(made, zero = TRUE, sort = FALSE)$M
  add(rownames(overall), overall)
  pairs <- hstats::h2_pairwise(made, zero = TRUE, sort = FALSE)$M
  add(rownames(pairs), pairs)
})
predictor <- function() iml::Predictor$new(fit, data = x, predict.function = predicted)
time("iml", "all features", function() {
  made <- iml::Interaction$new(predictor(), grid.size = nrow(x))$results
  add(made$.feature, made$.interaction^2)
})
time("iml", "pairs of one feature", function() {
  made <- iml::Interaction$new(predictor(), feature = features[1], grid.size = nrow(x))$results
  add(made$.feature, made$.interaction^2)
})
# vivid's matrix is that of flashlight; its diagonal holds importances.
time("vivid", "all pairs", function() {
  suppressPackageStartupMessages(made <- vivid::vivi(
    rows[c(features, target)], fit, target, gridSize = nrow(x), nmax = nrow(x), numPerm = 1,
    normalized = TRUE, predictFun = function(fit, data, ...) predicted(fit, data)
  ))
  add(of_pair, combn(features, 2, function(pair) made[pair[1], pair[2]]^2))
})

write.csv(do.call(rbind, found), file.path(folder, "statistics.csv"), row.names = FALSE)
write.csv(do.call(rbind, times), file.path(folder, "times.csv"), row.names = FALSE, na = "")
