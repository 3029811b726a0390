// A chart that is to Helm and to an API server what Admiralty 0.17's is: definitions among its templates, with its
// labels, its fields and without an annotation that keeps them, a Deployment, and a Job after its deletion, which takes
// finalizers off. Its values, with what becomes of each here.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ADMIRALTY_GROUP } from '../../../api/objects/group-version.ts';

/** Name of the chart since 0.16; objects are named after the release where that contains it. */
const NAME = 'admiralty';
const labels = {
  'app.kubernetes.io/name': NAME, 'app.kubernetes.io/instance': '{{ .Release.Name }}',
  'app.kubernetes.io/managed-by': 'Helm',
};
const selector = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/instance': '{{ .Release.Name }}' };
const FULL_NAME = '{{ .Release.Name }}';

type Schema = Readonly<Record<string, unknown>>;

/**
 * A kind of Admiralty 0.17: names, scope and top-level fields (its `charts/multicluster-scheduler/templates/crds`;
 * nothing is required there).
 */
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
  spec: object({
    self: { type: 'boolean' }, kubeconfigSecret: object(Object.fromEntries(ofSecret.map((field) => [field, text]))),
    excludedLabelsRegexp: text,
  }),
  status: { type: 'object' },
});

const DEFINITIONS: readonly Definition[] = [
  {
    kind: 'ClusterTarget', plural: 'clustertargets', short: 'ctg', scope: 'Cluster',
    fields: target('name', 'namespace', 'key', 'context'),
  },
  { kind: 'Target', plural: 'targets', short: 'tg', scope: 'Namespaced', fields: target('name', 'key', 'context') },
  {
    kind: 'ClusterSource', plural: 'clustersources', short: 'csrc', scope: 'Cluster',
    fields: {
      spec: object({ userName: text, serviceAccount: object({ name: text, namespace: text }) }),
      status: { type: 'object' },
    },
  },
  {
    kind: 'Source', plural: 'sources', short: 'src', scope: 'Namespaced',
    fields: { spec: object({ userName: text, serviceAccountName: text }), status: { type: 'object' } },
  },
  {
    kind: 'PodChaperon', plural: 'podchaperons', short: 'chap', scope: 'Namespaced',
    fields: { spec: anything, status: anything },
  },
  {
    kind: 'ClusterSummary', plural: 'clustersummaries', short: 'mcsum', scope: 'Cluster',
    fields: { capacity: resources, allocatable: resources },
  },
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
      versions: [{
        name: 'v1alpha1', served: true, storage: true, subresources: { status: {} },
        schema: { openAPIV3Schema: object(fields) },
      }],
    },
  };
}

/** What our chart makes of a value of Admiralty's: takes it, or says that there is none such. */
export type ValueFate = 'taken' | 'refused';

const OF_A_WORKLOAD = {
  'image.repository': 'mirror/isthmus', 'image.tag': 'v9', 'image.pullPolicy': 'Always', 'resources.limits.cpu': '2',
  'nodeSelector.disk': 'ssd', 'securityContext.runAsUser': 4242, 'affinity.nodeAffinity.x': 'y',
  'tolerations[0].key': 'dedicated',
};
const under = (name: string, values: Readonly<Record<string, string | number>>): [string, string | number][] =>
  Object.entries(values).map(([key, value]) => [`${name}.${key}`, value]);

/**
 * Every value of Admiralty 0.17's chart (`charts/multicluster-scheduler/values.yaml`), with another one than its
 * default, and its fate here.
 */
export const ADMIRALTY_VALUES: Readonly<
  Record<ValueFate, readonly (readonly [path: string, value: string | number | boolean])[]>
> = {
  taken: [
    ['clusterName', 'c1'],
    ['imagePullSecretName', 'pull'], ['sourceController.enabled', false], ['webhook.reinvocationPolicy', 'Never'],
    ['controllerManager.replicas', 3], [
      'controllerManager.certificateSignerName', 'beta.eks.amazonaws.com/app-serving',
    ], ...under('controllerManager', OF_A_WORKLOAD),
    ['scheduler.replicas', 4], ...under('scheduler', OF_A_WORKLOAD),
    ...under('postDeleteJob', OF_A_WORKLOAD),
  ],
  refused: [
    ['nameOverride', 'n'], ['fullnameOverride', 'f'],
    ['restarter.replicas', 1], ['restarter.image.tag', 'v9'], ['restarter.nodeSelector.disk', 'ssd'],
    ['debug.controllerManager', true],
    ['debug.proxyScheduler', true], ['debug.candidateScheduler', true], ['debug.restarter', true],
    // Their names hold other programs.
    ...['agent', 'scheduler', 'restarter', 'remove-finalizers'].map((name): [string, string] => [
      'controllerManager.image.repository', `mirror.example/admiralty/multicluster-scheduler-${name}`,
    ]),
    // Since 0.16 under another name.
    ...['agent', 'scheduler', 'restarter', 'remove-finalizers'].map(
      (name): [string, string] => ['controllerManager.image.repository', `public.ecr.aws/admiralty/admiralty-${name}`],
    ),
    ['scheduler.image.repository', 'public.ecr.aws/admiralty/admiralty-scheduler'],
    ['scheduler.image.repository', 'quay.io/admiralty/multicluster-scheduler-scheduler'],
    ['postDeleteJob.image.repository', 'quay.io/admiralty/multicluster-scheduler-remove-finalizers'],
  ],
};

