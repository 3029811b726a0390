// Pods as Kubernetes' own conformance tests try them, each with the end that it should have: what is started natively
// and elected must end alike. What a container saw is in its termination message, so that the status tells all.
import type { Pod } from '../../../api/objects/core.ts';

/** One pod, and when it is looked at. */
export interface PodCase {
  readonly name: string;
  readonly spec: object;
  readonly metadata?: { readonly labels?: object; readonly annotations?: object };
  /** Whether what it is about has happened. */
  readonly isDone: (pod: Pod) => boolean;
  /** The only fields of the status to look at, where kubelet's own end of containers depends on the moment. */
  readonly fields?: readonly string[];
  /** What differs, and is documented. */
  readonly differs?: readonly KnownDifference[];
}

/** A difference that stays. */
export interface KnownDifference {
  /** As {@link differences} says it: `path: elected ≠ native`. */
  readonly found: string;
  /** Why, for readers of docs/results/conformance.md. */
  readonly why: string;
}

/** The image of most cases. */
export const BUSYBOX = 'docker.io/library/busybox:1.36';
/** An image that only its password gives. */
export const PRIVATE_IMAGE = 'private.example/team/app:v1';
const LOG = '/dev/termination-log';

interface ContainerStatus {
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: { readonly waiting?: { readonly reason?: string }; readonly terminated?: object };
}

const statuses = (pod: Pod): readonly ContainerStatus[] =>
  (pod.status?.containerStatuses ?? []) as readonly ContainerStatus[];
const initStatuses = (pod: Pod): readonly ContainerStatus[] =>
  (pod.status?.initContainerStatuses ?? []) as readonly ContainerStatus[];

/** Predicates by which cases end. */
const ended = (pod: Pod): boolean => ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '');
const condition = (type: string, value: string) => (pod: Pod): boolean =>
  (pod.status?.conditions ?? []).some((one) => one.type === type && one.status === value);
const isReady = condition('Ready', 'True');
const running = (pod: Pod): boolean =>
  pod.status?.phase === 'Running' && statuses(pod).every(({ state }) => state !== undefined && 'running' in state);
const waiting = (...reasons: readonly string[]) => (pod: Pod): boolean =>
  [...statuses(pod), ...initStatuses(pod)].some(({ state }) => reasons.includes(state?.waiting?.reason ?? ''));
const restarted = (pod: Pod): boolean =>
  statuses(pod).some(({ restartCount = 0, state }) => restartCount === 1 && state !== undefined && 'running' in state);

/** A container that runs a script; `more` overrides. */
function sh(script: string, more: object = {}): object {
  return { name: 'main', image: BUSYBOX, command: ['sh', '-c', script], ...more };
}

const SLEEP = 'trap "exit 0" TERM; sleep 3600 & wait';
const once = (script: string, pod: object = {}, container: object = {}): object =>
  ({ restartPolicy: 'Never', containers: [sh(script, container)], ...pod });
const lasting = (container: object = {}, pod: object = {}): object =>
  ({ terminationGracePeriodSeconds: 1, containers: [sh(SLEEP, container)], ...pod });
const field = (name: string, fieldPath: string): object => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const exec = (script: string): object => ({ exec: { command: ['sh', '-c', script] }, periodSeconds: 1 });
const mount = (name: string, mountPath: string, more: object = {}): object => ({ name, mountPath, ...more });

const FILES = 'app="downward-files"\nexample.com/tier="web"\n';
const TOPOLOGY = 'topology.kubernetes.io/region="home"\ntopology.kubernetes.io/zone="home-a"\n';

const ENDS: readonly PodCase[] = [
  { name: 'exit-0', spec: once('exit 0'), isDone: ended },
  { name: 'exit-3', spec: once('exit 3'), isDone: ended },
  { name: 'killed', spec: once('kill -9 $$; sleep 9'), isDone: ended },
  {
    name: 'on-failure', isDone: ended,
    spec: once('[ -e /d/seen ] && exit 0; touch /d/seen; exit 1', {
      restartPolicy: 'OnFailure', volumes: [{ name: 'd', emptyDir: {} }],
    }, { volumeMounts: [mount('d', '/d')] }),
  },
  {
    name: 'one-of-two-fails', isDone: ended,
    spec: { restartPolicy: 'Never', containers: [sh('exit 1'), sh('exit 0', { name: 'other' })] },
  },
  {
    name: 'deadline', isDone: ended,
    spec: once(SLEEP, { activeDeadlineSeconds: 2, terminationGracePeriodSeconds: 1 }),
  },
  {
    name: 'out-of-memory', isDone: ended,
    spec: once('x=a; while :; do x=$x$x; done', {}, { resources: { limits: { memory: '24Mi' } } }),
  },
  { name: 'message', spec: once(`printf 'what it said' > ${LOG}; exit 4`), isDone: ended },
  {
    name: 'message-from-log', isDone: ended,
    spec: once('echo from the log; exit 1', {}, { terminationMessagePolicy: 'FallbackToLogsOnError' }),
  },
  {
    name: 'message-elsewhere', isDone: ended,
    spec: once('printf there > /tmp/note', {}, { terminationMessagePath: '/tmp/note' }),
  },
];

