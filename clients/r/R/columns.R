# Columns that a model compares, and the inputs of the ONNX model that they come from.
#
# A column is a list:
#   source  name of the input, as in the data frame
#   levels  its texts; NULL for a column of numbers
#   codes   the number that stands for each level; with NULL levels, without meaning
#   other   the number that stands for every other text

number_column <- function(name) list(source = name, levels = NULL)

# Factor as R's own codes: 1 for its first level. `other` is what R's predict() makes of a new one.
factor_column <- function(name, levels, other = length(levels) + 1) {
  list(source = name, levels = levels, codes = seq_along(levels), other = other)
}

# Indicator of one level, as model.matrix() makes it.
indicator_column <- function(name, level) {
  list(source = name, levels = level, codes = 1, other = 0)
}

# Graph of the columns as one matrix of doubles: inputs, nodes, and the name of the matrix.
column_graph <- function(columns) {
  sources <- vapply(columns, function(column) column$source, "")
  is_text <- !vapply(columns, function(column) is.null(column$levels), TRUE)
  if (any(!nzchar(sources) | is.na(sources))) stop("a column of the model has no name", call. = FALSE)
  both <- intersect(sources[is_text], sources[!is_text])
  if (length(both)) stop("column ", both[1], " is both numbers and text", call. = FALSE)
  inputs <- lapply(which(!duplicated(sources)), function(i) {
    list(name = sources[i], type = if (is_text[i]) "string" else "double")
  })
  inner <- function(label) free_names(paste0(label, "_", seq_along(columns)), sources)
  codes <- inner("code")
  parts <- ifelse(is_text, inner("column"), sources)
  nodes <- lapply(which(is_text), function(i) {
    column <- columns[[i]]
    c(
      label_encoder(column, codes[i]),
      node("Cast", codes[i], parts[i], attribute("to", ELEMENT_TYPES[["double"]], "int"))
    )
  })
  matrix <- free_names("matrix", sources)
  joined <- node("Concat", parts, matrix, attribute("axis", 1, "int"))
  list(inputs = inputs, nodes = c(unlist(nodes), joined), matrix = matrix, names = unique(sources))
}

label_encoder <- function(column, output) {
  node(
    "LabelEncoder", column$source, output, domain = ML,
    attribute("keys_strings", column$levels, "texts"),
    attribute("values_floats", column$codes, "floats"),
    attribute("default_float", column$other, "float")
  )
}

# Names that no input has.
free_names <- function(names, taken) {
  taken <- unique(taken)
  make.unique(c(taken, names), sep = "_")[-seq_along(taken)]
}

# Columns by the types that a data frame has.
columns_of <- function(names, data, other = function(levels) length(levels) + 1) {
  lapply(names, function(name) {
    values <- if (is.data.frame(data)) data[[name]] else NULL
    if (is.character(values)) values <- factor(values)
    if (!is.factor(values)) return(number_column(name))
    factor_column(name, levels(values), other(levels(values)))
  })
}

# Columns of indicators, by name, as columns of the factors that they come from.
with_indicators <- function(columns, indicators) {
  lapply(columns, function(column) {
    if (is.null(column$levels) && !is.null(indicators[[column$source]])) {
      indicators[[column$source]]
    } else {
      column
    }
  })
}

check_data <- function(names, data) {
  if (is.null(data)) return(invisible())
  missing <- setdiff(names, colnames(data))
  if (length(missing)) {
    stop("`data` has no column ", missing[1], ", which the model uses", call. = FALSE)
  }
}
