{{/* Files of the Redis of the chart. */}}

{{- define "onnxplain.redisFiles" -}}
redis.conf: |
  # A cache: bounded, and the least recently used goes first.
  maxmemory {{ include "onnxplain.bytes" (list .Values.redis.maxMemory "redis.maxMemory") }}
  maxmemory-policy allkeys-lru
  dir /data
  save ""
  appendonly {{ ternary "yes" "no" .Values.redis.persistence.enabled }}
  aclfile /run/redis/users.acl
start.sh: |
  # The password is known to the container only, and stands in no argument. Nobody else may
  # call; the service's user may use its own keys, and nothing that concerns the server.
  set -eu
  umask 077
  hash=$(printf %s "$REDIS_PASSWORD" | sha256sum | cut -c 1-64)
  rules='~onnxplain:* +@read +@write +@connection +@scripting +time -@admin -@dangerous'
  printf 'user default off\nuser onnxplain on #%s %s\n' "$hash" "$rules" > /run/redis/users.acl
  unset REDIS_PASSWORD
  exec redis-server /etc/redis/redis.conf
{{- end }}
