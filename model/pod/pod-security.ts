// The Pod Security Standards (https://kubernetes.io/docs/concepts/security/pod-security-standards/, as in Pod Security
// Admission of Kubernetes 1.36) for pods of sources: a target enforces a level per source, not only per namespace. An
// unknown shape is rejected.
import type { PodSecurityLevel } from '../../api/kinds/cluster-source.ts';
import { isRecord } from '../objects/json-values.ts';

type Fields = Readonly<Record<string, unknown>>;

const BASELINE_CAPABILITIES: ReadonlySet<unknown> = new Set([
  'AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE',
  'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT',
]);
const SELINUX_TYPES: ReadonlySet<unknown> =
  new Set([undefined, '', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']);
const SAFE_SYSCTLS: ReadonlySet<unknown> = new Set([
  'kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start', 'net.ipv4.tcp_syncookies', 'net.ipv4.ping_group_range',
  'net.ipv4.ip_local_reserved_ports', 'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem',
]);
const RESTRICTED_VOLUMES: ReadonlySet<string> = new Set(
  ['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected', 'secret'],
);
const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

/** A pod to create: its metadata and spec, of any shape. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: unknown;
}

/** Violations of a level by a pod, each with its place; none when it complies. */
export function securityProblems({ annotations, spec }: CheckedPod, level: PodSecurityLevel): readonly string[] {
  if (level === 'privileged') return [];
  if (!isRecord(spec)) return ['spec is not an object'];
  const [containers, misshapen] = containersOf(spec);
  const baseline = [
    ...misshapen, ...hostProblems(spec), ...podContextProblems(recordOf(spec['securityContext'])),
    ...apparmorProblems(annotations), ...containers.flatMap(containerProblems),
  ];
  return level === 'baseline' ? baseline : [...baseline, ...restrictedProblems(spec, containers)];
}

interface Named {
  readonly name: string;
  readonly container: Fields;
}

const LISTS = ['containers', 'initContainers', 'ephemeralContainers'] as const;

function containersOf(spec: Fields): readonly [readonly Named[], readonly string[]] {
  const problems = LISTS.flatMap((list) => (isListOfRecords(spec[list]) ? [] : [`${list} is not a list of objects`]));
  return [
    LISTS.flatMap(
      (list) => listOf(spec[list]).map((container) => ({ name: `container ${String(container['name'])}`, container })),
    ),
    problems,
  ];
}

function isListOfRecords(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.every(isRecord));
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function recordOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** Anything but false counts as true. */
function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function hostProblems(spec: Fields): readonly string[] {
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => isOn(spec[field]))
    .map((field) => `${field} is set`);
  if (!isListOfRecords(spec['volumes'])) return [...shared, 'volumes is not a list of objects'];
  return [...shared, ...listOf(spec['volumes']).filter((volume) => isOn(volume['hostPath'])).map(
    (volume) => `volume ${String(volume['name'])} is a hostPath`,
  )];
}

function podContextProblems(context: Fields): readonly string[] {
  const sysctls = listOf(context['sysctls']).filter(({ name }) => !SAFE_SYSCTLS.has(name))
    .map(({ name }) => `sysctl ${String(name)} is not safe`);
  return [...contextProblems('pod', context), ...sysctls];
}

function apparmorProblems(annotations: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(annotations)
    .filter(
      ([key, value]) => key.startsWith(APPARMOR_ANNOTATION) && value !== '' && value !== 'runtime/default' && !value
        .startsWith('localhost/'),
    )
    .map(([key]) => `annotation ${key} turns AppArmor off`);
}

/** Settings that pods and containers have in common. */
function contextProblems(name: string, context: Fields): readonly string[] {
  const [seccomp, apparmor, selinux, windows] =
    ['seccompProfile', 'appArmorProfile', 'seLinuxOptions', 'windowsOptions'].map((field) => recordOf(context[field]));
  return [
    ...(seccomp?.['type'] === 'Unconfined' ? [`${name} turns seccomp off`] : []),
    ...(apparmor?.['type'] === 'Unconfined' ? [`${name} turns AppArmor off`] : []),
    ...(SELINUX_TYPES.has(selinux?.['type']) ? [] : [`${name} sets SELinux type ${String(selinux?.['type'])}`]),
    ...(['user', 'role'].filter((field) => (selinux?.[field] ?? '') !== '').map(
      (field) => `${name} sets SELinux ${field}`,
    )),
    ...(isOn(windows?.['hostProcess']) ? [`${name} is a hostProcess`] : []),
  ];
}

function containerProblems({ name, container }: Named): readonly string[] {
  const context = recordOf(container['securityContext']);
  const added = recordOf(context['capabilities'])['add'];
  const capabilities = Array.isArray(added) ? added.filter((one: unknown) => !BASELINE_CAPABILITIES.has(one)) : [];
  const ports =
    listOf(container['ports']).filter(({ hostPort }) => hostPort !== undefined && hostPort !== null && hostPort !== 0);
  return [
    ...(isOn(context['privileged']) ? [`${name} is privileged`] : []),
    ...capabilities.map((one: unknown) => `${name} adds capability ${String(one)}`),
    ...ports.map(({ hostPort }) => `${name} takes port ${String(hostPort)} of the node`),
    ...([undefined, null, '', 'Default'].includes(context['procMount'] as string) ? [] : [
      `${name} sets procMount ${String(context['procMount'])}`,
    ]),
    ...contextProblems(name, context),
    ...probeProblems(name, container),
  ];
}

/** With a host in a probe or hook, the kubelet would send requests to another host. */
function probeProblems(name: string, container: Fields): readonly string[] {
  const lifecycle = recordOf(container['lifecycle']);
  const handlers = [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((field) => container[field]), lifecycle['postStart'],
    lifecycle['preStop'],
  ].map(recordOf);
  const hosts =
    handlers.flatMap((handler) => ['httpGet', 'tcpSocket'].map((kind) => recordOf(handler[kind])['host'] ?? ''));
  return hosts.some((host) => host !== '') ? [`${name} has a probe or hook with a host`] : [];
}

function restrictedProblems(spec: Fields, containers: readonly Named[]): readonly string[] {
  const pod = recordOf(spec['securityContext']);
  const volumes = listOf(spec['volumes']).flatMap(
    (volume) => Object.keys(volume).filter(
      (key) => key !== 'name' && isOn(volume[key]) && !RESTRICTED_VOLUMES.has(key),
    ).map((key) => `volume ${String(volume['name'])} is a ${key}`),
  );
  const isWindows = recordOf(spec['os'])['name'] === 'windows';
  return [...volumes, ...(pod['runAsUser'] === 0 ? ['pod runs as user 0'] : []), ...containers.flatMap((container) => [
    ...userProblems(container, pod), ...(isWindows ? [] : linuxProblems(container, pod)),
  ])];
}

function userProblems({ name, container }: Named, pod: Fields): readonly string[] {
  const context = recordOf(container['securityContext']);
  return [
    ...((context['runAsNonRoot'] ?? pod['runAsNonRoot']) === true ? [] : [`${name} does not set runAsNonRoot: true`]),
    ...(context['runAsUser'] === 0 ? [`${name} runs as user 0`] : []),
  ];
}

/** API servers reject these fields on a pod for Windows, and no kubelet of Linux starts such a pod. */
function linuxProblems({ name, container }: Named, pod: Fields): readonly string[] {
  const context = recordOf(container['securityContext']);
  const { drop, add } = recordOf(context['capabilities']);
  const seccomp = recordOf(context['seccompProfile'])['type'] ?? recordOf(pod['seccompProfile'])['type'];
  return [
    ...(context['allowPrivilegeEscalation'] === false ? [] : [`${name} does not set allowPrivilegeEscalation: false`]),
    ...(seccomp === 'RuntimeDefault' || seccomp === 'Localhost' ? [] : [`${name} sets no seccompProfile`]),
    ...(Array.isArray(drop) && drop.includes('ALL') ? [] : [`${name} does not drop ALL capabilities`]),
    ...(
      Array.isArray(add) && add.some((one: unknown) => one !== 'NET_BIND_SERVICE') ? [`${name} adds capabilities`] : []
    ),
  ];
}
