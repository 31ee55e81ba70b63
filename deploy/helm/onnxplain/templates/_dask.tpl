{{/* The scheduler of a Dask cluster, `settings.dask_scheduler`: where it is, and what it needs. */}}

{{/* Host and port of the scheduler. */}}
{{- define "onnxplain.daskAddress" -}}
{{- $text := trimPrefix "tls://" .Values.settings.dask_scheduler | trimPrefix "tcp://" -}}
{{- $port := regexFind "[0-9]+$" $text -}}
{{- dict "host" (trimSuffix (printf ":%s" $port) $text | trimPrefix "[" | trimSuffix "]") "port" $port | toJson -}}
{{- end }}

{{/* Whether the scheduler's host is an address, which a network policy can name. */}}
{{- define "onnxplain.daskHasIp" -}}
{{- $host := (include "onnxplain.daskAddress" . | fromJson).host -}}
{{- if or (regexMatch "^[0-9.]+$" $host) (contains ":" $host) }}yes{{ end -}}
{{- end }}

{{/* Egress to the scheduler. Its workers are reached through it. */}}
{{- define "onnxplain.daskEgress" -}}
{{- if .Values.settings.dask_scheduler -}}
{{- $address := include "onnxplain.daskAddress" . | fromJson -}}
{{- $bits := ternary 128 32 (contains ":" $address.host) -}}
{{- $own := list (dict "ipBlock" (dict "cidr" (printf "%s/%d" $address.host $bits))) -}}
{{- $port := default $address.port .Values.dask.port | int -}}
- {{ dict "ports" (list (dict "port" $port "protocol" "TCP")) "to" (default $own .Values.dask.to) | toYaml | nindent 2 | trim }}
{{- end -}}
{{- end }}

{{/* The label by which network policies of a scheduler know its clients. */}}
{{- define "onnxplain.daskLabels" -}}
{{- if .Values.settings.dask_scheduler }}
onnxplain-dask-client: "true"
{{- end }}
{{- end }}

{{- define "onnxplain.daskEnv" -}}
{{- with .Values.dask }}
{{- if .existingSecret }}
- name: ONNXPLAIN_DASK_CA_FILE
  value: /etc/onnxplain/dask/{{ .caKey }}
- name: ONNXPLAIN_DASK_CERTIFICATE_FILE
  value: /etc/onnxplain/dask/{{ .certificateKey }}
- name: ONNXPLAIN_DASK_KEY_FILE
  value: /etc/onnxplain/dask/{{ .keyKey }}
{{- end }}
{{- end }}
{{- end }}

{{- define "onnxplain.daskChecks" -}}
{{- $scheduler := default "" .Values.settings.dask_scheduler -}}
{{- with .Values.dask }}
{{- if and (or .existingSecret .to .port) (not $scheduler) }}
{{- fail "dask.existingSecret, dask.to and dask.port belong to settings.dask_scheduler" }}
{{- end }}
{{- if $scheduler }}
{{- if not (or (include "onnxplain.hasSources" $) $.Values.settings.dask_prediction_seconds) }}
{{- fail "settings.dask_scheduler needs sources.prefixes or sources.existingConfigMap, for tables of URIs, or settings.dask_prediction_seconds, for predictions of operations" }}
{{- end }}
{{- if eq (default "" $.Values.settings.isolation) "none" }}
{{- fail "settings.dask_scheduler needs another settings.isolation than none: a cluster computes for workers" }}
{{- end }}
{{- if ne (hasPrefix "tls://" $scheduler) (ne .existingSecret "") }}
{{- fail "settings.dask_scheduler with tls:// needs dask.existingSecret, a Secret with authorities, certificate and key, which tcp:// does not have" }}
{{- end }}
{{- if and $.Values.networkPolicy.enabled (not .to) (not (include "onnxplain.daskHasIp" $)) }}
{{- fail (printf "settings.dask_scheduler: network policies know no names, such as %s: give dask.to, which selects the scheduler's pods, and dask.port, if theirs is another one" (include "onnxplain.daskAddress" $ | fromJson).host) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
