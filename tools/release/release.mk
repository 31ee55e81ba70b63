##@ Releases

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# The folder of a release; and what signs it: a folder with cosign.key, cosign.pub, maven.asc and maven.pub.asc.
RELEASE ?= build/release
RELEASE_KEYS ?= build/release-keys
RELEASE_ENV := .venv-release/.made
RELEASE_PARTS := $(addprefix release-,checks notes python go npm maven chart image)
COSIGN := tools/cosign/bin/cosign
AUDIT := tools/audit/bin/osv-scanner

.PHONY: release
release: release-bases image $(RELEASE_PARTS) $(COSIGN) ## Make all packages of this version, with provenance, signed: RELEASE, RELEASE_KEYS; see RELEASING.md
	tools/release/sign.sh $(COSIGN) $(RELEASE_KEYS) $(RELEASE)

.PHONY: release-push
release-push: $(COSIGN) $(CHART_TOOLS) ## Push image and chart of a release to REGISTRY, and sign them there
	tools/release/push.sh $(COSIGN) $(RELEASE_KEYS) $(RELEASE) $(VERSION) $(REGISTRY)

.PHONY: release-keys
release-keys: $(COSIGN) ## Make throw-away keys in RELEASE_KEYS, to rehearse a release
	tools/release/keys.sh $(COSIGN) $(RELEASE_KEYS)

.PHONY: test-release
test-release: RELEASE := build/rehearsal/release
test-release: RELEASE_KEYS := build/rehearsal/keys
test-release: export BUILDAH := $(TEST_BUILDAH)
test-release: rehearsal-keys image-on-stand-in $(RELEASE_PARTS) $(COSIGN) ## Rehearse a release, install each client from it, and change bytes of it
	@$(PYTHON) tools/programs.py install docker-registry skopeo
	tools/release/sign.sh $(COSIGN) $(RELEASE_KEYS) $(RELEASE)
	TEST_RELEASE=$(RELEASE) TEST_RELEASE_KEYS=$(RELEASE_KEYS) $(PYTEST_ONE_BY_ONE) deploy/tests/release

.PHONY: rehearsal-keys
rehearsal-keys: $(COSIGN)
	rm -rf $(RELEASE_KEYS)
	mkdir -p $(dir $(RELEASE_KEYS))
	tools/release/keys.sh $(COSIGN) $(RELEASE_KEYS)

.PHONY: release-bases
release-bases:
	@for base in '$(BASE_IMAGE)' '$(BUILD_IMAGE)'; do [[ "$$base" == *@sha256:* ]] || { \
		echo 'name the bases of the image by digest: BASE_IMAGE=...@sha256:... BUILD_IMAGE=...@sha256:...' >&2; exit 1; }; done

.PHONY: audit
audit: $(AUDIT) ## Check all locks against the advisories of OSV in ADVISORIES, a folder; without network
	tools/audit/audit.sh $(AUDIT) $(ADVISORIES)

# Parts of a release, each in a folder of its own.

.PHONY: release-checks
release-checks:
	$(PYTHON) -m tools.release.version --check
	@test -f $(RELEASE_KEYS)/cosign.key || { echo 'no keys in $(RELEASE_KEYS): name their folder by RELEASE_KEYS,' \
		'or make throw-away ones by `make release-keys`' >&2; exit 1; }
	rm -rf $(RELEASE)
	mkdir -p $(RELEASE)

.PHONY: release-notes
release-notes:
	$(PYTHON) -m tools.release.version --changes > $(RELEASE)/CHANGES.md

.PHONY: release-python
release-python: $(ENV) $(RELEASE_ENV)
	$(MAKE) --silent dist DIST=build/release-dist
	mkdir -p $(RELEASE)/python
	mv build/release-dist/*.tar.gz build/release-dist/*-none-any.whl $(RELEASE)/python
	PATH=$(CURDIR)/.venv-release/bin:$$PATH \
		auditwheel repair --wheel-dir $(RELEASE)/python build/release-dist/*.whl
	.venv-release/bin/twine check --strict $(RELEASE)/python/*

.PHONY: release-go
release-go:
	@tools/go/found.sh $(GO)
	cd tools/go && $(GO) run ./module $(CURDIR) HEAD clients/go v$(VERSION) $(abspath $(RELEASE))/go

.PHONY: release-npm
release-npm: client-typescript
	mkdir -p $(RELEASE)/npm
	cd $(TS) && PATH=$(CURDIR)/.venv-proto/bin:$$PATH npm pack --silent --ignore-scripts \
		--pack-destination $(abspath $(RELEASE))/npm

.PHONY: release-maven
release-maven: $(JAVA_CLIENT)
	MAVEN_GPG_KEY="$$(cat $(RELEASE_KEYS)/maven.asc)" $(MVN) --activate-profiles release -DskipTests deploy \
		-DaltDeploymentRepository=release::file://$(abspath $(RELEASE))/maven

.PHONY: release-chart
release-chart: $(CHART_TOOLS)
	tools/kubernetes/bin/helm package --destination $(RELEASE)/chart $(CHART)

.PHONY: release-image
release-image:
	mkdir -p $(RELEASE)/image
	$${BUILDAH:-buildah} push --quiet $(IMAGE) oci-archive:$(RELEASE)/image/onnxplain-$(VERSION)-$(shell uname -m).tar
	cp build/image/sbom.cdx.json $(RELEASE)/image/onnxplain-$(VERSION)-$(shell uname -m).cdx.json

$(RELEASE_ENV): requirements/release.txt | $(ENV)
	$(new_env)
	$(install_locked)
	@touch $@

# Minutes each the first time.
$(COSIGN): tools/cosign/go.mod tools/cosign/go.sum
$(AUDIT): tools/audit/go.mod tools/audit/go.sum
$(COSIGN) $(AUDIT):
	@tools/go/found.sh $(GO)
	tools/cached_build.sh $(@D) $^ -- env -C $(dir $<) GOBIN=$(abspath $(@D)) CGO_ENABLED=0 \
		$(GO) install -trimpath -ldflags='-s -w' tool
	@touch $@
