{{/* Remote models: the list as TOML, and where it leads. */}}

{{- define "onnxplain.hasRemoteModels" -}}
{{- if or .Values.remoteModels.prefixes .Values.remoteModels.existingConfigMap }}yes{{ end -}}
{{- end }}

{{/* The file of docs/remote-models.md. Texts of JSON are texts of TOML. */}}
{{- define "onnxplain.remoteModelList" -}}
{{- range .Values.remoteModels.prefixes }}
[[remote_model]]
{{- $remote := . }}
{{- range $name := list "prefix" "networks" "calls" "calls_per_second" "rows_per_call" "timeout_seconds" }}
{{- if hasKey $remote $name }}
{{ $name }} = {{ get $remote $name | toRawJson }}
{{- end }}
{{- end }}
{{- with .credentials }}
credentials_file = {{ printf "/etc/onnxplain/secrets/%s/%s" .secret .key | toRawJson }}
{{- end }}
{{- with .ca }}
ca_file = {{ printf "/etc/onnxplain/secrets/%s/%s" .secret .key | toRawJson }}
{{- end }}
{{ end }}
{{- end }}

{{/* Host and port of a prefix: takes the prefix. */}}
{{- define "onnxplain.remoteModelAddress" -}}
{{- $url := urlParse .prefix -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $host := regexReplaceAll ":[0-9]+$" $url.host "" -}}
{{- dict "host" $host "port" (default (ternary "80" "443" (eq $url.scheme "http")) $port) | toJson -}}
{{- end }}

{{/* Egress to the hosts of the listed prefixes. */}}
{{- define "onnxplain.remoteModelEgress" -}}
{{- $rules := list -}}
{{- range .Values.remoteModels.prefixes -}}
{{- $rules = append $rules (include "onnxplain.egressRule" (list . (include "onnxplain.remoteModelAddress" . | fromJson))) -}}
{{- end -}}
{{- range $rules | uniq }}
- {{ fromJson . | toYaml | nindent 2 | trim }}
{{- end }}
{{- with .Values.remoteModels.egress }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "onnxplain.remoteModelChecks" -}}
{{- with .Values.remoteModels }}
{{- if and .prefixes .existingConfigMap }}
{{- fail "remoteModels.prefixes and remoteModels.existingConfigMap would both be the list: give one" }}
{{- end }}
{{- if and .existingConfigMap $.Values.networkPolicy.enabled (not .egress) }}
{{- fail "remoteModels.existingConfigMap needs remoteModels.egress, the rules of the network policy for its hosts, which the chart cannot read there" }}
{{- end }}
{{- if and (or .secrets .egress) (not .existingConfigMap) }}
{{- fail "remoteModels.secrets and remoteModels.egress belong to remoteModels.existingConfigMap; entries of remoteModels.prefixes have credentials, ca and to" }}
{{- end }}
{{- range .prefixes }}
{{- include "onnxplain.serviceChecks" (list $ . (include "onnxplain.remoteModelAddress" . | fromJson).host "remoteModels.prefixes") }}
{{- end }}
{{- end }}
{{- end }}
