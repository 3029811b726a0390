{{- /* What runs, from which image, under which labels. Names are fixed: identities in other clusters and the code refer to them. */}}

{{- define "isthmus.runs.webhook" }}{{ if .Values.source.enabled }}true{{ end }}{{ end }}
{{- define "isthmus.runs.scheduler" }}{{ if .Values.source.enabled }}true{{ end }}{{ end }}
{{- define "isthmus.runs.virtualNode" }}{{ if .Values.source.enabled }}true{{ end }}{{ end }}
{{- define "isthmus.runs.delegateController" }}{{ if or .Values.source.enabled .Values.target.enabled }}true{{ end }}{{ end }}
{{- define "isthmus.runs.peering" }}{{ if and (or .Values.source.enabled .Values.target.enabled) .Values.sourceController.enabled }}true{{ end }}{{ end }}

{{- define "isthmus.runs.discovery" }}{{ if and .Values.source.enabled .Values.discovery.enabled }}true{{ end }}{{ end }}

{{- define "isthmus.labels" }}
app.kubernetes.io/part-of: isthmus
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- /* Takes root and image, the component's own: where that sets a tag, the digest for all is ignored. */}}
{{- define "isthmus.image" }}
{{- $own := .image | default dict }}
{{- $image := mergeOverwrite (deepCopy .root.Values.image) $own }}
{{- if and $own.tag (not $own.digest) }}{{ $_ := unset $image "digest" }}{{ end }}
{{- if $image.digest }}{{ printf "%s@%s" $image.repository $image.digest }}{{ else }}{{ printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion) }}{{ end }}
{{- end }}

{{- define "isthmus.pullSecrets" }}
{{- $secrets := .Values.imagePullSecrets }}
{{- if .Values.imagePullSecretName }}{{ $secrets = append $secrets (dict "name" .Values.imagePullSecretName) }}{{ end }}
{{- if $secrets }}
imagePullSecrets: {{- toYaml $secrets | nindent 2 }}
{{- end }}
{{- end }}

{{- define "isthmus.podSecurityContext" }}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "isthmus.securityContext" }}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* How API servers reach a path of the webhook. The webhook writes a path that nobody can guess by itself: behind
the Service into a field that the chart leaves out, and into a URL, which an upgrade therefore keeps as it is. */}}
{{- define "isthmus.clientConfig" }}
{{- if .root.Values.webhook.url }}
{{- $base := trimSuffix "/mutate--v1-pod" (trimSuffix "/" .root.Values.webhook.url) }}
{{- $kept := printf "^%s/[0-9a-f]{48}%s$" (regexQuoteMeta $base) .path }}
{{- $url := printf "%s%s" $base .path }}
{{- range $kind := list "MutatingWebhookConfiguration" "ValidatingWebhookConfiguration" }}
{{- range (lookup "admissionregistration.k8s.io/v1" $kind "" "isthmus").webhooks }}
{{- if regexMatch $kept (default "" .clientConfig.url) }}{{ $url = .clientConfig.url }}{{ end }}
{{- end }}
{{- end }}
url: {{ $url | quote }}
{{- else }}
service: {namespace: {{ .root.Release.Namespace }}, name: isthmus-webhook, port: 443}
{{- end }}
{{- end }}

