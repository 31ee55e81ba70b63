# What a developer does every day; the rest is in the folders that it is about. `make` lists the targets here, `make help-all` all.

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
help: ## List the targets of every day
	@$(LIST) $(firstword $(MAKEFILE_LIST))

.PHONY: help-all
help-all: ## List all targets, by what they are of
	@$(LIST) $(MAKEFILE_LIST)

define LIST
awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }'
endef

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

include tools/testing/parts.mk

.PHONY: profile-tests
profile-tests: $(ENV) ## Tell the processor time of tests, files, rooms and fixtures; ARGS name some tests
	@rm -rf build/test-profile
	$(BIN)/python -m pytest -n 2 --dist worksteal -p tools.testing.profile --processor-profile build/test-profile $(ARGS)
	$(BIN)/python -m tools.testing.profile build/test-profile

include deploy/deploy.mk
include tests/campaign.mk

.PHONY: kernels
kernels: $(ENV) ## Compile the loops of this checkout ahead of time, as a wheel has them; needs a C compiler
	$(BIN)/python -m onnxplain_server.trees.kernels.ahead_of_time --in-place

.PHONY: demo
demo: $(ENV) $(if $(shell command -v c++),kernels) ## Explain a real model, and write an HTML report
	$(BIN)/onnxplain demo --folder .demo

include bench/bench.mk

.PHONY: format
format: $(ENV) $(BUF_ENV) ## Format the code and the contract, and repair what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BUF) format --write proto

include clients/clients.mk
include tools/checks.mk

##@ Now and then

.PHONY: generate
generate: proto python-requests java-methods openapi client-go reference chart-files ## Make again all that is made from the contract

include proto/contract.mk

.PHONY: models
models: $(MODELS_ENV) ## Make the ONNX models of the tests again
	.venv-models/bin/python tests/models/make.py

include tools/site/docs.mk
include tools/packages.mk

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
