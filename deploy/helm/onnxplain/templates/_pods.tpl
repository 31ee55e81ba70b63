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
{{- with .imagePullSecrets }}
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
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
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
{{- end }}

{{/* Whether `helm test` can ask: where clients need certificates, it needs one too. */}}
{{- define "onnxplain.hasTest" -}}
{{- if or .Values.tests.clientSecret (not .Values.tls.clientCa.existingSecret) }}yes{{ end -}}
{{- end }}