{{- define "isthmus.injectCertificateAuthority" }}
{{- if eq .Values.webhook.certificate.source "CertManager" }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/isthmus-webhook
{{- end }}
{{- end }}

{{- /* How much every process of ours logs; the root. */}}
{{- define "isthmus.logLevelArguments" }}
{{- if ne .Values.logLevel "info" }}
- --log-level
- {{ .Values.logLevel }}
{{- end }}
{{- end }}

{{- /* Arguments that every process of `isthmus run` takes; root and components. */}}
{{- define "isthmus.runArguments" }}
- run
- --components
- {{ .components | quote }}
- --namespace
- {{ .root.Release.Namespace | quote }}
- --health-port
- "8080"
{{- if not .root.Values.target.enabled }}
- --no-target
{{- end }}
{{- if not .root.Values.source.enabled }}
- --no-source
{{- end }}
{{- if .root.Values.gateway.enabled }}
- --gateway
- http://isthmus-gateway-connect.{{ .root.Release.Namespace }}.svc:8132
{{- end }}
{{- with .root.Values.tenants.allowRanges }}
- --target-allow-ranges
- {{ join "," . | quote }}
{{- end }}
{{- with .root.Values.tenants.denyRanges }}
- --target-deny-ranges
- {{ join "," . | quote }}
{{- end }}
{{- if ne (int .root.Values.tenants.targetsPerNamespace) 20 }}
- --targets-per-namespace
- {{ .root.Values.tenants.targetsPerNamespace | quote }}
{{- end }}
{{- if ne (int .root.Values.tenants.targetCacheMiB) 32 }}
- --target-cache-mib
- {{ .root.Values.tenants.targetCacheMiB | quote }}
{{- end }}
{{- with .root.Values.clusterTargets.execPlugins }}
- --exec-plugins
- {{ join "," . | quote }}
{{- end }}
{{- with .root.Values.clusterTargets.execEnvironment }}
- --exec-environment
- {{ join "," . | quote }}
{{- end }}
{{- with .root.Values.clusterTargets.tokenFolders }}
- --token-folders
- {{ join "," . | quote }}
{{- end }}
{{- with .root.Values.clusterRanges }}
- --cluster-ranges
- {{ join "," . | quote }}
{{- end }}
{{- end }}

{{- define "isthmus.webhookArguments" }}
- --webhook-port
- "9443"
- --webhook-drain-seconds
- {{ .Values.webhook.drainSeconds | quote }}
{{- if ne .Values.webhook.certificate.source "SelfManaged" }}
- --webhook-certificate-secret
- isthmus-cert
{{- end }}
{{- end }}

{{- define "isthmus.kubeletArguments" }}
{{- with .Values.controllerManager.certificateSignerName }}
- --kubelet-signer
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Names of webhook configurations by which an Admiralty is asked about elected pods; empty where the cluster cannot be looked at (helm template). */}}
{{- define "isthmus.admiralty" }}
{{- $names := list }}
{{- range (lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" "").items }}
{{- $configuration := .metadata.name }}
{{- range .webhooks }}
{{- if and (hasSuffix ".multicluster.admiralty.io" .name) (not (hasSuffix ".isthmus.multicluster.admiralty.io" .name)) }}
{{- $isAsked := true }}
{{- range (dig "namespaceSelector" "matchExpressions" list .) }}{{ if and (eq .key "multicluster-scheduler") (eq .operator "DoesNotExist") }}{{ $isAsked = false }}{{ end }}{{ end }}
{{- if $isAsked }}{{ $names = append $names $configuration }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- join ", " $names }}
{{- end }}

{{- define "isthmus.schedulerArguments" }}
{{- if .Values.scheduler.scoreWeights }}
{{- $weights := list }}
{{- range $name, $weight := .Values.scheduler.scoreWeights }}{{ $weights = append $weights (printf "%s=%v" $name $weight) }}{{ end }}
- --score-weights
- {{ join "," $weights }}
{{- end }}
{{- with .Values.scheduler.region }}
- --region
- {{ . | quote }}
{{- end }}
{{- with .Values.scheduler.zone }}
- --zone
- {{ . | quote }}
{{- end }}
{{- with .Values.clusterProfiles.namespaces }}
- --cluster-profiles
- {{ join "," . | quote }}
{{- end }}
{{- end }}

{{- /* A Deployment with its PodDisruptionBudget: root, name, account, arguments (YAML), ports (list), readiness (YAML), settings, graceSeconds, hasNoToken, volumes and mounts (lists). */}}
{{- define "isthmus.deployment" }}
{{- $settings := mergeOverwrite (deepCopy .root.Values.defaults) .settings }}
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: {{ .root.Release.Namespace }}
  name: {{ .name }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    {{- include "isthmus.labels" .root | nindent 4 }}
spec:
  replicas: {{ $settings.replicas }}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .name }}}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ .name }}
        app.kubernetes.io/part-of: isthmus
        {{- with $settings.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with $settings.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ .account }}
      {{- if .hasNoToken }}
      automountServiceAccountToken: false
      {{- end }}
      {{- include "isthmus.pullSecrets" .root | nindent 6 }}
      {{- with $settings.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      terminationGracePeriodSeconds: {{ .graceSeconds | default 30 }}
      securityContext: {{- toYaml (mergeOverwrite (include "isthmus.podSecurityContext" .root | fromYaml) $settings.podSecurityContext) | nindent 8 }}
      {{- with $settings.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $settings.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $settings.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- if $settings.topologySpreadConstraints }}
        {{- toYaml $settings.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        {{- $name := .name }}
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app.kubernetes.io/name: {{ $name }}}}
        {{- end }}
        {{- end }}
      containers:
        - name: isthmus
          image: {{ include "isthmus.image" (dict "root" .root "image" $settings.image) | trim }}
          imagePullPolicy: {{ dig "image" "pullPolicy" .root.Values.image.pullPolicy $settings }}
          args:
            {{- .arguments | trim | nindent 12 }}
            {{- with include "isthmus.logLevelArguments" .root | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with $settings.extraArgs }}{{ toYaml . | nindent 12 }}{{ end }}
          env:
            - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
            {{- if .root.Values.clusterTargets.execPlugins }}
            - {name: HOME, value: /tmp}
            {{- end }}
            {{- with $settings.extraEnv }}{{ toYaml . | nindent 12 }}{{ end }}
          ports: {{- toYaml .ports | nindent 12 }}
          startupProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 60}
          livenessProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 6}
          readinessProbe: {httpGet: {{ .readiness | default "{path: /readyz, port: health}" }}, periodSeconds: 2, timeoutSeconds: 3}
          resources: {{- toYaml $settings.resources | nindent 12 }}
          securityContext: {{- toYaml (mergeOverwrite (include "isthmus.securityContext" .root | fromYaml) $settings.securityContext) | nindent 12 }}
          {{- /* Plugins keep caches in their home, and the rest of the file system cannot be written. */}}
          {{- $home := list }}
          {{- if .root.Values.clusterTargets.execPlugins }}{{ $home = list (dict "name" "plugins-home") }}{{ end }}
          {{- $mounts := concat (.mounts | default list) $settings.extraVolumeMounts }}
          {{- range $home }}{{ $mounts = append $mounts (dict "name" .name "mountPath" "/tmp") }}{{ end }}
          {{- with $mounts }}
          volumeMounts: {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- $volumes := concat (.volumes | default list) $settings.extraVolumes }}
      {{- range $home }}{{ $volumes = append $volumes (dict "name" .name "emptyDir" (dict "sizeLimit" "64Mi")) }}{{ end }}
      {{- with $volumes }}
      volumes: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- /* A budget that allows no eviction would hold up every drain: none is made. */}}
{{- $minAvailable := .root.Values.podDisruptionBudget.minAvailable }}
{{- $single := le (int $settings.replicas) 1 }}
{{- $isPercentage := hasSuffix "%" (toString $minAvailable) }}
{{- $minPods := ternary (ceil (divf (mulf (trimSuffix "%" (toString $minAvailable)) $settings.replicas) 100)) $minAvailable $isPercentage }}
{{- $all := ge (int $minPods) (int $settings.replicas) }}
{{- if and .root.Values.podDisruptionBudget.enabled (not $single) (not $all) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  namespace: {{ .root.Release.Namespace }}
  name: {{ .name }}
  labels: {{- include "isthmus.labels" .root | nindent 4 }}
spec:
  minAvailable: {{ .root.Values.podDisruptionBudget.minAvailable }}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .name }}}
{{- end }}
{{- end }}
