{{/* What pods may reach. */}}

{{- define "onnxplain.dnsEgress" -}}
- ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
  {{- with .Values.networkPolicy.dns.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Ports of the addresses at which the OpenID provider is asked. */}}
{{- define "onnxplain.oidcPorts" -}}
{{- $ports := list -}}
{{- range $name := list "oidc_issuer" "oidc_jwks_url" -}}
{{- with get $.Values.settings $name -}}
{{- $url := urlParse . -}}
{{- $given := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports (default (ternary "80" "443" (eq $url.scheme "http")) $given) -}}
{{- end -}}
{{- end -}}
{{- range $ports | uniq }}
- { port: {{ . }}, protocol: TCP }
{{- end }}
{{- end }}

{{/* Ports of the collectors that OpenTelemetry's variables in `extraEnv` name. */}}
{{- define "onnxplain.collectorPorts" -}}
{{- $ports := list -}}
{{- range .Values.extraEnv -}}
{{- if and .value (has .name (list "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) -}}
{{- $url := urlParse .value -}}
{{- $given := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports (default (ternary "443" "80" (eq $url.scheme "https")) $given) -}}
{{- end -}}
{{- end -}}
{{- range $ports | uniq }}
- { port: {{ . }}, protocol: TCP }
{{- end }}
{{- end }}
