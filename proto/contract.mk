##@ What is made from the contract

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
