##@ Benchmarks and studies

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

.PHONY: keep-absolute
keep-absolute: $(STUDY_ENV) ## Compare rankings of features, as the swarm's paper does; takes an hour
	.venv-study/bin/python -m bench.accuracy.keep_absolute tables
	.venv-study/bin/python -m bench.accuracy.keep_absolute parameters
	.venv-study/bin/python -m bench.accuracy.keep_absolute optimum

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
