source("common.R")

fit <- lm(price ~ ., data = cbind(rows, price = price))
keep("lm", fit, predict(fit, rows))
fit <- lm(price ~ size + town, data = rows, contrasts = list(town = "contr.sum"))
keep("lm_sums", fit, predict(fit, rows))
fit <- glm(is_sold ~ age + town, data = rows, family = binomial)
keep("logit", fit, predict(fit, rows, type = "response"))
keep("logit_link", fit, predict(fit, rows), type = "link")
fit <- glm(rooms ~ size + grade, data = rows, family = poisson)
keep("log", fit, predict(fit, rows, type = "response"))
odd <- setNames(rows[c(1, 5)], c("the size", "the town"))
fit <- lm(price ~ ., data = odd)
keep("lm_names", fit, predict(fit, odd))
save_table(odd, "rows_lm_names")

save_messages(
  message_of(to_onnx(lm(price ~ log(size), data = rows))),
  message_of(to_onnx(lm(price ~ size * age, data = rows))),
  message_of(to_onnx(glm(is_sold ~ age, data = rows, family = binomial(probit)))),
  message_of(to_onnx(loess(price ~ size, data = rows)))
)
