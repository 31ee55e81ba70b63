# Everything that a developer or CI does here. `make` alone lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Bytecode is kept: pytest rewrites 800 modules of tests, half of what it takes to collect them.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell command -v python3.11 || echo python3)
BIN := .venv/bin
UV := $(BIN)/uv
TESTS := tests clients/tests deploy/tests deploy/cluster/tests
CHECKED := $(wildcard hatch_build.py service clients/python/onnxplain clients/tests deploy/tests deploy/cluster/tests tests bench examples tools)
FUZZ_SECONDS ?= 60
FUZZ_JOBS ?= $(shell nproc)
LOCKS := $(wildcard requirements/*.txt tests/models/*.txt tools/package-lock.json \
	clients/*/package-lock.json clients/tests/generators/package-lock.json)

# Stamps: an environment is made again only when what it is made from changes.
ENV := .venv/.made
PROTO_ENV := .venv-proto/.made
MODELS_ENV := .venv-models/.made
EXPORT_ENV := .venv-export/.made
BENCH_ENV := .venv-bench/.made
PEER_ENV := .venv-peer/.made
STUDY_ENV := .venv-study/.made
FUZZ_ENV := .venv-fuzz/.made
NOTEBOOK_ENV := .venv-notebook/.made
GENERATORS_ENV := .venv-generators/.made
GENERATORS := clients/tests/generators
MLFLOW_ENV := .venv-mlflow/.made
KSERVE_ENV := .venv-kserve/.made
MLSERVER_ENV := .venv-mlserver/.made
TRITON_ENV := .venv-triton/.made
STORES := tools/stores/bin/.made
FOREIGN_ENVS := $(NOTEBOOK_ENV) $(MODELS_ENV) $(EXPORT_ENV) $(MLFLOW_ENV) $(KSERVE_ENV) $(MLSERVER_ENV) $(TRITON_ENV)
BUF_ENV := tools/node_modules/.made
TS_ENV := clients/typescript/node_modules/.made
WEB_ENV := clients/web/node_modules/.made
GENERATORS_NPM := clients/tests/generators/node_modules/.made
CHART_TOOLS := tools/kubernetes/bin/.made
# Minors of Kubernetes that the chart is installed on.
MINORS := $(notdir $(wildcard tools/kubernetes/control_plane/1.*))
CONTROL_PLANES := $(MINORS:%=tools/kubernetes/bin-%/.made)
NEWEST := $(lastword $(sort $(MINORS)))

# Go, 1.26 or later (helm asks for that): the one in .tools/go if it is there, as `tools/go/toolchain.sh` puts it.
GO := $(or $(wildcard $(CURDIR)/.tools/go/bin/go),go)