/** Its Deployments, by the label `component` of their pods, with the variables by which they know names of objects. */
const COMPONENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'controller-manager': {
    CLUSTER_NAME: '', SOURCE_CLUSTER_ROLE_NAME: `${FULL_NAME}-source`,
    CLUSTER_SUMMARY_VIEWER_CLUSTER_ROLE_NAME: `${FULL_NAME}-cluster-summary-viewer`,
  },
  'proxy-scheduler': { CLUSTER_NAME: '' },
  'candidate-scheduler': {},
  restarter: { ADMIRALTY_CONTROLLER_MANAGER_DEPLOYMENT_NAME: `${FULL_NAME}-controller-manager` },
};

function toDeployment([component, variables]: [string, Readonly<Record<string, string>>]): object {
  const all = { ...selector, component };
  const container = {
    name: component,
    image: `public.ecr.aws/admiralty/admiralty-${component === 'controller-manager' ? 'agent' : 'scheduler'}:0.17.0`,
    env: Object.entries(variables).map(([name, value]) => ({ name, value })),
  };
  return {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: `${FULL_NAME}-${component}`, labels },
    spec: {
      replicas: 2, selector: { matchLabels: all },
      template: { metadata: { labels: all }, spec: { containers: [container] } },
    },
  };
}

/** The roles that its controller binds sources to, in its `templates/cr.yaml`. */
const ROLES: Readonly<Record<string, readonly object[]>> = {
  source: [
    {
      apiGroups: [ADMIRALTY_GROUP], resources: ['podchaperons'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'delete', 'deletecollection', 'patch'],
    },
    {
      apiGroups: [''], resources: ['services', 'secrets', 'configmaps'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
    },
    {
      apiGroups: ['networking.k8s.io'], resources: ['ingresses'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
    },
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
    { apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] },
  ],
  'cluster-summary-viewer':
    [{ apiGroups: [ADMIRALTY_GROUP], resources: ['clustersummaries'], verbs: ['get', 'list', 'watch'] }],
};

function toRole([name, rules]: [string, readonly object[]]): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: `${FULL_NAME}-${name}`, labels },
    rules,
  };
}

/** Its webhook, at a URL in place of a Service. */
function toWebhook(url: string): object {
  const webhook = {
    name: `${FULL_NAME}.multicluster.admiralty.io`,
    clientConfig: { url }, failurePolicy: 'Ignore', sideEffects: 'None', admissionReviewVersions: ['v1beta1'],
    namespaceSelector: { matchLabels: { 'multicluster-scheduler': 'enabled' } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: '*' }],
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration',
    metadata: {
      name: FULL_NAME, labels,
      annotations: { 'cert-manager.io/inject-ca-from': `{{ .Release.Namespace }}/${FULL_NAME}` },
    },
    webhooks: [webhook],
  };
}

/** Writes the chart into a folder that is not there yet. Nobody answers at its webhook, which is not waited for. */
export async function writeAdmiraltyChart(folder: string): Promise<void> {
  const hook = { 'helm.sh/hook': 'post-delete', 'helm.sh/hook-delete-policy': 'hook-succeeded' };
  const template = {
    metadata: { labels: selector },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'remove-finalizers', image: 'public.ecr.aws/admiralty/admiralty-remove-finalizers:0.17.0' }],
    },
  };
  const job = {
    apiVersion: 'batch/v1', kind: 'Job', metadata: { name: `${FULL_NAME}-post-delete-hook`, labels, annotations: hook },
    spec: { template },
  };
  const objects = [
    ...DEFINITIONS.map(toCustomResourceDefinition), ...Object.entries(ROLES).map(toRole),
    ...Object.entries(COMPONENTS).map(toDeployment), toWebhook('https://127.0.0.1:1/mutate--v1-pod'), job,
  ];
  await mkdir(join(folder, 'templates'), { recursive: true });
  await writeFile(
    join(folder, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: NAME, version: '0.17.0', appVersion: '0.17.0' }),
  );
  await writeFile(
    join(folder, 'templates', 'all.yaml'),
    objects.map((object) => stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n'),
  );
}
