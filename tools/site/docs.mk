##@ Documents that code writes

.PHONY: examples
examples: $(ENV) ## Run the documented examples, and write their numbers and pictures
	$(BIN)/python examples/run.py

.PHONY: export
export: $(ENV) $(MODELS_ENV) $(EXPORT_ENV) ## Run the recipes of docs/export.md, and write versions and scripts into the page
	$(BIN)/python -m tools.export_page

.PHONY: report-pictures
report-pictures: $(ENV) ## Write docs/images/reports: every method's report for three tasks; needs chromium, pdftoppm
	$(BIN)/python -m examples.reports docs/images/reports

.PHONY: gallery
gallery: $(ENV) ## Write docs/gallery.md with its pictures; needs chromium
	$(BIN)/python -m examples.gallery.pictures

.PHONY: reference
reference: $(ENV) ## Write the pages of docs/ that the code already knows
	$(BIN)/python tools/reference.py docs
