# Writes expected.json: statistics by hstats 1.2.2 of predictions and losses that are functions of a model's outputs.
# Rscript hstats.R FOLDER_OF_HSTATS_SOURCES, in this folder.
sources <- commandArgs(trailingOnly = TRUE)[1]
for (file in list.files(file.path(sources, "R"), full.names = TRUE)) source(file)

rows <- read.csv("data.csv")
X <- rows[c("x1", "x2", "x3")]

# The trees of tests/golden/test_expressions.py.
low <- function(X) ifelse(X$x1 <= 0.505, 0, 1) +
  ifelse(X$x2 <= 0.305, 0.5, ifelse(X$x1 <= 0.205, 0.25, -0.75))
high <- function(X) ifelse(X$x3 <= 0.605, 0.25, ifelse(X$x2 <= 0.505, 0, 1)) +
  ifelse(X$x1 <= 0.405, -0.25, 0.5)

predictions <- list(
  "exp(low)" = function(m, X) exp(low(X)),
  "2 * exp(high) - expm1(low / 2)" = function(m, X) 2 * exp(high(X)) - expm1(low(X) / 2),
  "high - low" = function(m, X) high(X) - low(X),
  "log(high + 2)" = function(m, X) log(high(X) + 2),
  "clip(low, 0, 1)" = function(m, X) pmin(pmax(low(X), 0), 1)
)
losses <- list(
  "abs(y - p) / y" = function(actual, predicted) abs(actual - predicted) / actual,
  "max(0.9 * (y - p), -0.1 * (y - p))" = function(actual, predicted)
    pmax(0.9 * (actual - predicted), -0.1 * (actual - predicted))
)

number <- function(x) sprintf("%.17g", x)
member <- function(name, values) sprintf('"%s": [%s]', name, paste(number(values), collapse = ", "))
parts <- c()
for (text in names(predictions)) {
  for (w in c("", "w")) {
    weights <- if (w == "") NULL else rows$w
    s <- hstats(NULL, X = X, pred_fun = predictions[[text]], w = weights, threeway_m = 0L, verbose = FALSE)
    pairs <- s$h2_pairwise
    overall <- s$h2_overall
    grid <- partial_dep(NULL, v = "x1", X = X, pred_fun = predictions[[text]], grid = c(0.1, 0.3, 0.45, 0.9), w = weights)
    mean_losses <- sapply(losses, function(l)
      average_loss(NULL, X = X, y = rows$y, pred_fun = predictions[[text]], loss = l, w = weights)$M)
    parts <- c(parts, sprintf('{"prediction": "%s", "weight_column": "%s", %s}', text, w, paste(c(
      member("h2", h2(s)$M), member("overall_numerators", overall$num),
      member("pairwise_numerators", pairs$num), member("pairwise_denominators", pairs$denom),
      member("x1", grid$data$y), member("losses", mean_losses)
    ), collapse = ", ")))
  }
}
writeLines(sprintf('{\n"losses": ["%s"],\n"cases": [\n%s\n]}',
  paste(names(losses), collapse = '", "'), paste(parts, collapse = ",\n")), "expected.json")
