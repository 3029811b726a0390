// The lifecycle of nodes and pods in a sandbox as kwok Stages: what a kubelet would report, in as few writes as
// possible. Pure. A pod becomes Running in one status patch; a Job's pods succeed after a second, also those that run
// for a Job of another cluster; a deleted pod is removed at once.

/** A pod with this annotation succeeds after the duration it names (Go syntax, `1.5s`), whatever owns it. */
export const runForAnnotation = 'sandbox.isthmus.dev/run-for';

/** What the Job controller's label `job-name` is called on a delegate pod, which a Job does not own. */
export const delegateJobLabel = 'multicluster.admiralty.io/job-name';

/** How long a Job's pod runs, in milliseconds. */
const jobRunsMs = 1_000;

/** One requirement of a Stage on an object: a jq query and what its results must be. */
interface Requirement {
  readonly jq: {
    readonly key: string; readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[]
  };
}

/** A kwok Stage (`kwok.x-k8s.io/v1alpha1`), reduced to what is used here. */
export interface Stage {
  readonly apiVersion: 'kwok.x-k8s.io/v1alpha1';
  readonly kind: 'Stage';
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly resourceRef: { readonly apiGroup: 'v1'; readonly kind: 'Node' | 'Pod' };
    readonly selector: { readonly matchExpressions: readonly Requirement[] };
    readonly delay?: {
      readonly durationMilliseconds?: number;
      readonly jitterDurationMilliseconds?: number;
      readonly durationFrom?: { readonly jq: { readonly expression: string } };
    };
    readonly next: { readonly statusTemplate?: string; readonly delete?: boolean };
  };
}

const where = (key: string, operator: 'In' | 'NotIn', ...values: readonly string[]): Requirement =>
  ({ jq: { key, operator, values } });
const present = (key: string): Requirement => ({ jq: { key, operator: 'Exists' } });
const absent = (key: string): Requirement => ({ jq: { key, operator: 'DoesNotExist' } });

function stage(
  name: string, kind: 'Node' | 'Pod', requirements: readonly Requirement[],
  rest: Omit<Stage['spec'], 'resourceRef' | 'selector'>,
): Stage {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: { apiGroup: 'v1', kind }, selector: { matchExpressions: requirements }, ...rest },
  };
}

const readyStatus = '.status.conditions.[] | select( .type == "Ready" ) | .status';

const nodeConditions = `
conditions:
{{ $since := or .metadata.creationTimestamp Now }}
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ $since | Quote }}
{{ end }}`;

const nodeAddresses = `
addresses:
- type: InternalIP
  address: {{ NodeIP | Quote }}
- type: Hostname
  address: {{ NodeName | Quote }}
daemonEndpoints:
  kubeletEndpoint:
    Port: {{ NodePort }}`;

const nodeInfo = `
{{ $info := or .status.nodeInfo dict }}
nodeInfo:
  architecture: {{ or $info.architecture "amd64" | Quote }}
  operatingSystem: {{ or $info.operatingSystem "linux" | Quote }}
  kubeletVersion: {{ printf "kwok-%s" Version | Quote }}
  kubeProxyVersion: ""
  containerRuntimeVersion: {{ printf "kwok://%s" Version | Quote }}
  kernelVersion: ""
  osImage: "kwok"
  machineID: {{ NodeName | Quote }}
  systemUUID: {{ or .metadata.uid "" | Quote }}
  bootID: ""
phase: Running`;

const runningContainer = `
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ .image | Quote }}
  containerID: {{ printf "kwok://%s/%s" $uid .name | Quote }}
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $now | Quote }}`;

const completedContainer = `
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ .image | Quote }}
  containerID: {{ printf "kwok://%s/%s" $uid .name | Quote }}
  ready: {{ $initialized }}
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      reason: Completed
      containerID: {{ printf "kwok://%s/%s" $uid .name | Quote }}
      startedAt: {{ $start | Quote }}
      finishedAt: {{ $now | Quote }}`;

const podReady = `
{{ $now := Now }}
{{ $start := $now }}
{{ $initialized := true }}
{{ $uid := or .metadata.uid "" }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
{{ range $type := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "True"
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
{{ range .spec.readinessGates }}
- type: {{ .conditionType | Quote }}
  status: "True"
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}${runningContainer}
{{ end }}
{{ if .spec.initContainers }}
initContainerStatuses:
{{ range .spec.initContainers }}
{{ if eq (or .restartPolicy "") "Always" }}${runningContainer}
{{ else }}${completedContainer}
{{ end }}
{{ end }}
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
{{ with PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) $uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}`;

const podComplete = `
{{ $now := Now }}
{{ $start := or .status.startTime $now }}
{{ $initialized := false }}
{{ $uid := or .metadata.uid "" }}
phase: Succeeded
conditions:
{{ range $type := list "PodReadyToStartContainers" "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "False"
  reason: PodCompleted
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}${completedContainer}
{{ end }}
{{ $initialized = true }}
{{ if .spec.initContainers }}
initContainerStatuses:
{{ range .spec.initContainers }}${completedContainer}
{{ end }}
{{ end }}`;

const living = absent('.metadata.deletionTimestamp');
const running = where('.status.phase', 'In', 'Running');

const OWNER_KIND = '.metadata.ownerReferences.[].kind';
const RUN_FOR = `.metadata.annotations["${runForAnnotation}"]`;
const label = (key: string): string => `.metadata.labels["${key}"]`;
const withoutDuration = absent(RUN_FOR);
const ofAJob = { delay: { durationMilliseconds: jobRunsMs }, next: { statusTemplate: podComplete } };

/** Ready, with addresses and the kubelet port; a node's heartbeat is its Lease, which kwok renews. */
export const nodeStages: readonly Stage[] = [
  stage('node-initialize', 'Node', [where(readyStatus, 'NotIn', 'True')], {
    next: { statusTemplate: `${nodeConditions}${nodeAddresses}${nodeInfo}` },
  }),
  stage('node-report', 'Node', [where(readyStatus, 'In', 'True')], {
    delay: { durationMilliseconds: 300_000, jitterDurationMilliseconds: 330_000 },
    next: { statusTemplate: nodeConditions },
  }),
];

/**
 * Pending → Running → (Jobs and pods on request) Succeeded; a deleted one has stopped at once, which a kubelet tells by
 * a delete with a grace period of 0: finalizers may keep the object longer.
 */
export const podStages: readonly Stage[] = [
  stage('pod-ready', 'Pod', [living, where('.status.phase', 'In', 'Pending')], { next: { statusTemplate: podReady } }),
  stage('pod-complete', 'Pod', [living, running, withoutDuration, where(OWNER_KIND, 'In', 'Job')], ofAJob),
  stage('delegate-complete', 'Pod', [living, running, withoutDuration, present(label(delegateJobLabel))], ofAJob),
  stage('pod-complete-on-request', 'Pod', [living, running, present(RUN_FOR)], {
    delay: { durationFrom: { jq: { expression: RUN_FOR } } },
    next: { statusTemplate: podComplete },
  }),
  stage(
    'pod-delete', 'Pod',
    [present('.metadata.deletionTimestamp'), where('.metadata.deletionGracePeriodSeconds | tostring', 'NotIn', '0')],
    { next: { delete: true } },
  ),
];
