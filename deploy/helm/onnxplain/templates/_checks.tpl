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
{{- if and .metrics.serviceMonitor.enabled .metrics.podMonitor.enabled }}
{{- fail "metrics.serviceMonitor and metrics.podMonitor would read the metrics twice: enable one" }}
{{- end }}
{{- range $name := list "affinity" "automountServiceAccountToken" "containers" "dnsConfig" "dnsPolicy" "enableServiceLinks" "hostAliases" "imagePullSecrets" "initContainers" "nodeSelector" "priorityClassName" "runtimeClassName" "schedulerName" "securityContext" "serviceAccountName" "terminationGracePeriodSeconds" "tolerations" "topologySpreadConstraints" "volumes" }}
{{- if hasKey $.Values.extraPodSpec $name }}
{{- fail (printf "extraPodSpec.%s is set by the chart, from values of its own: see its README" $name) }}
{{- end }}
{{- end }}
{{- with .autoscaling }}
{{- if and .enabled .keda.enabled }}
{{- fail "autoscaling.enabled and autoscaling.keda.enabled would both set the number of pods: KEDA makes an autoscaler of its own" }}
{{- end }}
{{- if and .keda.enabled (not .keda.triggers) }}
{{- fail "autoscaling.keda.enabled needs autoscaling.keda.triggers" }}
{{- end }}
{{- if and (or .enabled .keda.enabled) (lt (int .maxReplicas) (int .minReplicas)) }}
{{- fail (printf "autoscaling.maxReplicas: %v is less than autoscaling.minReplicas, %v" .maxReplicas .minReplicas) }}
{{- end }}
{{- if and .enabled (not (or .targetCPUUtilizationPercentage .targetWaitingRequests)) }}
{{- fail "autoscaling.enabled needs targetCPUUtilizationPercentage, targetWaitingRequests, or both" }}
{{- end }}
{{- if and .enabled .targetCPUUtilizationPercentage (not (($.Values.resources.requests | default dict).cpu)) }}
{{- fail "autoscaling.targetCPUUtilizationPercentage needs resources.requests.cpu, of which it is a share" }}
{{- end }}
{{- end }}
{{- include "onnxplain.immutableChecks" $ }}
{{- include "onnxplain.sourceChecks" $ }}
{{- include "onnxplain.remoteModelChecks" $ }}
{{- include "onnxplain.daskChecks" $ }}
{{- include "onnxplain.watchChecks" $ }}
{{- range $name, $ingress := dict "ingress" .ingress "ingress.grpc" .ingress.grpc }}
{{- if and $ingress.enabled (not $ingress.hosts) }}
{{- fail (printf "%s.enabled needs %s.hosts" $name $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Changes that Kubernetes refuses, or ignores without a word, in objects that exist. */}}
{{- define "onnxplain.immutableChecks" -}}
{{- $name := printf "%s-grpc" (include "onnxplain.fullname" .) -}}
{{- $service := lookup "v1" "Service" .Release.Namespace $name -}}
{{- if and $service (ne .Values.service.grpc.headless (eq (dig "spec" "clusterIP" "" $service) "None")) -}}
{{- fail (printf "service.grpc.headless cannot be changed while Service %s exists, since its address is immutable: kubectl delete service %s --namespace %s, then upgrade" $name $name .Release.Namespace) -}}
{{- end -}}
{{- $name = printf "%s-redis" (include "onnxplain.fullname" .) -}}
{{- $redis := lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
{{- if and .Values.redis.enabled $redis -}}
{{- $claim := first (dig "spec" "volumeClaimTemplates" (list) $redis) | default dict -}}
{{- $wanted := ternary (list .Values.redis.persistence.size .Values.redis.persistence.storageClassName) (list "" "") .Values.redis.persistence.enabled -}}
{{- $present := list (dig "spec" "resources" "requests" "storage" "" $claim) (dig "spec" "storageClassName" "" $claim) -}}
{{- if ne ($wanted | toJson) ($present | toJson) -}}
{{- fail (printf "redis.persistence cannot be changed while StatefulSet %s exists, since its volumes are immutable: kubectl delete statefulset %s --namespace %s, then upgrade; the cache is lost" $name $name .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end }}
