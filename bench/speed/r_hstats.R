# Interactions by R's hstats: H2, H2_j, H2_jk of the five features that interact most, H2_jkl of the three. Usage:
# Rscript r_hstats.R fit PACKAGE_FOLDER TRAINING_ROWS.csv TARGET OUTPUT_FOLDER
# Rscript r_hstats.R ask MODEL ROWS.csv STATISTICS.csv
#
# `fit` grows a forest of ranger, and writes forest.rds and forest.onnx. `ask` takes an .rds file with a forest, or an
# .onnx file, which onnxruntime predicts through reticulate. It writes features and values, and prints the wall
# seconds that hstats took and versions.

arguments <- commandArgs(trailingOnly = TRUE)

fit <- function(package, training, target, folder) {
  for (file in list.files(file.path(package, "R"), full.names = TRUE)) source(file)
  set.seed(1)
  forest <- ranger::ranger(
    reformulate(".", target), data = read.csv(training), num.trees = 100, max.depth = 10
  )
  saveRDS(forest, file.path(folder, "forest.rds"))
  write_onnx(forest, file.path(folder, "forest.onnx"))
}

predicting <- function(path) {
  if (!endsWith(path, ".onnx")) {
    forest <- readRDS(path)
    loadNamespace("ranger")
    return(function(model, rows) stats::predict(forest, rows)$predictions)
  }
  runtime <- reticulate::import("onnxruntime")
  numpy <- reticulate::import("numpy", convert = FALSE)
  session <- runtime$InferenceSession(path, providers = list("CPUExecutionProvider"))
  name <- session$get_inputs()[[1]]$name
  function(model, rows) {
    given <- numpy$array(as.matrix(rows), dtype = "float32", order = "C")
    session$run(NULL, setNames(list(given), name))[[1]][, 1]
  }
}

ask <- function(path, rows, statistics) {
  x <- read.csv(rows)
  predicted <- predicting(path)
  taken <- system.time(
    made <- hstats::hstats(
      NULL, X = x, pred_fun = predicted, pairwise_m = 5, threeway_m = 3, n_max = Inf, verbose = FALSE
    )
  )
  found <- lapply(c("h2_overall", "h2_pairwise", "h2_threeway"), function(name) {
    values <- getExportedValue("hstats", name)(made, zero = TRUE, sort = FALSE)$M
    data.frame(features = rownames(values), value = as.numeric(values))
  })
  total <- data.frame(features = "", value = as.numeric(hstats::h2(made)$M))
  write.csv(do.call(rbind, c(list(total), found)), statistics, row.names = FALSE)
  cat(
    taken[["elapsed"]], as.character(getRversion()), as.character(packageVersion("hstats")),
    as.character(packageVersion("ranger")), "\n"
  )
}

do.call(arguments[1], as.list(arguments[-1]))
