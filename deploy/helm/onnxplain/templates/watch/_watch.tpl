{{/* The watch: what its command is told, its files, and values that only fit together. */}}

{{- define "onnxplain.watchArguments" -}}
{{- with .Values.watch -}}
- watch
- {{ .model | quote }}
- {{ .table | quote }}
- --folder=/var/lib/onnxplain/watch
- --keep={{ .keep }}
- {{ printf "--name=%s" (default (include "onnxplain.fullname" $) .name) | quote }}
- --interval={{ .intervalSeconds }}
- --output=table
{{- if .rules }}
- --rules=/etc/onnxplain/rules/rules.toml
{{- end }}
{{- with .pushGateway }}
- {{ printf "--push-gateway=%s" . | quote }}
{{- end }}
- --endpoint={{ include "onnxplain.fullname" $ }}-grpc.{{ $.Release.Namespace }}.svc:{{ $.Values.service.grpc.port }}
- --timeout={{ .activeDeadlineSeconds }}
{{- if $.Values.tls.existingSecret }}
- --tls
- --ca-file=/etc/onnxplain/tls/{{ $.Values.tls.caKey }}
{{- end }}
{{- if .tokenSecret }}
- --token-file=/etc/onnxplain/token/token
{{- end }}
{{- if .clientSecret }}
- --certificate-file=/etc/onnxplain/client/tls.crt
- --key-file=/etc/onnxplain/client/tls.key
{{- end }}
{{- range .args }}
- {{ . | quote }}
{{- end }}
{{- end -}}
{{- end }}

{{/* Volumes by the names of their folders in /etc/onnxplain. */}}
{{- define "onnxplain.watchMounts" -}}
{{- with .Values.tls.existingSecret }}
tls: { secret: { secretName: {{ . }}, defaultMode: 0440, items: [{ key: {{ $.Values.tls.caKey }}, path: {{ $.Values.tls.caKey }} }] } }
{{- end }}
{{- with .Values.watch.tokenSecret }}
token: { secret: { secretName: {{ . }}, defaultMode: 0440 } }
{{- end }}
{{- with .Values.watch.clientSecret }}
client: { secret: { secretName: {{ . }}, defaultMode: 0440 } }
{{- end }}
{{- if .Values.watch.rules }}
rules: { configMap: { name: {{ include "onnxplain.fullname" . }}-watch } }
{{- end }}
{{- end }}

{{- define "onnxplain.watchChecks" -}}
{{- if .Values.watch.enabled }}
{{- range $name := list "model" "table" "existingClaim" }}
{{- if not (get $.Values.watch $name) }}
{{- fail (printf "watch.enabled needs watch.%s" $name) }}
{{- end }}
{{- end }}
{{- range $name := list "model" "table" }}
{{- if and (regexMatch "^[a-z0-9]+:/" (get $.Values.watch $name)) (not (include "onnxplain.hasSources" $)) }}
{{- fail (printf "watch.%s is an address, which the server reads where sources list it: give sources.prefixes" $name) }}
{{- end }}
{{- end }}
{{- if and (or .Values.tokens.existingSecret .Values.settings.oidc_issuer) (not .Values.watch.tokenSecret) }}
{{- fail "watch.enabled needs watch.tokenSecret, since callers need tokens" }}
{{- end }}
{{- if and .Values.tls.clientCa.existingSecret (not .Values.watch.clientSecret) }}
{{- fail "watch.enabled needs watch.clientSecret, since clients need certificates" }}
{{- end }}
{{- if and .Values.watch.pushGateway .Values.networkPolicy.enabled (not .Values.watch.egress) }}
{{- fail "watch.pushGateway needs watch.egress, the rules of the network policy that let its pods reach it" }}
{{- end }}
{{- end }}
{{- end }}
