# Protobuf messages as raw vectors: ONNX files without another package.

# Encode whole numbers as varints, one after the other; numbers: (n,), not negative.
varints <- function(numbers) {
  if (!length(numbers)) return(raw())
  rest <- as.numeric(numbers)
  bytes <- list()
  repeat {
    more <- rest >= 128
    bytes[[length(bytes) + 1L]] <- ifelse(rest < 0, NA, rest %% 128 + 128 * more)
    rest <- ifelse(more, rest %/% 128, -1)
    if (!any(more)) break
  }
  written <- t(do.call(cbind, bytes))  # a column per number, its bytes downwards
  as.raw(written[!is.na(written)])
}

# A field whose value has a length: a message, text or packed numbers.
field <- function(number, content) {
  if (is.character(content)) content <- charToRaw(enc2utf8(content))
  c(varints(c(8 * number + 2, length(content))), content)
}

number_field <- function(number, value) varints(c(8 * number, value))

# One field per text; most texts of a forest are the same few.
text_fields <- function(number, texts) {
  distinct <- unique(texts)
  written <- lapply(distinct, function(text) field(number, text))
  unlist(written[match(texts, distinct)], use.names = FALSE)
}

doubles <- function(numbers) writeBin(as.double(numbers), raw(), size = 8, endian = "little")

# TensorProto of doubles; dims: (n_dims,).
double_tensor <- function(numbers, dims = length(numbers), name = NULL) {
  c(
    field(1, varints(dims)),
    number_field(2, ELEMENT_TYPES[["double"]]),
    if (!is.null(name)) field(8, name),
    field(9, doubles(numbers))
  )
}

# AttributeProto, of the type that the value has: text, list of texts, whole numbers or floats.
attribute <- function(name, value, type) {
  content <- switch(type,
    int = c(number_field(3, value), number_field(20, 2)),
    text = c(field(4, value), number_field(20, 3)),
    float = c(varints(8 * 2 + 5), floats(value), number_field(20, 1)),
    tensor = c(field(5, value), number_field(20, 4)),
    floats = c(field(7, floats(value)), number_field(20, 6)),
    ints = c(field(8, varints(value)), number_field(20, 7)),
    texts = c(text_fields(9, value), number_field(20, 8))
  )
  field(5, c(field(1, name), content))
}

floats <- function(numbers) writeBin(as.double(numbers), raw(), size = 4, endian = "little")

ELEMENT_TYPES <- c(float = 1, int64 = 7, string = 8, double = 11)
