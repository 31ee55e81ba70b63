{{/* Names and labels. */}}

{{- define "onnxplain.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Short enough that every suffix of ours fits into the 63 characters of a name. */}}
{{- define "onnxplain.fullname" -}}
{{- $name := include "onnxplain.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "onnxplain.serviceAccountName" -}}
{{- $own := ternary (include "onnxplain.fullname" .) "default" .Values.serviceAccount.create -}}
{{ default $own .Values.serviceAccount.name }}
{{- end }}

{{/* What finds the pods of a part: takes (list CONTEXT PART). */}}
{{- define "onnxplain.selector" -}}
{{- $context := index . 0 -}}
app.kubernetes.io/name: {{ include "onnxplain.name" $context }}
app.kubernetes.io/instance: {{ $context.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of an object of a part: takes (list CONTEXT PART). */}}
{{- define "onnxplain.labels" -}}
{{- $context := index . 0 -}}
{{ include "onnxplain.selector" . }}
app.kubernetes.io/version: {{ $context.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: onnxplain
app.kubernetes.io/managed-by: {{ $context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $context.Chart.Name $context.Chart.Version | replace "+" "_" }}
{{- with $context.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Name, labels and annotations of an object of a part: takes (list CONTEXT PART SUFFIX ANNOTATIONS), and
LABELS where it has more. */}}
{{- define "onnxplain.metadata" -}}
{{- $context := index . 0 -}}
name: {{ include "onnxplain.fullname" $context }}{{ index . 2 }}
labels:
  {{- include "onnxplain.labels" (list $context (index . 1)) | nindent 2 }}
  {{- range $labels := slice . 4 }}
  {{- range $name, $value := $labels }}
  {{ $name }}: {{ $value | quote }}
  {{- end }}
  {{- end }}
{{- with merge (dict) (index . 3) $context.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Labels of pods, without versions: a pod is not replaced because the chart is a newer one. Takes
(list CONTEXT PART). */}}
{{- define "onnxplain.podLabels" -}}
{{ include "onnxplain.selector" . }}
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The tag of the service's image: the second one, with what reads URIs, where it is needed. */}}
{{- define "onnxplain.imageTag" -}}
{{ .Chart.AppVersion }}{{ if or (include "onnxplain.hasSources" .) .Values.settings.dask_scheduler }}-sources{{ end }}
{{- end }}

{{/* The reference of an image: takes (list CONTEXT IMAGE DEFAULT_TAG). */}}
{{- define "onnxplain.image" -}}
{{- $image := index . 1 -}}
{{- with default $image.registry (index . 0).Values.global.imageRegistry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default (index . 2) $image.tag }}{{ end }}
{{- end }}