const WAITS: readonly PodCase[] = [
  { name: 'crash-loop', spec: { containers: [sh('exit 1')] }, isDone: waiting('CrashLoopBackOff') },
  {
    name: 'no-image', isDone: waiting('ImagePullBackOff'),
    spec: { containers: [sh(SLEEP, { image: 'docker.io/library/nothing:1' })] },
  },
  {
    name: 'no-tag', isDone: waiting('ImagePullBackOff'),
    spec: { containers: [sh(SLEEP, { image: 'docker.io/library/busybox:0.1' })] },
  },
  {
    name: 'odd-image', isDone: waiting('InvalidImageName'),
    spec: { containers: [sh(SLEEP, { image: 'example.com/UPPER:1' })] },
  },
  {
    name: 'never-pulled', isDone: waiting('ErrImageNeverPull'),
    spec: { containers: [sh(SLEEP, { image: 'docker.io/library/other:1', imagePullPolicy: 'Never' })] },
  },
  {
    name: 'no-password', isDone: waiting('ImagePullBackOff'),
    spec: { containers: [sh(SLEEP, { image: PRIVATE_IMAGE })] },
  },
  {
    name: 'no-config-map', isDone: waiting('CreateContainerConfigError'),
    spec: { containers: [sh(SLEEP, { envFrom: [{ configMapRef: { name: 'missing' } }] })] },
  },
  {
    name: 'no-key', isDone: waiting('CreateContainerConfigError'),
    spec: { containers: [sh(SLEEP, {
      env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'missing' } } }],
    })] },
  },
  {
    name: 'root-refused', isDone: waiting('CreateContainerConfigError'),
    spec: { securityContext: { runAsNonRoot: true }, containers: [sh(SLEEP)] },
  },
  {
    name: 'no-program', isDone: ended,
    spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: BUSYBOX, command: ['/nothing'] }] },
  },
  { name: 'post-start-fails', isDone: waiting('PostStartHookError', 'CrashLoopBackOff'), spec: lasting({
    lifecycle: { postStart: { exec: { command: ['false'] } } },
  }) },
];

const INITS: readonly PodCase[] = [
  {
    name: 'inits-in-order', isDone: ended,
    spec: once(`cat /d/order > ${LOG}`, {
      initContainers: ['first', 'second'].map((name) =>
        sh(`echo ${name} >> /d/order`, { name, volumeMounts: [mount('d', '/d')] })),
      volumes: [{ name: 'd', emptyDir: {} }],
    }, { volumeMounts: [mount('d', '/d')] }),
  },
  { name: 'init-fails', spec: once('true', { initContainers: [sh('exit 5', { name: 'first' })] }), isDone: ended },
  {
    name: 'init-crash-loop', isDone: waiting('CrashLoopBackOff'),
    spec: { containers: [sh(SLEEP)], initContainers: [sh('exit 5', { name: 'first' })] },
  },
  {
    name: 'sidecar', isDone: ended,
    spec: once('exit 0', { initContainers: [sh(SLEEP, { name: 'side', restartPolicy: 'Always' })] }),
  },
  {
    name: 'sidecar-with-probe', isDone: isReady,
    spec: lasting({}, { initContainers: [
      sh(SLEEP, { name: 'side', restartPolicy: 'Always', startupProbe: exec('true'), readinessProbe: exec('true') }),
    ] }),
  },
];

const PROBES: readonly PodCase[] = [
  {
    name: 'never-ready', spec: lasting({ readinessProbe: exec('false') }),
    isDone: (pod) => running(pod) && condition('Ready', 'False')(pod),
  },
  {
    name: 'ready-later', isDone: isReady,
    spec: lasting({ readinessProbe: { ...exec('true'), initialDelaySeconds: 2 } }),
  },
  {
    name: 'liveness', isDone: restarted,
    spec: lasting({ livenessProbe: { ...exec('[ ! -e /tmp/x ]'), failureThreshold: 1 }, command: [
      'sh', '-c', `touch /tmp/x; [ -e /d/seen ] && rm /tmp/x; touch /d/seen; ${SLEEP}`,
    ], volumeMounts: [mount('d', '/d')] }, { volumes: [{ name: 'd', emptyDir: {} }] }),
  },
  {
    name: 'startup-fails', isDone: (pod) => statuses(pod).some(({ restartCount = 0 }) => restartCount === 1),
    spec: lasting({ startupProbe: { ...exec('false'), failureThreshold: 1, periodSeconds: 8 } }),
  },
  { name: 'startup', spec: lasting({ startupProbe: exec('true'), readinessProbe: exec('true') }), isDone: isReady },
  {
    name: 'http-probe', isDone: isReady,
    spec: lasting({
      command: ['httpd', '-f', '-p', '8080', '-h', '/etc'],
      readinessProbe: { httpGet: { path: '/passwd', port: 8_080 }, periodSeconds: 1 },
    }),
  },
  {
    name: 'tcp-probe', isDone: isReady,
    spec: lasting({
      command: ['httpd', '-f', '-p', '8080'], readinessProbe: { tcpSocket: { port: 8_080 }, periodSeconds: 1 },
    }),
  },
  {
    name: 'readiness-gate', spec: lasting({}, { readinessGates: [{ conditionType: 'example.com/gate' }] }),
    isDone: (pod) => running(pod) && condition('ContainersReady', 'True')(pod),
  },
];

