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
