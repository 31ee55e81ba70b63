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
