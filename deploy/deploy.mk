##@ Chart, control planes and image

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
