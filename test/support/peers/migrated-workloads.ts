// What a migration must not disturb: workloads of all kinds with what follows their pods, and which delegates run for
// them.
import type { KubernetesObject, ObjectMeta } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL, PROXY_SCHEDULER } from '../../../api/objects/keys.ts';
import {
  CONFIG_MAPS, DEPLOYMENTS, INGRESSES, PODS, POD_CHAPERONS, SECRETS, SERVICES,
} from '../../../api/resource-types.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import type { OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import { runForAnnotation } from '../../../sandbox/plan/kwok-stages.ts';
import { JOBS, STATEFUL_SETS } from '../objects/resource-types.ts';

const CRON_JOBS: ResourceType = { ...JOBS, plural: 'cronjobs', kind: 'CronJob' };

// Pods of Jobs run on while a cluster is migrated.
const annotations = { [ELECT_ANNOTATION]: '', [runForAnnotation]: '24h' };
const podSpec = {
  containers: [{
    name: 'main', image: 'example/main:1',
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'password', key: 'p' } } }],
    envFrom: [{ configMapRef: { name: 'settings' } }],
  }],
};
const template = (app: string, more: object = {}) =>
  ({ metadata: { labels: { app }, annotations }, spec: { ...podSpec, ...more } });

/** Workloads of all kinds: `count` pods in a namespace. */
export function workloads(namespace: string, count: number): readonly (readonly [ResourceType, KubernetesObject])[] {
  const at = (name: string) => ({ namespace, name });
  const share = (part: number): number => Math.max(1, Math.round(count * part));
  const objects: [ResourceType, object][] = [
    [CONFIG_MAPS, { metadata: at('settings'), data: { a: '1' } }],
    [SECRETS, { metadata: at('password'), data: { p: 'cA==' } }],
    [SERVICES, { metadata: at('web'), spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }],
    [INGRESSES, {
      metadata: at('web'),
      spec: {
        rules: [{
          http:
            { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }] },
        }],
      },
    }],
    ...Array.from({ length: share(0.2) }, (_, index): [ResourceType, object] => [
      PODS, { metadata: { ...at(`bare-${index}`), annotations }, spec: podSpec },
    ]),
    [DEPLOYMENTS, {
      metadata: at('web'),
      spec: { replicas: share(0.4), selector: { matchLabels: { app: 'web' } }, template: template('web') },
    }],
    [STATEFUL_SETS, {
      metadata: at('db'),
      spec: {
        replicas: share(0.2), podManagementPolicy: 'Parallel', serviceName: 'db',
        selector: { matchLabels: { app: 'db' } }, template: template('db'),
      },
    }],
    ...Array.from({ length: share(0.15) }, (_, index): [ResourceType, object] => [
      JOBS, { metadata: at(`job-${index}`), spec: { template: template('job', { restartPolicy: 'Never' }) } },
    ]),
    [CRON_JOBS, {
      metadata: at('cron'),
      spec: {
        schedule: '* * * * *', concurrencyPolicy: 'Forbid',
        jobTemplate: {
          spec: {
            parallelism: share(0.05), completions: share(0.05),
            template: template('cron', { restartPolicy: 'OnFailure' }),
          },
        },
      },
    }],
  ];
  return objects as [ResourceType, KubernetesObject][];
}

/** Namespaces of pods that come and go. */
export const STREAMS: readonly string[] = ['stream', 'loose'];

/** Delegates that run, by the key of their proxy; those of streams left out. */
export async function runningDelegates(
  source: OpenCluster, targets: readonly OpenCluster[],
): Promise<ReadonlyMap<string, string>> {
  const proxies = await source.client.list(PODS, { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` });
  const delegates =
    (await Promise.all(targets.map(({ client }) => client.list(PODS, { labelSelector: PARENT_UID_LABEL })))).flat();
  return new Map(proxies.flatMap(({ metadata }) => {
    const own = delegates.filter(
      (delegate) =>
        delegate.metadata.labels?.[PARENT_UID_LABEL] === metadata.uid && delegate.status?.phase === 'Running',
    );
    return STREAMS.includes(metadata.namespace ?? '') || own.length === 0 ? [] : [
      [`${metadata.namespace}/${metadata.name} ${metadata.uid}`, own.map((delegate) => delegate.metadata.uid).join(
        '+',
      )] as const,
    ];
  }));
}

/** What is left of the workloads in a namespace, described so that its maker can be told. */
export async function remainsIn(
  { client }: OpenCluster, cluster: string, namespace: string,
): Promise<readonly string[]> {
  const lists = await Promise.all([POD_CHAPERONS, PODS, CONFIG_MAPS, SECRETS, SERVICES, INGRESSES].map(
    async (type) => (await client.list(type, { namespace })).map(({ metadata }) => ({ type, metadata })),
  ));
  return lists.flat().filter(({ metadata }) => isOfWorkloads(metadata)).map(({ type, metadata }) => {
    const { name, labels, annotations: marks, finalizers, creationTimestamp, deletionTimestamp, ownerReferences } =
      metadata;
    return `${cluster} ${type.kind} ${namespace}/${name} ` +
      JSON.stringify({ labels, marks, finalizers, creationTimestamp, deletionTimestamp, ownerReferences });
  });
}

/** Deletes all workloads of a namespace, and what follows their pods. */
export async function deleteWorkloads({ client }: OpenCluster, namespace: string): Promise<void> {
  for (const type of [CRON_JOBS, JOBS, DEPLOYMENTS, STATEFUL_SETS, INGRESSES, SERVICES, PODS, CONFIG_MAPS, SECRETS]) {
    const objects = await client.list(type, { namespace });
    for (const { metadata } of objects.filter((object) => isOfWorkloads(object.metadata))) {
      const at = { namespace, name: metadata.name ?? '' };
      await client.delete(type, at, { propagation: 'Background' }).catch(() => undefined);
    }
  }
}

/** Not of the namespace itself or its Target: without the kubeconfig nobody could delete what is in the target. */
function isOfWorkloads({ name = '' }: ObjectMeta): boolean {
  return name !== 'kube-root-ca.crt' && !name.endsWith('-kubeconfig');
}
