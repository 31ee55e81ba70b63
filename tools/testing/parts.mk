##@ Parts of CI that ask foreign software: their tests, and what they ask

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

.PHONY: foreign-environments
foreign-environments: $(FOREIGN_ENVS) ## Install what the tests ask beside the project: servers of models, libraries that train, notebooks

.PHONY: stores
stores: $(STORES) $(MLFLOW_ENV) ## Build the stores that tests read models and tables from: S3, Google's, MLflow
	@unformatted=$$($$($(GO) env GOROOT)/bin/gofmt -l tools/stores); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted" >&2; exit 1; }

.PHONY: model-servers
model-servers: $(KSERVE_ENV) $(MLSERVER_ENV) $(MLFLOW_ENV) $(TRITON_ENV) ## Install the servers of models that tests ask: KServe's, MLServer, MLflow's, Triton
