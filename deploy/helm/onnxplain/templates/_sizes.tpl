{{/* Sizes in bytes, and the memory that the settings need. */}}

{{/*
The bytes of a size as settings and Kubernetes write them: 1073741824, 1GiB, 1Gi, 1.5GB.
Takes (list SIZE NAME_OF_THE_VALUE).
*/}}
{{- define "onnxplain.bytes" -}}
{{- $size := index . 0 -}}
{{- $text := ternary ($size | toString) (printf "%.0f" (float64 $size)) (kindIs "string" $size) -}}
{{- $number := regexFind "^[0-9]*\\.?[0-9]+" $text -}}
{{- $unit := trimPrefix $number $text | trim | lower | trimSuffix "b" -}}
{{- $factors := dict "" 1 "k" 1e3 "m" 1e6 "g" 1e9 "t" 1e12 "ki" 1024 "mi" 1048576 "gi" 1073741824 "ti" 1099511627776 -}}
{{- if or (not $number) (not (hasKey $factors $unit)) -}}
{{- fail (printf "%s: %q is no size like 6Gi or 512MiB" (index . 1) $text) -}}
{{- end -}}
{{- printf "%.0f" (mulf $number (get $factors $unit) | ceil) -}}
{{- end }}

{{/* A setting as it holds, given or default: takes (list CONTEXT NAME). */}}
{{- define "onnxplain.setting" -}}
{{- $name := index . 1 -}}
{{- $given := (index . 0).Values.settings -}}
{{- $value := ternary (get $given $name) (get (include "onnxplain.defaults" . | fromYaml) $name) (hasKey $given $name) -}}
{{- if kindIs "string" $value }}{{ $value }}{{ else }}{{ printf "%.0f" (float64 $value) }}{{ end -}}
{{- end }}

{{- define "onnxplain.settingBytes" -}}
{{- include "onnxplain.bytes" (list (include "onnxplain.setting" .) (printf "settings.%s" (index . 1))) -}}
{{- end }}

{{/* In MiB, upwards: docs/operations.md, "Workers". */}}
{{- define "onnxplain.neededMebibytes" -}}
{{- $workers := add (include "onnxplain.setting" (list . "running_count") | int64) (include "onnxplain.setting" (list . "extra_count") | int64) -}}
{{- $bytes := mul $workers (include "onnxplain.settingBytes" (list . "worker_bytes") | int64) -}}
{{- range $name := list "warm_bytes" "cache_bytes" "upload_bytes" -}}
{{- $bytes = add $bytes (include "onnxplain.settingBytes" (list $ $name) | int64) -}}
{{- end -}}
{{- printf "%.0f" (divf (add $bytes 536870912) 1048576 | ceil) -}}
{{- end }}

{{/*
Number of pods. With an autoscaler, it is the present one: without the field, Kubernetes would set 1. Empty where
nothing is installed yet or there is no cluster to ask.
*/}}
{{- define "onnxplain.replicas" -}}
{{- if or .Values.autoscaling.enabled .Values.autoscaling.keda.enabled -}}
{{- $present := lookup "apps/v1" "Deployment" .Release.Namespace (include "onnxplain.fullname" .) -}}
{{- dig "spec" "replicas" "" $present -}}
{{- else -}}
{{- .Values.replicaCount -}}
{{- end -}}
{{- end }}

{{/* Resources with the memory they need: takes (list RESOURCES MEBIBYTES NAME WHY). */}}
{{- define "onnxplain.resources" -}}
{{- $resources := deepCopy (index . 0) -}}
{{- $needed := printf "%sMi" (index . 1) -}}
{{- $limits := default dict $resources.limits -}}
{{- $given := default $needed $limits.memory -}}
{{- $bytes := include "onnxplain.bytes" (list $given (printf "%s.limits.memory" (index . 2))) | int64 -}}
{{- if lt $bytes (mul (index . 1 | int64) 1048576) -}}
{{- fail (printf "%s.limits.memory: %v is less than the %s that %s: raise it, lower them, or leave it out" (index . 2) $given $needed (index . 3)) -}}
{{- end -}}
{{- $memory := dict "limits" (dict "memory" $given) "requests" (dict "memory" $given) -}}
{{- toYaml (mergeOverwrite $memory $resources) -}}
{{- end }}

{{- define "onnxplain.serverResources" -}}
{{- include "onnxplain.resources" (list .Values.resources (include "onnxplain.neededMebibytes" .) "resources" "settings need ((running_count + extra_count) × worker_bytes + warm_bytes + cache_bytes + upload_bytes + 512Mi)") -}}
{{- end }}

{{/* One and a half of its data: buffers, and pages that are not full. */}}
{{- define "onnxplain.redisResources" -}}
{{- $data := include "onnxplain.bytes" (list .Values.redis.maxMemory "redis.maxMemory") -}}
{{- include "onnxplain.resources" (list .Values.redis.resources (printf "%.0f" (divf (mulf $data 1.5) 1048576 | ceil)) "redis.resources" "redis.maxMemory needs (one and a half of it)") -}}
{{- end }}