const SEEN: readonly PodCase[] = [
  {
    name: 'downward-env', isDone: ended,
    metadata: { labels: { 'example.com/tier': 'web', app: 'downward' }, annotations: { 'example.com/note': 'a b' } },
    spec: once(`env | grep ^MY_ | sort > ${LOG}`, {}, { env: [
      field('MY_NAMESPACE', 'metadata.namespace'), field('MY_LABEL', "metadata.labels['example.com/tier']"),
      field('MY_NOTE', "metadata.annotations['example.com/note']"), field('MY_ACCOUNT', 'spec.serviceAccountName'),
      { name: 'MY_CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
    ], resources: { limits: { cpu: '200m' } } }),
  },
  {
    name: 'downward-name', isDone: ended,
    spec: once(`env | grep ^MY_ > ${LOG}`, {}, { env: [field('MY_NAME', 'metadata.name')] }),
  },
  {
    name: 'downward-files', isDone: ended, differs: [{
      found:
        `containerStatuses.0.state.terminated.message: ${JSON.stringify(FILES)} ≠ ${JSON.stringify(FILES + TOPOLOGY)}`,
      why: "A cluster adds region and zone of the node to a pod's labels; " +
        'an elected pod shows those of the source alone.',
    }], metadata: { labels: { 'example.com/tier': 'web', app: 'downward-files' } },
    spec: once(`sort /info/labels > ${LOG}`, { volumes: [{ name: 'info', downwardAPI: {
      items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }],
    } }] }, { volumeMounts: [mount('info', '/info')] }),
  },
  {
    name: 'config-map-env', isDone: ended,
    spec: once(`env | grep ^MY_ | sort > ${LOG}`, {}, { envFrom: [
      { prefix: 'MY_', configMapRef: { name: 'settings' } }, { prefix: 'MY_', secretRef: { name: 'password' } },
    ] }),
  },
  {
    name: 'config-map-files', isDone: ended,
    spec: once(`cat /c/color /s/word > ${LOG}; stat -L -c %a /s/word >> ${LOG}`, { volumes: [
      { name: 'c', configMap: { name: 'settings' } },
      { name: 's', secret: { secretName: 'password', defaultMode: 0o400 } },
    ] }, { volumeMounts: [mount('c', '/c'), mount('s', '/s')] }),
  },
  {
    name: 'projected', isDone: ended,
    spec: once(`cat /p/c/color /p/word > ${LOG}`, { volumes: [{ name: 'p', projected: { sources: [
      { configMap: { name: 'settings', items: [{ key: 'color', path: 'c/color' }] } }, { secret: { name: 'password' } },
    ] } }] }, { volumeMounts: [mount('p', '/p')] }),
  },
  {
    name: 'optional-config-map', isDone: ended,
    spec: once(`ls /c | wc -l > ${LOG}`, { volumes: [
      { name: 'c', configMap: { name: 'never-there', optional: true } },
    ] }, { volumeMounts: [mount('c', '/c')] }),
  },
  {
    name: 'sub-path', isDone: ended,
    spec: once(`cat /etc/color > ${LOG}`, { volumes: [{ name: 'c', configMap: { name: 'settings' } }] }, {
      volumeMounts: [mount('c', '/etc/color', { subPath: 'color' })],
    }),
  },
  {
    name: 'host-name', isDone: ended,
    spec: once(`hostname > ${LOG}`, { hostname: 'chosen', subdomain: 'group' }),
  },
  { name: 'host-aliases', isDone: ended, spec: once(`grep example /etc/hosts > ${LOG}`, {
    hostAliases: [{ ip: '192.0.2.7', hostnames: ['db.example'] }],
  }) },
  { name: 'dns-config', isDone: ended, spec: once(`sort /etc/resolv.conf > ${LOG}`, {
    dnsPolicy: 'None', dnsConfig: {
      nameservers: ['192.0.2.53'], searches: ['example.com'], options: [{ name: 'ndots', value: '2' }],
    },
  }) },
  { name: 'dns-search', isDone: ended, spec: once(`grep ^search /etc/resolv.conf > ${LOG}`) },
  {
    name: 'user', isDone: ended,
    spec: once(`id -u > ${LOG}; id -G >> ${LOG}`, {
      securityContext: { runAsUser: 1_000, runAsGroup: 2_000, fsGroup: 3_000 },
    }),
  },
  {
    name: 'read-only-root', isDone: ended,
    spec: once(`touch /x && echo written > ${LOG}; exit 0`, {}, { securityContext: { readOnlyRootFilesystem: true } }),
  },
  {
    name: 'no-capabilities', isDone: ended,
    spec: once(`grep -E "Cap(Eff|Bnd)|NoNewPrivs|Seccomp:" /proc/self/status > ${LOG}`, {}, { securityContext: {
      capabilities: { drop: ['ALL'] }, allowPrivilegeEscalation: false, seccompProfile: { type: 'RuntimeDefault' },
    } }),
  },
  { name: 'sysctl', isDone: ended, spec: once(`cat /proc/sys/net/ipv4/ip_unprivileged_port_start > ${LOG}`, {
    securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '80' }] },
  }) },
  {
    name: 'shared-files', isDone: ended,
    spec: {
      restartPolicy: 'Never', volumes: [{ name: 'd', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
      containers: [
        sh(`while [ ! -e /d/x ]; do sleep 0.1; done; cat /d/x > ${LOG}`, { volumeMounts: [mount('d', '/d')] }),
        sh('echo from the other > /d/x', { name: 'other', volumeMounts: [mount('d', '/d')] }),
      ],
    },
  },
  {
    name: 'shared-processes', isDone: ended,
    spec: once(`ps | grep -c pause > /dev/null; cat /proc/1/comm > ${LOG}`, { shareProcessNamespace: true }),
  },
  { name: 'arguments', isDone: ended, spec: once('true', {}, {
    command: ['sh', '-c', `echo "$0 $1" > ${LOG}`], args: ['$(WORD)', '$$(WORD)'],
    env: [{ name: 'WORD', value: 'hello' }],
  }) },
  { name: 'working-folder', isDone: ended, spec: once(`pwd > ${LOG}`, {}, { workingDir: '/home' }) },
  {
    name: 'post-start', isDone: ended,
    spec: once(`while [ ! -e /tmp/x ]; do sleep 0.1; done; cat /tmp/x > ${LOG}`, {}, {
      lifecycle: { postStart: { exec: { command: ['sh', '-c', 'echo started > /tmp/x'] } } },
    }),
  },
  { name: 'no-token', isDone: ended, spec: once(`ls /var/run/secrets 2>&1 | wc -l > ${LOG}`, {
    automountServiceAccountToken: false,
  }) },
  { name: 'no-service-links', isDone: ended, spec: once(`env | grep -c ^SETTINGS_SERVICE > ${LOG}; exit 0`, {
    enableServiceLinks: false,
  }) },
  { name: 'password', isDone: ended, spec: { ...once(`echo pulled > ${LOG}`, {}, { image: PRIVATE_IMAGE }),
    imagePullSecrets: [{ name: 'registry' }] } },
  { name: 'terminal', isDone: ended, spec: once(`tty > ${LOG} 2>&1; exit 0`, {}, { tty: true, stdin: true }) },
  { name: 'group-of-files', isDone: ended, spec: once(`stat -c %g /d > ${LOG}`, {
    securityContext: { fsGroup: 1_234 }, volumes: [{ name: 'd', emptyDir: {} }],
  }, { volumeMounts: [mount('d', '/d')] }) },
  {
    name: 'full-folder', isDone: ended, fields: ['phase', 'reason', 'message'],
    spec: once('dd if=/dev/zero of=/d/x bs=1M count=9; sleep 3600', {
      volumes: [{ name: 'd', emptyDir: { sizeLimit: '2Mi' } }], terminationGracePeriodSeconds: 1,
    }, { volumeMounts: [mount('d', '/d')] }),
  },
];

/** Cases by what they are about. */
export const POD_CASE_GROUPS: readonly { readonly about: string; readonly cases: readonly PodCase[] }[] = [
  { about: 'how pods end: exit codes, signals, restarts, deadlines, memory, termination messages', cases: ENDS },
  { about: 'what pods wait for: crash loops, images, missing objects, refused users, failing hooks', cases: WAITS },
  { about: 'init containers and sidecars', cases: INITS },
  { about: 'probes and readiness gates', cases: PROBES },
  { about: 'what a container sees of its pod, and what its pod is given', cases: SEEN },
];

/** All of them. */
export const POD_CASES: readonly PodCase[] = POD_CASE_GROUPS.flatMap(({ cases }) => cases);
