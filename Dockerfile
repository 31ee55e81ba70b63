# The service as an image: dependencies by their locked hashes, then the two packages; no renderer,
# since a server draws nothing.
# `REQUIREMENTS=sources` adds what reads models and tables by their URIs, and Dask: `make image-sources`.
# `make image` builds it without Docker; `make rehearsal` runs the first stage in a folder.
# For the same bytes again, give both bases by their digests: python:3.11-slim-bookworm@sha256:...
ARG BASE_IMAGE=docker.io/library/python:3.11-slim-bookworm
# The same with a C compiler, which compiles the loops of the tree engine.
ARG BUILD_IMAGE=docker.io/library/python:3.11-bookworm

FROM ${BUILD_IMAGE} AS build
# Lock of the dependencies: server or sources.
ARG REQUIREMENTS=server
# Where pip finds packages; they stay in this stage.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_FIND_LINKS
ARG PIP_CERT
ARG PIP_TRUSTED_HOST
ARG PIP_DEFAULT_TIMEOUT
# Of wheels; and no order may hang on chance.
ARG SOURCE_DATE_EPOCH=315532800
ENV PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONHASHSEED=0
RUN python3 -m venv /opt/onnxplain && python3 -m venv /opt/build && python3 -m venv /opt/sbom
COPY requirements/build.txt requirements/sbom.txt requirements/${REQUIREMENTS}.txt /src/requirements/
RUN /opt/build/bin/pip install --require-hashes --requirement /src/requirements/build.txt
RUN /opt/sbom/bin/pip install --require-hashes --requirement /src/requirements/sbom.txt
RUN /opt/onnxplain/bin/pip install --require-hashes --requirement /src/requirements/${REQUIREMENTS}.txt
COPY LICENSE README.md pyproject.toml hatch_build.py /src/
COPY service /src/service
COPY clients/python /src/clients/python
COPY examples/miami/miami.onnx examples/miami/miami_housing.csv.gz examples/miami/request.json /src/examples/miami/
RUN cd /src/clients/python && /opt/build/bin/hatchling build --target wheel --directory /wheels
RUN cd /src && /opt/build/bin/hatchling build --target wheel --directory /wheels
RUN /opt/onnxplain/bin/pip install --no-deps --no-index --find-links /wheels onnxplain-server onnxplain
RUN /opt/onnxplain/bin/pip check && /opt/onnxplain/bin/pip uninstall --yes pip setuptools
COPY tools/slim.py /src/tools/
RUN python3 /src/tools/slim.py /opt/onnxplain/lib/python3*/site-packages
RUN /opt/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject /src/pyproject.toml \
      --output-file /opt/onnxplain/sbom.cdx.json /opt/onnxplain/bin/python
# Bytecode that asks for no times of files.
RUN /opt/onnxplain/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/onnxplain/lib
# All that answers load, as workers do; fails if `slim.py` took too much.
RUN /opt/onnxplain/bin/python -c 'from onnxplain_server.adapters.programs.preload import load; load()'
RUN [ "$REQUIREMENTS" != sources ] || /opt/onnxplain/bin/python -c \
      'from onnxplain_server.adapters.sources.fetch_process import load_libraries; load_libraries()'
RUN [ "$REQUIREMENTS" != sources ] || /opt/onnxplain/bin/python -c \
      'from onnxplain_server.adapters.cluster.server.cluster_process import load_libraries; load_libraries()'
# What a worker of Dask runs, and its commands.
RUN [ "$REQUIREMENTS" != sources ] || /opt/onnxplain/bin/python -c \
      'import distributed.cli.dask_scheduler, distributed.cli.dask_worker; \
      import onnxplain_server.adapters.cluster.dask_task, onnxplain_server.adapters.cluster.worker_sources'

FROM ${BASE_IMAGE}
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="onnxplain" \
      org.opencontainers.image.description="Explains what an ONNX model has learned" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/onnxplain /opt/onnxplain
# The root may be read-only, since all code is compiled already; /tmp takes bodies of requests
# while they arrive.
ENV PATH=/opt/onnxplain/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
ENV ONNXPLAIN_HOST=0.0.0.0 ONNXPLAIN_ISOLATION=require
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080 8081 8082
# Over gRPC on 8081: settings of this image should leave its ports alone.
HEALTHCHECK --interval=30s --timeout=10s --start-period=300s CMD ["onnxplain", "health"]
ENTRYPOINT ["onnxplain"]
CMD ["serve"]
