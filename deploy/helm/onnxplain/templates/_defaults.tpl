{{/* Written by `make chart-files` from the settings of the service. */}}
{{- define "onnxplain.defaults" -}}
max_seconds: 600
running_count: 2
extra_count: 2
worker_bytes: 1024MiB
warm_bytes: 1024MiB
cache_bytes: 256MiB
upload_bytes: 256MiB
{{- end }}
