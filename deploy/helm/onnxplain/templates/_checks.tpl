{{/* What a schema cannot say: values that only fit together, each with one line. */}}

{{- define "onnxplain.checks" -}}
{{- with .Values }}
{{- if and .redis.enabled (not .redis.existingSecret) }}
{{- fail "redis.enabled needs redis.existingSecret: kubectl create secret generic NAME --from-literal=password=$(openssl rand -hex 32) --from-literal=cache-secret=$(openssl rand -hex 32)" }}
{{- end }}
{{- if and .tls.clientCa.existingSecret (not .tls.existingSecret) }}
{{- fail "tls.clientCa.existingSecret needs tls.existingSecret: only connections with TLS have certificates" }}
{{- end }}
{{- if and (or .gateway.httpRoute.enabled .gateway.grpcRoute.enabled) (not .gateway.parentRefs) }}
{{- fail "gateway.httpRoute and gateway.grpcRoute need gateway.parentRefs: the gateways to attach to" }}
{{- end }}
{{- with .autoscaling }}
{{- if and .enabled (lt (int .maxReplicas) (int .minReplicas)) }}
{{- fail (printf "autoscaling.maxReplicas: %v is less than autoscaling.minReplicas, %v" .maxReplicas .minReplicas) }}
{{- end }}
{{- if and .enabled (not (or .targetCPUUtilizationPercentage .targetWaitingRequests)) }}
{{- fail "autoscaling.enabled needs targetCPUUtilizationPercentage, targetWaitingRequests, or both" }}
{{- end }}
{{- if and .enabled .targetCPUUtilizationPercentage (not (($.Values.resources.requests | default dict).cpu)) }}
{{- fail "autoscaling.targetCPUUtilizationPercentage needs resources.requests.cpu, of which it is a share" }}
{{- end }}
{{- end }}
{{- range $name, $ingress := dict "ingress" .ingress "ingress.grpc" .ingress.grpc }}
{{- if and $ingress.enabled (not $ingress.hosts) }}
{{- fail (printf "%s.enabled needs %s.hosts" $name $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
