# The service as an image: dependencies by their locked hashes, then the two packages.
# `make rehearsal` runs these steps in a folder instead, without Docker.
ARG BASE_IMAGE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
RUN python -m venv /opt/onnxplain
ENV PATH=/opt/onnxplain/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/build.txt requirements/server.txt /src/requirements/
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes --requirement /src/requirements/build.txt
RUN pip install --require-hashes --requirement /src/requirements/server.txt
COPY LICENSE README.md pyproject.toml /src/
COPY service /src/service
COPY clients/python /src/clients/python
RUN cd /src/clients/python && /opt/build/bin/hatchling build --target wheel --directory /wheels
RUN cd /src && /opt/build/bin/hatchling build --target wheel --directory /wheels
RUN pip install --no-deps --no-index --find-links /wheels onnxplain-server onnxplain
RUN pip check && pip uninstall --yes pip setuptools

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="onnxplain" \
      org.opencontainers.image.description="Explains what an ONNX model has learned" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/onnxplain /opt/onnxplain
# The root may be read-only, since bytecode is compiled already; /tmp takes bodies of requests
# while they arrive.
ENV PATH=/opt/onnxplain/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
ENV ONNXPLAIN_HOST=0.0.0.0
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080 8081 8082
# Over gRPC on 8081: settings of this image should leave its ports alone.
HEALTHCHECK --interval=30s --timeout=10s --start-period=300s CMD ["onnxplain", "health"]
ENTRYPOINT ["onnxplain"]
CMD ["serve"]
