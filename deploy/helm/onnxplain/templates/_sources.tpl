{{/* Models and tables by their URIs: the list as TOML, its Secrets, and where it leads. */}}

{{- define "onnxplain.hasSources" -}}
{{- if or .Values.sources.prefixes .Values.sources.existingConfigMap }}yes{{ end -}}
{{- end }}

{{/* The file of docs/sources.md. Texts of JSON are texts of TOML. */}}
{{- define "onnxplain.sourceList" -}}
{{- range .Values.sources.prefixes }}
[[source]]
{{- $source := . }}
{{- range $name := list "prefix" "endpoint" "region" "identity" "networks" "write" }}
{{- if hasKey $source $name }}
{{ $name }} = {{ get $source $name | toRawJson }}
{{- end }}
{{- end }}
{{- with .max_bytes }}
max_bytes = {{ include "onnxplain.settingText" . }}
{{- end }}
{{- with .credentials }}
credentials_file = {{ printf "/etc/onnxplain/secrets/%s/%s" .secret .key | toRawJson }}
{{- end }}
{{- with .ca }}
ca_file = {{ printf "/etc/onnxplain/secrets/%s/%s" .secret .key | toRawJson }}
{{- end }}
{{ end }}
{{- end }}

{{/* Names of the Secrets of the lists of sources and remote models, each once. */}}
{{- define "onnxplain.listSecrets" -}}
{{- $names := list -}}
{{- range concat .Values.sources.prefixes .Values.remoteModels.prefixes -}}
{{- range list .credentials .ca -}}
{{- with . }}{{ $names = append $names .secret }}{{ end -}}
{{- end -}}
{{- end -}}
{{- concat $names .Values.sources.secrets .Values.remoteModels.secrets | uniq | toJson -}}
{{- end }}

{{/* Host and port of a source's endpoint: takes the source. */}}
{{- define "onnxplain.sourceAddress" -}}
{{- $url := urlParse (default (ternary .prefix "https://store" (hasPrefix "https://" .prefix)) .endpoint) -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $host := regexReplaceAll ":[0-9]+$" $url.host "" -}}
{{- dict "host" $host "port" (default (ternary "80" "443" (eq $url.scheme "http")) $port) | toJson -}}
{{- end }}

{{/* Egress to the listed endpoints, and to the services of the platform's identity. */}}
{{- define "onnxplain.sourceEgress" -}}
{{- $rules := list -}}
{{- range .Values.sources.prefixes -}}
{{- $rules = append $rules (include "onnxplain.egressRule" (list . (include "onnxplain.sourceAddress" . | fromJson))) -}}
{{- if eq (default "none" .identity) "platform" -}}
{{- $rules = concat $rules (include "onnxplain.identityEgress" $ | fromJsonArray) -}}
{{- end -}}
{{- end -}}
{{- range $rules | uniq }}
- {{ fromJson . | toYaml | nindent 2 | trim }}
{{- end }}
{{- with .Values.sources.egress }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Egress rule of a prefix, as JSON: takes (list PREFIX ADDRESS), where ADDRESS has host and port. */}}
{{- define "onnxplain.egressRule" -}}
{{- $prefix := index . 0 -}}
{{- $address := index . 1 -}}
{{- $to := include "onnxplain.publicNetworks" . | fromYamlArray -}}
{{- if $prefix.to -}}
{{- $to = $prefix.to -}}
{{- else if regexMatch "^[0-9.]+$" $address.host -}}
{{- $to = list (dict "ipBlock" (dict "cidr" (printf "%s/32" $address.host))) -}}
{{- else if $prefix.networks -}}
{{- $to = list -}}
{{- range $prefix.networks }}{{ $to = append $to (dict "ipBlock" (dict "cidr" .)) }}{{ end -}}
{{- end -}}
{{- $ports := list (dict "port" (default $address.port $prefix.port | int) "protocol" "TCP") -}}
{{- dict "ports" $ports "to" $to | toJson -}}
{{- end }}

{{/*
Metadata services of AWS (EC2, ECS, EKS) and Google, of which GKE's listens elsewhere for policies; and the services of
tokens, which are public.
*/}}
{{- define "onnxplain.identityEgress" -}}
{{- $hosts := list -}}
{{- range list "169.254.169.254/32" "169.254.170.2/32" "169.254.170.23/32" }}{{ $hosts = append $hosts (dict "ipBlock" (dict "cidr" .)) }}{{ end -}}
{{- $gke := list (dict "ipBlock" (dict "cidr" "169.254.169.252/32")) -}}
{{- $public := include "onnxplain.publicNetworks" . | fromYamlArray -}}
{{- list
  (dict "ports" (list (dict "port" 80 "protocol" "TCP")) "to" $hosts | toJson)
  (dict "ports" (list (dict "port" 988 "protocol" "TCP")) "to" $gke | toJson)
  (dict "ports" (list (dict "port" 443 "protocol" "TCP")) "to" $public | toJson) | toJson -}}
{{- end }}

{{/* A policy knows no names: a public endpoint may be anywhere but in private networks. */}}
{{- define "onnxplain.publicNetworks" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
- ipBlock:
    cidr: ::/0
    except: ["fc00::/7", "fe80::/10"]
{{- end }}

{{- define "onnxplain.sourceChecks" -}}
{{- with .Values.sources }}
{{- if and .prefixes .existingConfigMap }}
{{- fail "sources.prefixes and sources.existingConfigMap would both be the list: give one" }}
{{- end }}
{{- if and .existingConfigMap $.Values.networkPolicy.enabled (not .egress) }}
{{- fail "sources.existingConfigMap needs sources.egress, the rules of the network policy for its endpoints, which the chart cannot read there" }}
{{- end }}
{{- if and (or .secrets .egress) (not .existingConfigMap) }}
{{- fail "sources.secrets and sources.egress belong to sources.existingConfigMap; entries of sources.prefixes have credentials, ca and to" }}
{{- end }}
{{- range .prefixes }}
{{- $address := include "onnxplain.sourceAddress" . | fromJson }}
{{- if and (hasPrefix "models:/" .prefix) (not .endpoint) }}
{{- fail (printf "sources.prefixes: %s needs the endpoint of the MLflow server" .prefix) }}
{{- end }}
{{- if and (hasPrefix "https://" .prefix) .endpoint }}
{{- fail (printf "sources.prefixes: %s is its own endpoint; leave endpoint out" .prefix) }}
{{- end }}
{{- if or .endpoint (hasPrefix "https://" .prefix) }}
{{- include "onnxplain.serviceChecks" (list $ . $address.host "sources.prefixes") }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Checks of a prefix whose host may be a Service of the cluster: takes (list CONTEXT PREFIX HOST NAME), where NAME is that
of the values.
*/}}
{{- define "onnxplain.serviceChecks" -}}
{{- $root := index . 0 -}}
{{- $prefix := index . 1 -}}
{{- $host := index . 2 -}}
{{- $name := index . 3 -}}
{{- if regexMatch "(^[^.]+|\\.svc|\\.cluster\\.local)$" $host }}
{{- if not $prefix.networks }}
{{- fail (printf "%s: %s is a Service of the cluster, whose address is private: give networks, the cluster's range of Services" $name $host) }}
{{- end }}
{{- if and $root.Values.networkPolicy.enabled (not $prefix.to) }}
{{- fail (printf "%s: %s is a Service of the cluster, and network policies see the pods behind it: give to, which selects them, and port, if theirs is another one" $name $host) }}
{{- end }}
{{- end }}
{{- end }}
