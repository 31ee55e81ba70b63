##@ Packages, and the systems that they run on

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
