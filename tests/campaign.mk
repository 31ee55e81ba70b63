##@ What takes hours

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
