##@ Parts of `make check`

.PHONY: lint
lint: $(ENV) ## Style and format of the Python code
	$(BIN)/ruff check
	$(BIN)/ruff format --check

ACTIONLINT := tools/actionlint/bin/actionlint

.PHONY: lint-workflows
lint-workflows: $(ACTIONLINT) ## Workflows are what the forge takes; the same with and without other linters on this machine
	$(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml

$(ACTIONLINT): tools/actionlint/go.mod tools/actionlint/go.sum
	@tools/go/found.sh $(GO)
	@tools/cached_build.sh $(@D) $^ -- env -C tools/actionlint GOBIN=$(abspath $(@D)) CGO_ENABLED=0 \
		$(GO) install -trimpath -ldflags='-s -w' tool
	@touch $@

# Three that may run side by side: each takes a minute or more, and has a cache of its own.
.PHONY: types types-own types-systems types-tests
types: types-own types-systems types-tests ## Types of the Python code

types-own: $(ENV)
	$(BIN)/mypy $(filter-out $(TESTS),$(CHECKED))

types-systems: $(ENV)
	@# Other systems: what only Linux can run raises an ImportError at its head, and counts as clean.
	for system in darwin win32; do $(BIN)/mypy --platform $$system --cache-dir .mypy_cache/$$system \
		service clients/python/onnxplain || exit 1; done

types-tests: $(ENV)
	@# Tests need no types of fixtures and answers. Each folder by itself: modules of tests are known by names alone.
	for tests in $(TESTS); do $(BIN)/mypy --cache-dir .mypy_cache/$$tests --allow-untyped-defs \
		--allow-incomplete-defs --allow-untyped-calls $$tests || exit 1; done

.PHONY: layers
layers: $(ENV) ## Imports point down only; methods are declared, not compared
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m tools.declarations

.PHONY: contract
contract: $(BUF_ENV) ## Style of the contract, and that it breaks no released client
	$(BUF) lint proto
	$(BUF) format --diff --exit-code proto
	$(BUF) breaking proto --against $(RELEASED)

.PHONY: messages
messages: $(CLIENT_CONTRACT) ## The committed Python messages, limits and options are what the contract gives
	@rm -rf build/messages && mkdir -p build/messages
	$(call PROTOC,build/messages)
	@diff -r -x __init__.py -x py.typed -x __pycache__ build/messages/onnxplain/v1 $(MESSAGES) \
		|| { echo 'The Python messages are not what proto/ gives: run `make proto`.' >&2; exit 1; }
	@$(INFERENCE_PROTOC)
	@for file in inference_pb2.py inference_pb2.pyi; do \
		diff build/open_inference/v2/$$file $(INFERENCE_MESSAGES)/$$file || exit 1; done \
		|| { echo 'The messages of remote models are not what proto/ gives: run `make proto`.' >&2; exit 1; }
	@.venv-proto/bin/python -m tools.contract.server_table $(CONTRACT) build/limits.py
	@.venv-proto/bin/python -m tools.contract.method_options $(CONTRACT) build/method_options.json
	@{ diff build/limits.py $(SERVER_LIMITS) && diff build/method_options.json $(METHOD_OPTIONS); } \
		|| { echo "The server's limits and options are not what proto/ gives: run \`make proto\`." >&2; exit 1; }

.PHONY: requests
requests: $(REQUESTS) ## The option classes and request arguments of the Python client are what the contract gives
	@{ diff -r -x __init__.py -x __pycache__ build/requests/options clients/python/onnxplain/requests/options \
		&& diff build/requests/arguments.py clients/python/onnxplain/requests/arguments.py \
		&& diff build/requests/enum_names.py clients/python/onnxplain/enumerations/names.py \
		&& diff build/requests/by_method.py clients/python/onnxplain/results/by_method.py; } \
		|| { echo 'The requests of the Python client are not what proto/ gives: run `make python-requests`.' >&2; exit 1; }

.PHONY: java-messages
java-messages: $(CONTRACT) $(ENV) ## The committed methods of the Java client are what the contract gives
	@$(BIN)/python -m tools.java_client $(CONTRACT) build/java-methods
	@for file in MethodsBuilder ResultsByMethod; do \
		diff build/java-methods/$$file.java $(JAVA_SOURCES)/$$file.java || exit 1; done \
		|| { echo 'The methods of the Java client are not what proto/ gives: run `make java-methods`.' >&2; exit 1; }

.PHONY: description
description: build/openapi.json ## The committed OpenAPI description is what the contract gives
	@diff build/openapi.json $(DESCRIPTION) > /dev/null \
		|| { echo 'The OpenAPI description is not what proto/ gives: run `make openapi`.' >&2; exit 1; }

.PHONY: links
links: $(ENV) ## Relative links in the documents lead somewhere
	$(BIN)/python tools/links.py $$(find * -name '*.md' -not -path '*/node_modules/*' -not -path 'build/*')

.PHONY: figures
figures: $(ENV) ## List measured figures with their date, and those that are older than the code that they measure
	@$(BIN)/python -m tools.figures

.PHONY: seeds-check
seeds-check: $(ENV) ## The committed page of the seeds is what its rows and kept results give
	$(BIN)/python -m bench.seeds.page --check

.PHONY: docs
docs: $(ENV) $(BUF_ENV) ## The documents as a site in docs/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

.PHONY: flaky
flaky: $(ENV) ## The list of flaky tests is short, and no entry is old; the parts of CI name files that exist
	$(BIN)/python -m tools.testing.flaky check
	@$(BIN)/python -m tools.testing.parts list > /dev/null

.PHONY: locks
locks: ## The locks name no address
	@! grep -n '://' $(LOCKS)
