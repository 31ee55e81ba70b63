{{/* The environment of the service. */}}

{{/* Text of a setting. Helm holds every number as a float, and would write 67108864 as 6.7108864e+07. */}}
{{- define "onnxplain.settingText" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{/* Longest time for a call, in whole seconds. */}}
{{- define "onnxplain.maxSeconds" -}}
{{- $given := get .Values.settings "max_seconds" -}}
{{- default (get (include "onnxplain.defaults" . | fromYaml) "max_seconds") $given | ceil -}}
{{- end }}

{{/* Time for running work when a pod ends: as long as a call may take, so that none is cut off. */}}
{{- define "onnxplain.graceSeconds" -}}
{{- if hasKey .Values.settings "grace_seconds" -}}
{{- .Values.settings.grace_seconds -}}
{{- else -}}
{{- include "onnxplain.maxSeconds" . -}}
{{- end -}}
{{- end }}

{{/* The pause of preStop, the grace, the 3 s in which the server then ends, and 7 s to spare. */}}
{{- define "onnxplain.terminationSeconds" -}}
{{- printf "%.0f" (addf (float64 .Values.shutdown.delaySeconds) (float64 (include "onnxplain.graceSeconds" .)) 10 | ceil) -}}
{{- end }}

{{- define "onnxplain.env" -}}
{{- $settings := merge (dict "grace_seconds" (include "onnxplain.graceSeconds" .)) .Values.settings (dict "isolation" "require") -}}
{{- range $name, $value := $settings }}
- name: ONNXPLAIN_{{ upper $name }}
  value: {{ include "onnxplain.settingText" $value | quote }}
{{- end }}
{{- if .Values.tokens.existingSecret }}
- name: ONNXPLAIN_TOKENS_FILE
  value: /etc/onnxplain/tokens/{{ .Values.tokens.key }}
{{- end }}
{{- with .Values.tls }}
{{- if .existingSecret }}
- name: ONNXPLAIN_TLS_CERTIFICATE_FILE
  value: /etc/onnxplain/tls/{{ .certificateKey }}
- name: ONNXPLAIN_TLS_KEY_FILE
  value: /etc/onnxplain/tls/{{ .keyKey }}
{{- end }}
{{- if .clientCa.existingSecret }}
- name: ONNXPLAIN_TLS_CLIENT_CA_FILE
  value: /etc/onnxplain/client-ca/{{ .clientCa.key }}
{{- end }}
{{- end }}
{{- if include "onnxplain.hasSources" . }}
- name: ONNXPLAIN_SOURCES_FILE
  value: /etc/onnxplain/sources/{{ ternary .Values.sources.key "sources.toml" (ne .Values.sources.existingConfigMap "") }}
{{- end }}
{{- if include "onnxplain.hasRemoteModels" . }}
- name: ONNXPLAIN_REMOTE_MODELS_FILE
  value: /etc/onnxplain/remote-models/{{ ternary .Values.remoteModels.key "remote-models.toml" (ne .Values.remoteModels.existingConfigMap "") }}
{{- end }}
{{- include "onnxplain.daskEnv" . }}
{{- include "onnxplain.redisEnv" . }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "onnxplain.redisEnv" -}}
{{- with .Values.redis }}
{{- if .enabled }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef: { name: {{ .existingSecret }}, key: {{ .passwordKey }} }
- name: ONNXPLAIN_REDIS_URL
  value: redis://onnxplain:$(REDIS_PASSWORD)@{{ include "onnxplain.fullname" $ }}-redis:6379/0
{{- else if .existingSecret }}
- name: ONNXPLAIN_REDIS_URL
  valueFrom:
    secretKeyRef: { name: {{ .existingSecret }}, key: {{ .urlKey }}, optional: {{ .optional }} }
{{- end }}
{{- if .existingSecret }}
- name: ONNXPLAIN_CACHE_SECRET
  valueFrom:
    secretKeyRef: { name: {{ .existingSecret }}, key: {{ .cacheSecretKey }}, optional: {{ and .optional (not .enabled) }} }
{{- end }}
{{- end }}
{{- end }}
