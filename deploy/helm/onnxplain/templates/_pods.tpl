{{/* What all pods share. */}}

{{/* Takes (list CONTEXT POD_SECURITY_CONTEXT). */}}
{{- define "onnxplain.podDefaults" -}}
{{- $context := index . 0 -}}
{{- with $context.Values -}}
serviceAccountName: {{ include "onnxplain.serviceAccountName" $context }}
automountServiceAccountToken: false
# Otherwise a Service called onnxplain-rest would set ONNXPLAIN_REST_PORT.
enableServiceLinks: false
securityContext:
  {{- toYaml (index $ 1) | nindent 2 }}
{{- with concat .global.imagePullSecrets .imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $name := list "priorityClassName" "schedulerName" "runtimeClassName" "dnsPolicy" }}
{{- with index $context.Values $name }}
{{ $name }}: {{ . }}
{{- end }}
{{- end }}
{{- with .dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Annotations of the service's pods. The checksum replaces the pods when the Secret of Redis changes, since its entries
are variables, and when the list of sources or of remote models does, which is read at the start; other files are
reloaded without.
*/}}
{{- define "onnxplain.podAnnotations" -}}
{{- $annotations := dict -}}
{{- with .Values.metrics -}}
{{- if and .annotations (not (or .serviceMonitor.enabled .podMonitor.enabled)) -}}
{{- $annotations = dict "prometheus.io/scrape" "true" "prometheus.io/port" "8082" "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- end -}}
{{- with .Values.redis.existingSecret -}}
{{- with lookup "v1" "Secret" $.Release.Namespace . -}}
{{- $_ := set $annotations "checksum/redis-secret" (toJson .data | sha256sum) -}}
{{- end -}}
{{- end -}}
{{- if .Values.sources.prefixes -}}
{{- $_ := set $annotations "checksum/sources" (include "onnxplain.sourceList" . | sha256sum) -}}
{{- end -}}
{{- if .Values.remoteModels.prefixes -}}
{{- $_ := set $annotations "checksum/remote-models" (include "onnxplain.remoteModelList" . | sha256sum) -}}
{{- end -}}
{{- with .Values.remoteModels.existingConfigMap -}}
{{- with lookup "v1" "ConfigMap" $.Release.Namespace . -}}
{{- $_ := set $annotations "checksum/remote-models" (toJson .data | sha256sum) -}}
{{- end -}}
{{- end -}}
{{- with .Values.sources.existingConfigMap -}}
{{- with lookup "v1" "ConfigMap" $.Release.Namespace . -}}
{{- $_ := set $annotations "checksum/sources" (toJson .data | sha256sum) -}}
{{- end -}}
{{- end -}}
{{- toYaml (merge (dict) .Values.podAnnotations $annotations .Values.commonAnnotations) -}}
{{- end }}

{{/* Secrets that are mounted as files, by the name of their folder in /etc/onnxplain. */}}
{{- define "onnxplain.secrets" -}}
{{- with .Values.tokens.existingSecret }}
tokens: {{ . }}
{{- end }}
{{- with .Values.tls.existingSecret }}
tls: {{ . }}
{{- end }}
{{- with .Values.tls.clientCa.existingSecret }}
client-ca: {{ . }}
{{- end }}
{{- with .Values.dask.existingSecret }}
dask: {{ . }}
{{- end }}
{{- end }}

{{/* Whether `helm test` can ask: where clients need certificates, it needs one too. */}}
{{- define "onnxplain.hasTest" -}}
{{- if or .Values.tests.clientSecret (not .Values.tls.clientCa.existingSecret) }}yes{{ end -}}
{{- end }}

{{/* Whether the test may explain: where callers need tokens, it needs one too; else it asks for health only. */}}
{{- define "onnxplain.testExplains" -}}
{{- if or .Values.tests.tokenSecret (not (or .Values.tokens.existingSecret .Values.settings.oidc_issuer)) }}yes{{ end -}}
{{- end }}
