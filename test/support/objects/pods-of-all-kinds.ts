// Pods that differ in one thing each that the Pod Security Standards speak of, from a plain one and from one that meets
// them all.
import type { CheckedPod } from '../../../model/pod/pod-security.ts';

type Change = (pod: Spec) => object;
interface Spec {
  readonly securityContext: object;
  readonly containers: readonly Container[];
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext: object;
}

const inContainer = (more: object): Change =>
  ({ containers: [first, ...rest] }) => ({ containers: [{ ...first, ...more }, ...rest] });
const inContext = (more: object): Change => ({ containers: [first, ...rest] }) =>
  ({ containers: [{ ...first, securityContext: { ...first?.securityContext, ...more } }, ...rest] });
const inPodContext = (more: object): Change =>
  ({ securityContext }) => ({ securityContext: { ...securityContext, ...more } });
const volume = (source: object): Change => () => ({ volumes: [{ name: 'v', ...source }] });

const CHANGES: Readonly<Record<string, Change>> = {
  'nothing': () => ({}),
  'hostNetwork': () => ({ hostNetwork: true }),
  'hostPID': () => ({ hostPID: true }), 'hostIPC': () => ({ hostIPC: true }), 'hostPID off': () => ({ hostPID: false }),
  'a hostPath': volume({ hostPath: { path: '/' } }), 'an emptyDir': volume({ emptyDir: {} }),
  'nfs': volume({ nfs: { server: 's', path: '/' } }), 'a projected token': volume({ projected: { sources: [] } }),
  'a privileged container': inContext({ privileged: true, allowPrivilegeEscalation: true }),
  'privileged off': inContext({ privileged: false }),
  'a port of the node': inContainer({ ports: [{ containerPort: 80, hostPort: 80 }] }),
  'a port': inContainer({ ports: [{ containerPort: 80 }] }),
  'SYS_ADMIN': inContext({ capabilities: { add: ['SYS_ADMIN'], drop: ['ALL'] } }),
  'NET_BIND_SERVICE': inContext({ capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] } }),
  'CHOWN': inContext({ capabilities: { add: ['CHOWN'], drop: ['ALL'] } }), 'nothing dropped':
    inContext({ capabilities: {} }), 'no escalation named': inContext({ allowPrivilegeEscalation: undefined }),
  'seccomp off in the pod': inPodContext({ seccompProfile: { type: 'Unconfined' } }), 'seccomp off in a container':
    inContext({ seccompProfile: { type: 'Unconfined' } }), 'no seccomp': inPodContext({ seccompProfile: undefined }),
  'AppArmor off': inPodContext({ appArmorProfile: { type: 'Unconfined' } }), 'AppArmor off in a container': inContext(
    { appArmorProfile: { type: 'Unconfined' } },
  ), 'AppArmor by default': inContext({ appArmorProfile: { type: 'RuntimeDefault' } }),
  'a SELinux type': inPodContext({ seLinuxOptions: { type: 'spc_t' } }),
  'an allowed SELinux type': inPodContext({ seLinuxOptions: { type: 'container_init_t' } }), 'a SELinux user':
    inContext({ seLinuxOptions: { user: 'u' } }), 'a SELinux level': inContext({ seLinuxOptions: { level: 's0' } }),
  'an unsafe sysctl': inPodContext({ sysctls: [{ name: 'kernel.msgmax', value: '1' }] }),
  'a safe sysctl': inPodContext({ sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] }),
  'a probe of another host': inContainer({ livenessProbe: { httpGet: { host: '10.0.0.1', port: 80 } } }),
  'a probe': inContainer({ livenessProbe: { httpGet: { port: 80 } } }),
  'a hook of another host': inContainer({ lifecycle: { preStop: { tcpSocket: { host: 'h', port: 80 } } } }),
  'user 0': inContext({ runAsUser: 0 }),
  'user 0 in the pod': inPodContext({ runAsUser: 0 }), 'user 1': inContext({ runAsUser: 1 }), 'root allowed':
    inPodContext({ runAsNonRoot: false }), 'root allowed in a container': inContext({ runAsNonRoot: false }),
  'a privileged init container': ({ containers: [first] }) => ({
    initContainers: [{
      ...first, name: 'init',
      securityContext: { ...first?.securityContext, privileged: true, allowPrivilegeEscalation: true },
    }],
  }),
  'Windows': () => ({
    os: { name: 'windows' }, securityContext: { runAsNonRoot: true }, containers: [{ name: 'c', image: 'i' }],
  }),
  'Windows as root': () => ({
    os: { name: 'windows' }, securityContext: {}, containers: [{ name: 'c', image: 'i' }],
  }),
  'a second plain container': ({ containers }) => ({ containers: [...containers, { name: 'plain', image: 'i' }] }),
};

const PLAIN: Spec = { securityContext: {}, containers: [{ name: 'c', image: 'i', securityContext: {} }] };
const STRICT: Spec = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers:
    [{ name: 'c', image: 'i', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }],
};

/** Each with a sentence. */
export function podsOfAllKinds(): readonly (readonly [string, CheckedPod])[] {
  return [['plain', PLAIN] as const, ['strict', STRICT] as const].flatMap(([name, spec]) =>
    Object.entries(CHANGES).map(
      ([what, change]) => [`a ${name} pod with ${what}`, {
        annotations: {}, spec: JSON.parse(JSON.stringify({ ...spec, ...change(spec) })) as unknown,
      }] as const,
    ));
}