BUF := tools/node_modules/@bufbuild/buf-linux-$(shell uname -m | sed s/x86_64/x64/)/bin/buf
BIOME := tools/node_modules/@biomejs/cli-linux-$(shell uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')/biome
PROTOS := $(sort $(wildcard proto/onnxplain/v1/*.proto))
MESSAGES := clients/python/onnxplain/v1
RELEASED := proto/released.binpb
CHART := deploy/helm/onnxplain
SERVER_LIMITS := service/onnxplain_server/core/contract_limits.py
METHOD_OPTIONS := service/onnxplain_server/cli/method_options.json
DESCRIPTION := service/onnxplain_server/transport/rest/openapi.json
# The contract with comments and limits; and that of the clients, with limits in comments only.
CONTRACT := build/contract.binpb
CLIENT_CONTRACT := build/contract/.made
# Messages of the protocol that servers of models speak, which is not the contract's.
INFERENCE := proto/open_inference/v2/inference.proto
INFERENCE_MESSAGES := service/onnxplain_server/wire/inference
REQUESTS := build/requests/.made
JAVA_SOURCES := clients/java/src/main/java/io/github/onnxplain
# Of Google's operations, the module without grpc, which messages must not import.
PROTOC = .venv-proto/bin/python -m grpc_tools.protoc -Ibuild/contract \
	--python_out=$(1) --pyi_out=$(1) --grpc_python_out=$(1) build/contract/onnxplain/v1/*.proto \
	&& sed -i 's/^from google.longrunning import operations_pb2/from google.longrunning import operations_proto_pb2/' \
		$(1)/onnxplain/v1/*_pb2*.py*
INFERENCE_PROTOC = .venv-proto/bin/python -m grpc_tools.protoc -Iproto --python_out=build --pyi_out=build $(INFERENCE)
RESOLVE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-emit-package onnxplain --no-header $(LOCK_FLAGS)

##@ Every day

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: check
check: lint lint-typescript lint-web lint-workflows types layers contract messages messages-go requests java-messages description links figures seeds-check docs locks flaky ## Check everything that needs no run

# Programs that the tests run, and the workers that run them: more than 4 only cost memory.
PROGRAMS := redis-server haproxy promtool curl
# Compiled loops of the trees, once for all processes of the tests that would compile them side by side.
COMPILED := build/.compiled
# A test that fails runs again, alone, twice.
PYTEST_ONE_BY_ONE := $(BIN)/python -m tools.testing.again
PYTEST := $(PYTEST_ONE_BY_ONE) --numprocesses auto --maxprocesses 4 --dist worksteal
# Of the default tier, whose tests wait for others a quarter of their time.
PROCESSES = $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
# Tests that ask foreign software: parts of CI, which .ci/parts.toml names.
STORE_TESTS := tests/system/sources tests/adapters/sources
MODEL_SERVER_TESTS := tests/system/remote tests/system/test_explainer_clients.py
EXPORT_TESTS := tests/examples/test_export.py tests/journey
NOTEBOOK_TESTS := tests/client/test_in_browser.py tests/client/test_notebook.py
BROWSER_TESTS := tests/report/test_browser.py tests/transport/rest/test_pages_in_chromium.py
PACKAGE_TESTS := tests/project/test_dist.py
FOREIGN_TESTS := $(PACKAGE_TESTS) $(STORE_TESTS) $(MODEL_SERVER_TESTS) $(EXPORT_TESTS) $(NOTEBOOK_TESTS) $(BROWSER_TESTS) tests/r_models
# Slow tests that use one core or a little more, and hold no limit of time or load.
SIDE_BY_SIDE := $(addprefix tests/,adapters/cluster adapters/runner cli client conformance deploy docs examples explain golden methods openapi \
	other_systems plots trees \
	system/page system/remote_server $(addprefix system/redis/test_,balanced.py callers_share_nothing.py predictions_on_cluster.py uploads.py) \
	$(addprefix system/test_,explainer.py exporters.py isolation_setting.py light.py replicas.py start.py telemetry.py) \
	$(addprefix isolation/test_,census.py confinement.py hostile.py learning.py processes.py start.py))

.PHONY: test
test: $(COMPILED) ## Run the tests that every change needs; ARGS are passed to pytest
	@$(PYTHON) tools/programs.py install $(PROGRAMS)
	@$(BIN)/python -m tools.testing.flaky begin
	$(PYTEST) --numprocesses $(PROCESSES) $(ARGS)

.PHONY: test-changed
test-changed: $(ENV) ## Run the tests that what changed since BASE (main) can reach, the nearest first
	$(BIN)/python -m tools.testing.changed $(BASE)

.PHONY: test-slow
test-slow: $(COMPILED) ## Run the slow tests of the project itself
	@$(PYTHON) tools/programs.py install $(PROGRAMS)
	$(PYTEST) -m slow $(SIDE_BY_SIDE) $(FOREIGN_TESTS:%=--ignore %) $(ARGS)
	@# One after the other: some of them load the whole machine.
	$(PYTEST_ONE_BY_ONE) -m slow $(SIDE_BY_SIDE:%=--ignore %) $(FOREIGN_TESTS:%=--ignore %) $(ARGS)

.PHONY: test-parts
test-parts: $(ENV) ## Run the parts of CI that ask foreign software, where their inputs changed since they last passed
	$(BIN)/python -m tools.testing.parts run $(ARGS)

.PHONY: test-all
test-all: test test-slow ## Run all tests: those of `make test`, slow ones, and all parts of CI
	$(BIN)/python -m tools.testing.parts run --all
	@$(BIN)/python -m tools.testing.flaky tell

.PHONY: test-stores test-model-servers test-exports test-notebooks test-browser test-r test-packages
test-stores: $(ENV) $(STORES) $(MLFLOW_ENV)
	$(PYTEST) -m 'slow or not slow' $(STORE_TESTS) $(ARGS)

test-model-servers: $(ENV) $(KSERVE_ENV) $(MLSERVER_ENV) $(MLFLOW_ENV) $(TRITON_ENV)
	$(PYTEST_ONE_BY_ONE) -m slow $(MODEL_SERVER_TESTS) $(ARGS)

test-exports: $(ENV) $(MODELS_ENV) $(EXPORT_ENV)
	$(PYTEST) -m slow $(EXPORT_TESTS) $(ARGS)

test-notebooks: $(ENV) $(NOTEBOOK_ENV) $(BUF_ENV)
	@$(PYTHON) tools/programs.py install chromium
	$(PYTEST) -m slow $(NOTEBOOK_TESTS) $(ARGS)

test-browser: $(ENV)
	@$(PYTHON) tools/programs.py install chromium
	$(PYTEST_ONE_BY_ONE) -m slow $(BROWSER_TESTS) $(ARGS)

test-packages: $(ENV)
	$(PYTEST_ONE_BY_ONE) -m slow $(PACKAGE_TESTS) $(ARGS)

test-r: $(ENV)
	@$(PYTHON) tools/programs.py install Rscript
	$(PYTEST) -m slow tests/r_models $(ARGS)

.PHONY: profile-tests
profile-tests: $(ENV) ## Tell the processor time of tests, files, rooms and fixtures; ARGS name some tests
	@rm -rf build/test-profile
	$(BIN)/python -m pytest -n 2 --dist worksteal -p tools.testing.profile --processor-profile build/test-profile $(ARGS)
	$(BIN)/python -m tools.testing.profile build/test-profile

.PHONY: foreign-environments
foreign-environments: $(FOREIGN_ENVS) ## Install what the tests ask beside the project: servers of models, libraries that train, notebooks

.PHONY: stores
stores: $(STORES) $(MLFLOW_ENV) ## Build the stores that tests read models and tables from: S3, Google's, MLflow
	@unformatted=$$($$($(GO) env GOROOT)/bin/gofmt -l tools/stores); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted" >&2; exit 1; }

.PHONY: model-servers
model-servers: $(KSERVE_ENV) $(MLSERVER_ENV) $(MLFLOW_ENV) $(TRITON_ENV) ## Install the servers of models that tests ask: KServe's, MLServer, MLflow's, Triton

.PHONY: chart
chart: $(CHART_TOOLS) $(ENV) ## The Helm chart renders what Kubernetes takes, for all values in its ci/
	@unformatted=$$($$($(GO) env GOROOT)/bin/gofmt -l tools/kubernetes); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted" >&2; exit 1; }
	cd tools/kubernetes && CGO_ENABLED=0 $(GO) vet ./...
	$(PYTEST_ONE_BY_ONE) deploy/tests --ignore deploy/tests/image --ignore deploy/tests/image_sources --ignore deploy/tests/arm64 --ignore deploy/tests/release

# Namespaces of their own: nothing outside is reached, and nothing outlives the tests.
CLUSTER_PYTEST = CONTROL_PLANE=$(CURDIR)/tools/kubernetes/bin-$(1) unshare --net --mount --pid --fork --kill-child --mount-proc \
	$(PYTEST_ONE_BY_ONE) deploy/cluster/tests $(2) $(ARGS)

.PHONY: test-cluster
test-cluster: $(CHART_TOOLS) $(CONTROL_PLANES) $(ENV) ## Install the chart on real control planes, with processes as pods; needs root and Linux
	@$(PYTHON) tools/programs.py install redis-server iptables
	$(foreach minor,$(MINORS),$(call CLUSTER_PYTEST,$(minor)) &&) true

.PHONY: test-cluster-short
test-cluster-short: $(CHART_TOOLS) control-plane $(ENV) ## Install three files of values on the newest control plane
	@$(PYTHON) tools/programs.py install redis-server iptables
	$(call CLUSTER_PYTEST,$(NEWEST),-m short)

.PHONY: control-plane
control-plane: tools/kubernetes/bin-$(NEWEST)/.made ## Build the programs of the newest control plane, or copy kept ones

.PHONY: test-campaign
test-campaign: torture native-mutants resumption replica-kills fuzz mutants test-cluster compatibility streaming test-page-firefox ## Run what takes hours: broken models, faults under load, fuzzing, planted faults, control planes, other Pythons, 100 million rows; and the page in Firefox

.PHONY: native-mutants
native-mutants: $(ENV) ## Read 10,000 broken native tree files of each library
	TEST_NATIVE_MUTANTS=10000 $(BIN)/python -m pytest -q -s tests/isolation/test_native_mutants.py

.PHONY: resumption
resumption: $(ENV) ## Kill processes at work 132 times, and compare what the next ones find and answer
	$(BIN)/python -m bench.server.resumption

.PHONY: streaming
streaming: $(ENV) ## Explain 100 million rows in blocks, of which a file takes 5 GB, within 1.5 GB of memory
	$(BIN)/python -m bench.speed.streaming --campaign

.PHONY: replica-kills
replica-kills: $(ENV) ## Kill replicas at work, as far as the 120 of the table are missing, and write docs/studies/survival.md
	$(BIN)/python -m bench.server.replica_kills
	$(BIN)/python -m bench.server.replica_kills --page

.PHONY: compatibility
compatibility: $(ENV) ## Try Pythons and the lowest and newest dependencies, and write docs/compatibility.md; CASES names some
	$(BIN)/python -m tools.compatibility $(CASES)

# Slow tests, too.
EVERY := -m 'slow or not slow'

.PHONY: torture
torture: $(ENV) ## Send a million broken models and random requests, and break all around them; for long nights
	@# In parts: TEST_MUTANTS so many, from number TEST_MUTANTS_FROM on.
	TEST_MUTANTS=$${TEST_MUTANTS:-1000000} \
	TEST_GARBAGE=$${TEST_GARBAGE:-10000} \
	TEST_REQUESTS=$${TEST_REQUESTS:-10000} \
		$(BIN)/pytest $(EVERY) -s tests/isolation/test_garbage.py tests/isolation/test_mutants.py \
			tests/isolation/test_requests.py
	@# Likewise TEST_ODD_TREES tree ensembles, and TEST_ODD_TABLES tables, from number TEST_..._FROM on.
	TEST_PROPERTIES=$${TEST_PROPERTIES:-1250} TEST_ODD_TREES=$${TEST_ODD_TREES:-20000} \
	TEST_ODD_TABLES=$${TEST_ODD_TABLES:-5000} \
		$(BIN)/pytest $(EVERY) tests/properties
	TEST_CALLERS=$${TEST_CALLERS:-200} $(BIN)/pytest $(EVERY) tests/system/redis/test_two_servers.py
	TEST_API_CASES=$${TEST_API_CASES:-300} $(BIN)/pytest $(EVERY) tests/openapi/test_fuzz.py
	TEST_KILLS=$${TEST_KILLS:-1000} \
	TEST_SIGTERMS=$${TEST_SIGTERMS:-100} \
		$(BIN)/pytest $(EVERY) tests/isolation/test_processes.py tests/system/test_stopping.py
	$(MAKE) torture-load

# Of the run: how long, by which seed, how many clients, and where its report goes.
TORTURE_MINUTES ?= 30
TORTURE_SEED ?= 0
TORTURE_CLIENTS ?= 6
TORTURE_DOCS ?= docs

.PHONY: torture-load
torture-load: $(ENV) ## Mixed load with a fault every 10 s; TORTURE_MINUTES, TORTURE_SEED, TORTURE_CLIENTS
	PYTHONPATH=tests/torture:tests/isolation $(BIN)/python -m rig run build/torture \
		--minutes $(TORTURE_MINUTES) --seed $(TORTURE_SEED) --clients $(TORTURE_CLIENTS) \
		--docs $(TORTURE_DOCS)

.PHONY: mutants
mutants: $(ENV) ## Plant faults in the code, one at a time, and see which the tests find; hours: MUTANTS_FLAGS
	$(BIN)/python -m tools.mutants $(MUTANTS_FLAGS)

.PHONY: fuzz
fuzz: $(FUZZ_ENV) ## Fuzz what decodes bytes of others, each for FUZZ_SECONDS, FUZZ_JOBS at a time
	@.venv-fuzz/bin/python tests/fuzz/seeds.py build/fuzz/seeds
	@ls build/fuzz/seeds | xargs -P $(FUZZ_JOBS) -n 1 tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

.PHONY: kernels
kernels: $(ENV) ## Compile the loops of this checkout ahead of time, as a wheel has them; needs a C compiler
	$(BIN)/python -m onnxplain_server.trees.kernels.ahead_of_time --in-place

.PHONY: demo
demo: $(ENV) $(if $(shell command -v c++),kernels) ## Explain a real model, and write an HTML report
	$(BIN)/onnxplain demo --folder .demo

.PHONY: bench
bench: $(BENCH_ENV) ## Run the benchmarks, beside what they are compared with
	.venv-bench/bin/python -m bench.run

.PHONY: bench-table
bench-table: $(BENCH_ENV) $(PEER_ENV) kernels ## Measure the table of docs/studies/speed.md and README.md, a quarter of an hour; PARTS names some
	@$(PYTHON) tools/programs.py install Rscript
	@$(MAKE) --silent build/clients/go/load
	.venv-bench/bin/python -m bench.speed_table --keep $(PARTS)

.PHONY: capacity
capacity: $(ENV) ## Measure what a server does and takes, and write the tables of docs/operations.md
	$(BIN)/python -m bench.server.capacity

.PHONY: footprint
footprint: $(ENV) ## Measure memory, start and packages of an idle server, and write the table of docs/operations.md
	$(BIN)/python -m bench.server.footprint

.PHONY: format
format: $(ENV) $(BUF_ENV) ## Format the code and the contract, and repair what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BUF) format --write proto

##@ Clients

# Each has targets client-NAME, test-client-NAME.
CLIENTS := go java typescript web

.PHONY: clients
clients: $(CLIENTS:%=client-%) ## Generate and build the clients in other languages

.PHONY: test-clients
test-clients: $(CLIENTS:%=test-client-%) ## Test them against a real server

.PHONY: clients-table
clients-table: clients $(ENV) ## Ask all clients all cases, and write the table in docs/clients.md
	$(BIN)/python clients/tests/table.py

# The Go client.
GO_TOOLS := tools/go/bin/.made
GO_MESSAGES := clients/go/onnxplainv1
GO_FILES := $(shell find clients/go -name '*.go' -o -name 'go.*')
GO_GENERATE = $(BUF) generate build/contract --path build/contract/onnxplain --template clients/go/buf.gen.yaml

.PHONY: client-go
client-go: $(GO_TOOLS) $(BUF_ENV) $(CLIENT_CONTRACT) build/clients/go/conformance ## Generate the Go messages, and build what runs the cases
	$(GO_GENERATE)

.PHONY: test-client-go
test-client-go: lint-go build/clients/go/conformance $(ENV) ## Test the Go client
	@command -v gcc >/dev/null || { echo 'gcc not found: apt-get install gcc libc6-dev' >&2; exit 1; }
	@rm -f build/clients/go/reruns
	@# A failed test is run again, twice at most; a data race is a fault whenever it shows.
	cd clients/go && PATH=$(dir $(GO)):$$PATH $(CURDIR)/tools/go/bin/gotestsum --format pkgname \
		--rerun-fails=2 --rerun-fails-max-failures=3 --rerun-fails-abort-on-data-race \
		--rerun-fails-report $(CURDIR)/build/clients/go/reruns --packages ./... -- -race
	@[ ! -s build/clients/go/reruns ] || sed 's/^/FLAKY: /' build/clients/go/reruns
	$(PYTEST_ONE_BY_ONE) clients/tests/test_conformance.py clients/tests/test_retries.py clients/tests/test_large.py \
		clients/tests/test_access.py clients/tests/test_operations.py clients/tests/test_table.py \
		clients/tests/test_go.py --client go

.PHONY: lint-go
lint-go: $(GO_TOOLS) ## Style of the Go client
	@unformatted=$$($$($(GO) env GOROOT)/bin/gofmt -l clients/go); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted" >&2; exit 1; }
	cd clients/go && $(GO) vet ./... && $(CURDIR)/tools/go/bin/staticcheck ./...

.PHONY: messages-go
messages-go: $(GO_TOOLS) $(BUF_ENV) $(CLIENT_CONTRACT) ## The committed Go messages are what the contract gives
	@rm -rf build/messages-go && $(GO_GENERATE) --output build/messages-go
	@diff -r build/messages-go/$(GO_MESSAGES) $(GO_MESSAGES) \
		|| { echo 'The Go messages are not what proto/ gives: run `make client-go`.' >&2; exit 1; }

build/clients/go/%: $(GO_FILES)
	@tools/go/found.sh $(GO)
	cd clients/go && $(GO) build -o $(CURDIR)/$@ ./internal/$*

# TypeScript: Node.js comes with the lock of PROTO_ENV, so that only Chromium must be there.
TS := clients/typescript
TS_NPM = PATH=$(CURDIR)/.venv-proto/bin:$(dir $(CURDIR)/$(BUF)):$(dir $(CURDIR)/$(BIOME)):$$PATH \
	npm --prefix $(TS) --silent run

.PHONY: client-typescript
client-typescript: $(TS_ENV) $(BUF_ENV) $(CLIENT_CONTRACT) ## Generate and compile the TypeScript client
	@$(TS_NPM) build && $(TS_NPM) compile

.PHONY: test-client-typescript
test-client-typescript: lint-typescript client-typescript $(ENV) ## Test the TypeScript client, in Chromium too
	@command -v chromium > /dev/null || { echo 'chromium not found: apt-get install chromium' >&2; exit 1; }
	@# REST has no TLS of its own.
	$(PYTEST_ONE_BY_ONE) clients/tests/test_conformance.py clients/tests/test_retries.py clients/tests/test_large.py \
		clients/tests/test_access.py clients/tests/test_typescript.py \
		--client typescript --client typescript_rest \
		-k 'not typescript_rest or not (certificate or cannot_be_trusted)'

.PHONY: lint-typescript
lint-typescript: $(BUF_ENV) ## Style and format of the TypeScript client
	cd $(TS) && $(CURDIR)/$(BIOME) check --error-on-warnings .

# The page of the server, on the TypeScript client.
WEB := clients/web
PAGE := service/onnxplain_server/transport/rest/page
REPORT_LIBRARY := service/onnxplain_server/report/vega.js
WEB_NPM = PATH=$(CURDIR)/.venv-proto/bin:$$PATH npm --prefix $(WEB) --silent run

.PHONY: client-web
client-web: client-typescript $(WEB_ENV) ## Check and bundle the page into clients/web/dist
	@$(WEB_NPM) build

.PHONY: page
page: client-web ## Put the bundled page, and the library of reports, into the server's package
	rm -rf $(PAGE) && mkdir $(PAGE)
	cp $(WEB)/dist/index.html $(WEB)/dist/page/* $(PAGE)
	cp $(WEB)/dist/report/vega.js $(REPORT_LIBRARY)

.PHONY: test-client-web
test-client-web: lint-web client-web client-java $(ENV) ## Test the page: its parts, journeys in Chromium, and programs that it gives
	@command -v chromium > /dev/null || { echo 'chromium not found: apt-get install chromium' >&2; exit 1; }
	@cmp $(WEB)/dist/index.html $(PAGE)/index.html && diff -r --exclude index.html $(WEB)/dist/page $(PAGE) && cmp $(WEB)/dist/report/vega.js $(REPORT_LIBRARY) || { echo 'the committed page is not what its sources give: make page' >&2; exit 1; }
	@$(WEB_NPM) test
	$(PYTEST_ONE_BY_ONE) clients/tests/page/test_page.py clients/tests/page/test_page_programs.py clients/tests/page/test_page_tables.py

.PHONY: test-page-firefox
test-page-firefox: client-web $(ENV) ## Walk through the page of a real server in Firefox
	@$(PYTHON) tools/programs.py install firefox-esr
	@$(PYTHON) tools/programs.py check firefox-esr
	@$(WEB_NPM) test
	PAGE_BROWSER=firefox $(BIN)/pytest clients/tests/page/test_page.py -k "people or hostile or fits or wide"

.PHONY: lint-web
lint-web: $(BUF_ENV) ## Style and format of the page
	cd $(WEB) && $(CURDIR)/$(BIOME) check --error-on-warnings .

.PHONY: test-generators
test-generators: $(ENV) $(GENERATORS_ENV) $(GENERATORS_NPM) ## Lint the OpenAPI document; generate clients from it, compile them and call a server
	@tools/go/found.sh $(GO)
	@command -v java > /dev/null || { echo 'java 11 or later not found: apt-get install openjdk-17-jre-headless' >&2; exit 1; }
	PATH=$(dir $(GO)):$$PATH $(PYTEST_ONE_BY_ONE) -m slow $(GENERATORS) $(ARGS)

# Java: 17 or later; with Maven, 3.8 or later, which gets its plugins at the first run.
MVN := mvn -q -B -ntp -f clients/java/pom.xml
JAVA_CLIENT := clients/java/target/.made

.PHONY: client-java
client-java: $(JAVA_CLIENT) ## Generate the Java messages, and build the Java client

.PHONY: test-client-java
test-client-java: $(JAVA_CLIENT) $(ENV) ## Test the Java client
	@rm -rf clients/java/target/surefire-reports
	$(MVN) spotless:check surefire:test
	@# Maven's -q leaves out its warning of flakes.
	@grep -hB1 '<flaky' clients/java/target/surefire-reports/*.xml \
		| sed -n 's/.*<testcase name="\([^"]*\)" classname="\([^"]*\)".*/FLAKY: \2.\1/p'
	$(PYTEST_ONE_BY_ONE) clients/tests/test_conformance.py clients/tests/test_retries.py clients/tests/test_large.py \
		clients/tests/test_access.py clients/tests/test_operations.py clients/tests/test_java.py --client java

$(JAVA_CLIENT): clients/java/pom.xml $(CLIENT_CONTRACT) $(shell find clients/java/src -name '*.java')
	@command -v mvn > /dev/null && javac --release 17 --version > /dev/null 2>&1 || { \
		echo 'javac 17 or later, or mvn, not found: apt-get install openjdk-17-jdk-headless maven' >&2; exit 1; }
	$(MVN) -DskipTests package
	@touch $@


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

##@ Now and then

.PHONY: generate
generate: proto python-requests java-methods openapi client-go reference ## Make again all that is made from the contract

.PHONY: proto
proto: $(CLIENT_CONTRACT) ## Generate from the contract the Python messages, and the server's limits and options of methods
	rm -f $(MESSAGES)/*_pb2*.py*
	$(call PROTOC,clients/python)
	$(INFERENCE_PROTOC)
	cp build/open_inference/v2/inference_pb2.py* $(INFERENCE_MESSAGES)/
	.venv-proto/bin/python -m tools.contract.server_table $(CONTRACT) $(SERVER_LIMITS)
	.venv-proto/bin/python -m tools.contract.method_options $(CONTRACT) $(METHOD_OPTIONS)

.PHONY: python-requests
python-requests: $(REQUESTS) ## Generate option classes and request arguments of the Python client from the contract
	cp build/requests/options/*.py clients/python/onnxplain/requests/options/
	cp build/requests/arguments.py clients/python/onnxplain/requests/
	cp build/requests/enum_names.py clients/python/onnxplain/enumerations/names.py
	cp build/requests/by_method.py clients/python/onnxplain/results/

$(REQUESTS): $(CONTRACT) $(wildcard tools/python_client/*.py tools/contract/*.py) $(ENV)
	@rm -rf $(@D) && mkdir -p $(@D)
	$(BIN)/python -m tools.python_client $(CONTRACT) $(@D)
	@$(BIN)/ruff format --quiet $(@D) && $(BIN)/ruff check --quiet --fix $(@D)
	@touch $@

.PHONY: java-methods
java-methods: $(CONTRACT) $(ENV) ## Generate the calls and results by method of the Java client from the contract
	$(BIN)/python -m tools.java_client $(CONTRACT) $(JAVA_SOURCES)

.PHONY: openapi
openapi: build/openapi.json ## Generate the OpenAPI description of REST from the contract
	cp build/openapi.json $(DESCRIPTION)

.PHONY: build/openapi.json
build/openapi.json: $(ENV) $(CONTRACT)
	$(BIN)/python -m tools.openapi $(CONTRACT) $@

$(CONTRACT): $(PROTO_ENV) $(PROTOS)
	@mkdir -p $(@D)
	.venv-proto/bin/python -m grpc_tools.protoc -Iproto --include_source_info --include_imports \
		--descriptor_set_out=$@ $(PROTOS)

.PHONY: client-contract
client-contract: $(CLIENT_CONTRACT) ## Write the contract of the clients to build/contract

$(CLIENT_CONTRACT): $(CONTRACT) $(wildcard tools/contract/*.py)
	rm -rf $(@D)
	.venv-proto/bin/python -m tools.contract.client_protos $(CONTRACT) proto $(@D)
	@touch $@

.PHONY: release-contract
release-contract: $(BUF_ENV) ## Make today's contract the released one, which may not break
	$(BUF) build proto --exclude-source-info --output $(RELEASED)

.PHONY: models
models: $(MODELS_ENV) ## Make the ONNX models of the tests again
	.venv-models/bin/python tests/models/make.py

.PHONY: keep-absolute
keep-absolute: $(STUDY_ENV) ## Compare rankings of features, as the swarm's paper does; takes an hour
	.venv-study/bin/python -m bench.accuracy.keep_absolute tables
	.venv-study/bin/python -m bench.accuracy.keep_absolute parameters
	.venv-study/bin/python -m bench.accuracy.keep_absolute optimum

.PHONY: examples
examples: $(ENV) ## Run the documented examples, and write their numbers and pictures
	$(BIN)/python examples/run.py

.PHONY: export
export: $(ENV) $(MODELS_ENV) $(EXPORT_ENV) ## Run the recipes of docs/export.md, and write versions and scripts into the page
	$(BIN)/python -m tools.export_page

.PHONY: studies
studies: $(ENV) ## Run the studies of feature vectors again: an hour, and taken up where it was ended
	$(BIN)/python -m bench.accuracy.feature_vectors_study explained-variance
	$(BIN)/python -m bench.accuracy.feature_vectors_study diagonal 2000
	$(BIN)/python -m bench.accuracy.feature_vectors_study knockoffs 40000
	$(BIN)/python -m bench.accuracy.feature_vectors_study stability
	$(BIN)/python -m bench.accuracy.synonyms
	$(BIN)/python -m bench.accuracy.importance_curves curves
	$(BIN)/python -m bench.accuracy.importance_curves spread
	$(BIN)/python -m bench.accuracy.importance_curves report

.PHONY: seeds
seeds: $(STUDY_ENV) $(ENV) ## Compute the results of docs/studies/seeds.md again, and write the page
	for method in hstats swarm firm feature_vectors; do \
		.venv-study/bin/python -m bench.seeds.$$method || exit 1; done
	$(MAKE) seeds-page

.PHONY: seeds-page
seeds-page: $(ENV) ## Write docs/studies/seeds.md from its rows and kept results
	$(BIN)/python -m bench.seeds.page

.PHONY: report-pictures
report-pictures: $(ENV) ## Write docs/images/reports: every method's report for three tasks; needs chromium, pdftoppm
	$(BIN)/python -m examples.reports docs/images/reports

.PHONY: gallery
gallery: $(ENV) ## Write docs/gallery.md with its pictures; needs chromium
	$(BIN)/python -m examples.gallery.pictures

.PHONY: reference
reference: $(ENV) ## Write the pages of docs/ that the code already knows
	$(BIN)/python tools/reference.py docs

.PHONY: chart-files
chart-files: $(ENV) ## Write what code and values tell of the Helm chart: schema of settings, README
	$(BIN)/python -m tools.chart $(CHART) $(CHART)

.PHONY: manifests
manifests: $(CHART_TOOLS) $(ENV) ## Render the chart as plain manifests into deploy/manifests
	$(BIN)/python -m tools.chart.manifests tools/kubernetes/bin/helm $(CHART) deploy/manifests

# The image: its name, and the base that tests use, since no registry need be reachable.
IMAGE ?= localhost/onnxplain:$(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
STAND_IN := localhost/python:3.11-stand-in
# Those of tests stay in the checkout, and no file system need be mounted for them.
TEST_BUILDAH := buildah --storage-driver vfs --root $(CURDIR)/build/containers --runroot $(CURDIR)/build/containers/run

.PHONY: image
image: ## Build the image with buildah, without Docker: IMAGE, BASE_IMAGE, BUILD_IMAGE, BUILDAH, and ARCH=arm64 for that processor
	$(ARCH:%=tools/emulated.sh %) tools/image.sh $(IMAGE) build/image $(ARCH:%=--arch %)

.PHONY: image-sources
image-sources: ## Build the second image, which also reads models and tables by their URIs and has Dask: IMAGE-sources
	$(ARCH:%=tools/emulated.sh %) tools/image.sh $(IMAGE)-sources build/image-sources $(ARCH:%=--arch %) \
		--build-arg REQUIREMENTS=sources

.PHONY: stand-in
stand-in: ## Make the bases for `make image` where no registry can be reached, by debootstrap
	tools/stand_in.sh $(STAND_IN)

.PHONY: test-image
test-image: $(ENV) image-on-stand-in ## Build the image on a stand-in, and run it as an engine of containers would
	BUILDAH='$(TEST_BUILDAH)' TEST_IMAGE=$(IMAGE) $(PYTEST_ONE_BY_ONE) deploy/tests/image

.PHONY: test-image-sources
test-image-sources: $(ENV) build/containers/.base ## Build the second image on a stand-in, and have it read by URI and run a Dask cluster
	BUILDAH='$(TEST_BUILDAH)' BASE_IMAGE=$(STAND_IN) BUILD_IMAGE=$(STAND_IN)-build \
		tools/image.sh $(IMAGE)-sources build/image-sources --build-arg REQUIREMENTS=sources
	BUILDAH='$(TEST_BUILDAH)' TEST_IMAGE=$(IMAGE)-sources $(PYTEST_ONE_BY_ONE) deploy/tests/image_sources

.PHONY: image-on-stand-in
image-on-stand-in: build/containers/.base
	BUILDAH='$(TEST_BUILDAH)' BASE_IMAGE=$(STAND_IN) BUILD_IMAGE=$(STAND_IN)-build \
		tools/image.sh $(IMAGE) build/image

.PHONY: test-arm64
test-arm64: $(ENV) build/containers/.base-arm64 ## Build the image for arm64 on a stand-in, by emulation, and compare an answer of it
	BUILDAH='$(TEST_BUILDAH)' BASE_IMAGE=$(STAND_IN)-arm64 BUILD_IMAGE=$(STAND_IN)-arm64-build \
		tools/emulated.sh arm64 tools/image.sh $(IMAGE)-arm64 build/image-arm64 --arch arm64
	BUILDAH='$(TEST_BUILDAH)' TEST_IMAGE=$(IMAGE)-arm64 $(BIN)/pytest deploy/tests/arm64

build/containers/.base-arm64: tools/stand_in.sh tools/debian_root.sh
	mkdir -p $(@D)
	ARCH=arm64 BUILDAH='$(TEST_BUILDAH)' tools/emulated.sh arm64 tools/stand_in.sh $(STAND_IN)-arm64
	@touch $@

build/containers/.base: tools/stand_in.sh tools/debian_root.sh
	mkdir -p $(@D)
	BUILDAH='$(TEST_BUILDAH)' tools/stand_in.sh $(STAND_IN)
	@touch $@

DIST := dist

.PHONY: dist
dist: $(ENV) ## Build wheels and source archives of the packages onnxplain and onnxplain-server in dist/
	rm -rf $(DIST)
	cd clients/python && $(CURDIR)/$(BIN)/hatchling build --directory $(abspath $(DIST))
	$(BIN)/hatchling build --directory $(DIST)
	@# For macOS and Windows: without compiled loops.
	ONNXPLAIN_WITHOUT_LOOPS=1 $(BIN)/hatchling build --target wheel --directory $(DIST)

.PHONY: installation
installation: dist ## Install the wheels with each Python, without a compiler, explain without network, and write the table of docs/systems.md
	$(BIN)/python -m tools.systems.installation $(DIST) $(PYTHONS)

.PHONY: test-gvisor
test-gvisor: dist ## Try the wheel for all systems in gVisor; needs root
	@$(PYTHON) tools/programs.py install runsc
	$(BIN)/python -m tools.systems.gvisor $(DIST)

.PHONY: test-two-files
test-two-files: $(ENV) ## Explain a network of 0.3 GB in one piece and in two files, and write the table of docs/systems.md
	$(BIN)/python -m tools.systems.two_files

.PHONY: test-windows
test-windows: dist ## Try the wheel for all systems on Windows' Python under Wine, and write the table of docs/systems.md; needs root; JOBS name some
	@$(PYTHON) tools/programs.py install debootstrap
	$(BIN)/python -m tools.systems.wine $(DIST) $(JOBS)

.PHONY: rehearsal
rehearsal: $(ENV) ## Run the steps of the Dockerfile in a folder, and serve from it
	$(BIN)/python tools/rehearsal.py build/image

.PHONY: lock
lock: $(ENV) $(PROTO_ENV) ## Refresh the locks; newest versions with LOCK_FLAGS=--upgrade
	$(RESOLVE) --output-file requirements/server.txt --extra otel pyproject.toml
	$(RESOLVE) --output-file requirements/sources.txt --constraints requirements/server.txt \
		--extra otel --extra sources --extra dask pyproject.toml
	$(RESOLVE) --output-file requirements/dask.txt --constraints requirements/server.txt \
		--extra otel --extra dask pyproject.toml
	$(RESOLVE) --output-file requirements/build.txt --group pyproject.toml:build \
		--constraints requirements/server.txt
	$(RESOLVE) --output-file requirements/sbom.txt --group pyproject.toml:sbom
	$(RESOLVE) --output-file requirements/dev.txt --group dev \
		--constraints requirements/build.txt --constraints requirements/server.txt --extra otel --extra render --extra sources --extra dask pyproject.toml
	$(RESOLVE) --output-file requirements/bench.txt --group bench \
		--constraints requirements/server.txt pyproject.toml
	$(RESOLVE) --output-file requirements/export.txt --group pyproject.toml:export
	$(RESOLVE) --output-file requirements/models.txt tests/models/requirements.txt
	$(RESOLVE) --output-file requirements/fuzz.txt --group fuzz \
		--constraints requirements/server.txt pyproject.toml
	$(RESOLVE) --output-file requirements/notebook.txt --group pyproject.toml:notebook
	$(RESOLVE) --output-file requirements/generators.txt --group pyproject.toml:generators
	$(RESOLVE) --output-file requirements/mlflow.txt --group pyproject.toml:mlflow
	$(RESOLVE) --output-file requirements/kserve.txt --group pyproject.toml:kserve
	$(RESOLVE) --output-file requirements/mlserver.txt --group pyproject.toml:mlserver
	$(RESOLVE) --output-file requirements/triton.txt --group pyproject.toml:triton
	$(RESOLVE) --no-strip-extras --output-file requirements/peer.txt bench/server/peer_requirements.txt
	$(RESOLVE) --output-file requirements/release.txt --group pyproject.toml:release
	$(RESOLVE) --output-file requirements/proto.txt --group pyproject.toml:proto
	.venv-proto/bin/npm install --prefix tools --package-lock-only --omit-lockfile-registry-resolved --no-update-notifier
	.venv-proto/bin/npm install --prefix $(TS) --package-lock-only --omit-lockfile-registry-resolved --no-update-notifier
	.venv-proto/bin/npm install --prefix $(WEB) --package-lock-only --omit-lockfile-registry-resolved --no-update-notifier
	.venv-proto/bin/npm install --prefix $(GENERATORS) --package-lock-only --omit-lockfile-registry-resolved --no-update-notifier
	.venv-proto/bin/node tools/without_addresses.mjs tools/package-lock.json
	.venv-proto/bin/node tools/without_addresses.mjs $(TS)/package-lock.json
	.venv-proto/bin/node tools/without_addresses.mjs $(WEB)/package-lock.json
	.venv-proto/bin/node tools/without_addresses.mjs $(GENERATORS)/package-lock.json

.PHONY: clean
clean: ## Remove all that make made, environments too
	rm -rf .venv .venv-bench .venv-export .venv-fuzz .venv-generators .venv-kserve .venv-mlflow .venv-mlserver .venv-notebook .venv-proto .venv-models .venv-peer .venv-release .venv-study .venv-triton tools/node_modules tools/go/bin tools/actionlint/bin tools/audit/bin tools/cosign/bin tools/kubernetes/bin* tools/stores/bin build dist .demo
	rm -f service/onnxplain_server/trees/kernels/_compiled_*
	rm -rf $(TS)/node_modules $(TS)/build $(TS)/dist $(TS)/src/gen $(WEB)/node_modules $(WEB)/build $(WEB)/dist $(GENERATORS)/node_modules clients/java/target
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find clients $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +

include tools/release/release.mk

# Environments

# uv takes a quarter of pip's time for an environment, or less; pip installs uv itself, as it is locked.
new_env = $(PYTHON) -m venv $(@D)
install = $(UV) pip install --quiet --python $(@D)/bin/python
install_locked = $(install) --require-hashes --requirement $<
install_own = $(install) --no-deps --no-build-isolation -e clients/python -e .

$(ENV): requirements/dev.txt pyproject.toml clients/python/pyproject.toml
	$(new_env)
	sed -n '/^uv==/,/[^\\]$$/p' $< > .venv/uv.txt
	$(BIN)/pip install --quiet --require-hashes --requirement .venv/uv.txt
	$(install_locked)
	$(install_own)
	@touch $@

$(COMPILED): $(ENV) $(shell find service/onnxplain_server/trees -name '*.py')
	@mkdir -p $(@D)
	$(BIN)/python -c 'from onnxplain_server.adapters.programs import preload; preload.load()'
	@touch $@

$(BENCH_ENV) $(FUZZ_ENV): .venv-%/.made: requirements/%.txt pyproject.toml clients/python/pyproject.toml | $(ENV)
	$(new_env)
	$(install_locked)
	$(install_own)
	@touch $@

$(PROTO_ENV) $(PEER_ENV) $(GENERATORS_ENV) $(FOREIGN_ENVS): .venv-%/.made: requirements/%.txt | $(ENV)
	$(new_env)
	$(install_locked)
	@touch $@

$(STUDY_ENV): bench/requirements.txt tests/models/requirements.txt | $(ENV)
	$(new_env)
	$(install) --requirement bench/requirements.txt -e clients/python -e '.[render]'
	@touch $@

$(GO_TOOLS): tools/go/go.mod tools/go/go.sum
	@tools/go/found.sh $(GO)
	cd tools/go && GOBIN=$(CURDIR)/tools/go/bin $(GO) install tool
	@touch $@

# A minute or two the first time.
$(STORES): tools/stores/go.mod tools/stores/go.sum $(wildcard tools/stores/rclone/*.go)
	@tools/go/found.sh $(GO)
	@tools/cached_build.sh $(@D) $^ -- env -C tools/stores GOBIN=$(abspath $(@D)) CGO_ENABLED=0 \
		$(GO) install -trimpath -ldflags='-s -w' tool ./rclone
	@touch $@

# Several minutes on two cores the first time: helm brings most of Kubernetes.
$(CHART_TOOLS): tools/kubernetes/build.sh $(wildcard tools/kubernetes/go.* tools/kubernetes/keda/go.* tools/kubernetes/conform/*.go)
	@tools/go/found.sh $(GO)
	@tools/cached_build.sh $(@D) $^ -- tools/kubernetes/build.sh $(GO) $(@D)
	@touch $@

# Of a minor: its own modules and etcd's, so that a new minor leaves the kept programs of others.
.SECONDEXPANSION:
tools/kubernetes/bin-%/.made: tools/kubernetes/control_plane.sh $$(addprefix tools/kubernetes/control_plane/,etcd/go.mod etcd/go.sum $$*/go.mod $$*/go.sum)
	@tools/go/found.sh $(GO)
	@tools/cached_build.sh $(@D) $^ -- tools/kubernetes/control_plane.sh $(GO) $(@D) $*
	@touch $@

$(BUF_ENV): tools/package-lock.json $(PROTO_ENV)
	.venv-proto/bin/npm ci --prefix tools --ignore-scripts --no-fund --no-audit --no-update-notifier
	@touch $@

$(WEB_ENV): $(WEB)/package-lock.json $(PROTO_ENV)
	.venv-proto/bin/npm ci --prefix $(WEB) --ignore-scripts --no-fund --no-audit --no-update-notifier
	@touch $@

$(GENERATORS_NPM): $(GENERATORS)/package-lock.json $(PROTO_ENV)
	.venv-proto/bin/npm ci --prefix $(GENERATORS) --ignore-scripts --no-fund --no-audit --no-update-notifier
	@touch $@

$(TS_ENV): $(TS)/package-lock.json $(PROTO_ENV)
	.venv-proto/bin/npm ci --prefix $(TS) --ignore-scripts --no-fund --no-audit --no-update-notifier
	@touch $@
