# Rows to fit and to predict, and what each script writes: for each model NAME.onnx, and what R
# predicts for the rows as NAME.csv. Usage: Rscript SCRIPT.R PACKAGE_FOLDER OUTPUT_FOLDER

arguments <- commandArgs(trailingOnly = TRUE)
output_folder <- arguments[2]
for (file in list.files(file.path(arguments[1], "R"), full.names = TRUE)) source(file)

set.seed(1)
count <- 300
towns <- c(north = 1, south = -1, east = 3, west = 0, "sea, far" = 5)
rows <- data.frame(
  size = rlnorm(count, 3), age = runif(count, 0, 80), rooms = sample(1:6, count, TRUE),
  slope = rnorm(count) / 1000, town = factor(sample(names(towns), count, TRUE), levels = names(towns)),
  grade = factor(sample(c("low", "mid", "high"), count, TRUE), c("low", "mid", "high"), ordered = TRUE)
)
value <- with(rows, size * (1 + (age > 40)) + towns[town] * rooms + 3 * as.integer(grade)) + rnorm(count)
price <- 1e5 + 1000 * value
is_sold <- as.integer(value > 50)
kind <- factor(ifelse(value > 60, "dear", ifelse(towns[rows$town] > 0, "fair", "cheap")))

with_holes <- rows
with_holes$size[1:40] <- NA
with_holes$town[30:60] <- NA

with_new_town <- rows[1:20, ]
levels(with_new_town$town) <- c(names(towns), "moon")
with_new_town$town[1:10] <- "moon"

keep <- function(name, model, predicted, ...) {
  write_onnx(model, file.path(output_folder, paste0(name, ".onnx")), ...)
  save_table(format(as.matrix(predicted), digits = 17), name)
}

save_table <- function(table, name) {
  write.csv(table, file.path(output_folder, paste0(name, ".csv")), row.names = FALSE, na = "")
}

save_table(rows, "rows")
save_table(with_holes, "holes")

# What an expression stops with.
message_of <- function(expression) tryCatch({expression; "no error"}, error = conditionMessage)

save_messages <- function(...) writeLines(c(...), file.path(output_folder, "messages.txt"))
