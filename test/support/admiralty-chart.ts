// A chart that is to Helm and to an API server what Admiralty 0.17's is: definitions among its templates, with its labels, its fields and without an
// annotation that keeps them, a Deployment, and a Job after its deletion, which takes finalizers off. Its values, with what becomes of each here.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ADMIRALTY_GROUP } from '../../api/resource-types.ts';

const NAME = 'multicluster-scheduler';
const labels = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/instance': 'admiralty', 'app.kubernetes.io/managed-by': 'Helm' };
const selector = { 'app.kubernetes.io/name': NAME };
const template = { metadata: { labels: selector }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } };

type Schema = Readonly<Record<string, unknown>>;

/** A kind of Admiralty 0.17: names, scope and top-level fields (its `charts/multicluster-scheduler/templates/crds`; nothing is required there). */
interface Definition {
  readonly kind: string;
  readonly plural: string;
  readonly short: string;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly fields: Schema;
}

const text: Schema = { type: 'string' };
const anything: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const resources: Schema = { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true } };
const object = (properties: Schema): Schema => ({ type: 'object', properties });
const target = (...ofSecret: readonly string[]): Schema => ({
  spec: object({ self: { type: 'boolean' }, kubeconfigSecret: object(Object.fromEntries(ofSecret.map((field) => [field, text]))), excludedLabelsRegexp: text }),
  status: { type: 'object' },
});

const DEFINITIONS: readonly Definition[] = [
  { kind: 'ClusterTarget', plural: 'clustertargets', short: 'ctg', scope: 'Cluster', fields: target('name', 'namespace', 'key', 'context') },
  { kind: 'Target', plural: 'targets', short: 'tg', scope: 'Namespaced', fields: target('name', 'key', 'context') },
  { kind: 'ClusterSource', plural: 'clustersources', short: 'csrc', scope: 'Cluster', fields: { spec: object({ userName: text, serviceAccount: object({ name: text, namespace: text }) }), status: { type: 'object' } } },
  { kind: 'Source', plural: 'sources', short: 'src', scope: 'Namespaced', fields: { spec: object({ userName: text, serviceAccountName: text }), status: { type: 'object' } } },
  { kind: 'PodChaperon', plural: 'podchaperons', short: 'chap', scope: 'Namespaced', fields: { spec: anything, status: anything } },
  { kind: 'ClusterSummary', plural: 'clustersummaries', short: 'mcsum', scope: 'Cluster', fields: { capacity: resources, allocatable: resources } },
];

function toCustomResourceDefinition({ kind, plural, short, scope, fields }: Definition): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${ADMIRALTY_GROUP}`, labels },
    spec: {
      group: ADMIRALTY_GROUP,
      names: { kind, plural, shortNames: [short] },
      scope,
      versions: [{ name: 'v1alpha1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: object(fields) } }],
    },
  };
}

/** What our chart makes of a value of Admiralty's: takes it, or says that there is none such. */
export type ValueFate = 'taken' | 'refused';

const OF_A_WORKLOAD = { 'image.repository': 'mirror/isthmus', 'image.tag': 'v9', 'image.pullPolicy': 'Always', 'resources.limits.cpu': '2', 'nodeSelector.disk': 'ssd', 'securityContext.runAsUser': 4242, 'affinity.nodeAffinity.x': 'y', 'tolerations[0].key': 'dedicated' };
const under = (name: string, values: Readonly<Record<string, string | number>>): [string, string | number][] => Object.entries(values).map(([key, value]) => [`${name}.${key}`, value]);

/** Every value of Admiralty 0.17's chart (`charts/multicluster-scheduler/values.yaml`), with another one than its default, and its fate here. */
export const ADMIRALTY_VALUES: Readonly<Record<ValueFate, readonly (readonly [path: string, value: string | number | boolean])[]>> = {
  taken: [
    ['clusterName', 'c1'], ['imagePullSecretName', 'pull'], ['sourceController.enabled', false], ['webhook.reinvocationPolicy', 'Never'],
    ['controllerManager.replicas', 3], ...under('controllerManager', OF_A_WORKLOAD),
    ['scheduler.replicas', 4], ...under('scheduler', OF_A_WORKLOAD),
    ...under('postDeleteJob', OF_A_WORKLOAD),
  ],
  refused: [
    ['nameOverride', 'n'], ['fullnameOverride', 'f'], ['restarter.replicas', 1], ['restarter.image.tag', 'v9'], ['restarter.nodeSelector.disk', 'ssd'],
    ['debug.controllerManager', true], ['debug.proxyScheduler', true], ['debug.candidateScheduler', true], ['debug.restarter', true],
    // Their names hold other programs.
    ...['agent', 'scheduler', 'restarter', 'remove-finalizers'].map((name): [string, string] => ['controllerManager.image.repository', `mirror.example/admiralty/multicluster-scheduler-${name}`]),
    ['scheduler.image.repository', 'quay.io/admiralty/multicluster-scheduler-scheduler'], ['postDeleteJob.image.repository', 'quay.io/admiralty/multicluster-scheduler-remove-finalizers'],
  ],
};

/** Writes the chart into a folder that is not there yet. */
export async function writeAdmiraltyChart(folder: string): Promise<void> {
  const definitions = DEFINITIONS.map(toCustomResourceDefinition);
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: `admiralty-${NAME}-controller-manager`, labels }, spec: { replicas: 1, selector: { matchLabels: selector }, template } };
  const hook = { 'helm.sh/hook': 'post-delete', 'helm.sh/hook-delete-policy': 'hook-succeeded' };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: `admiralty-${NAME}-post-delete-hook`, labels, annotations: hook }, spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } } };
  await mkdir(join(folder, 'templates'), { recursive: true });
  await writeFile(join(folder, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: NAME, version: '0.17.0', appVersion: '0.17.0' }));
  await writeFile(join(folder, 'templates', 'all.yaml'), [...definitions, deployment, job].map((object) => stringify(object)).join('---\n'));
}
