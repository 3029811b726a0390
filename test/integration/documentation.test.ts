// What the documentation has users apply or type, on real API servers: every YAML of every page, and the steps that
// take Admiralty's place.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { writeAdmiraltyChart } from '../support/peers/admiralty-chart.ts';
import { blocksOf, PAGES, ROOT, textOf } from '../support/docs/documented-blocks.ts';
import { isthmus, RunningCommand } from '../support/processes/command-line.ts';
import { CHART, Packaging, type Ended } from '../support/peers/packaging.ts';
import { TOOL_DEFINITIONS } from '../support/peers/tool-crds.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Documented {
  readonly page: string;
  readonly text: string;
}

const deadline = AbortSignal.timeout(240_000);
let sandbox: Sandbox;
let tools: Packaging;

before(async () => {
  tools = await Packaging.open(deadline);
  sandbox = await startTestSandbox(
    {
      dir: await mkdtemp(join(tmpdir(), 'isthmus-documentation-')), targets: 1, nodes: 0, gpus: 0, audit: false,
    },
    deadline,
  );
});
after(async () => {
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir);
});

/** Runs a command line as it is typed, in one of the clusters. */
function typed(cluster: 0 | 1, line: string, input?: string): Promise<Ended> {
  const [tool, ...args] = line.replace('manifests/helm/isthmus', CHART).split(' ');
  const run = { kubeconfig: sandbox.clusters[cluster]!.kubeconfigPath, ...(input !== undefined && { input }) };
  return tool === 'helm' ? tools.helm(args, run) : tools.kubectl(args, run);
}

async function succeeds(cluster: 0 | 1, line: string, input?: string): Promise<string> {
  const { code, stdout, stderr } = await typed(cluster, line, input);
  assert.equal(code, 0, `${line}: ${stderr}`);
  return stdout;
}

const stream = (objects: readonly object[]): string => objects.map((object) => stringify(object)).join('---\n');

/** What pages show of an object only: the object around it. */
const PARTS: Readonly<Record<string, (part: Fields) => object>> = {
  'docs/placement-policy.md': ({ spec }) => ({
    apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget',
    metadata: { name: 'part' }, spec: { kubeconfigSecret: { name: 'part' }, ...(spec as object) },
  }),
  'docs/pod-groups.md': ({ metadata }) => ({
    apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'default', name: 'part', ...(metadata as object) },
    spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
  }),
};

/** Pages whose YAML is values of the chart. */
const VALUES: ReadonlySet<string> = new Set(['docs/targets.md', 'docs/tracing.md']);

const blocks = PAGES.flatMap((page) => blocksOf(textOf(page)).map((block) => ({ page, ...block })));
const ofPages: readonly Documented[] = blocks.filter(({ language }) => /^ya?ml$/.test(language));
/** What command lines hand to kubectl. */
const typedIn: readonly Documented[] = blocks.flatMap(({ page, text: lines }) =>
  [...lines.matchAll(/apply -f - <<(\w+)\n([^]*?)^\1$/gm)].map(([, , text = '']) => ({ page, text })));
const ofFiles: readonly Documented[] = readdirSync(join(ROOT, 'docs/examples')).filter((name) => name.endsWith('.yaml'))
  .map(
  (name) => ({ page: `docs/examples/${name}`, text: textOf(`docs/examples/${name}`) }),
);

const GOLDEN = 'test/golden/convert';
/** What `isthmus convert` prints of other systems' manifests; of kinds that a cluster with Isthmus serves. */
const converted: readonly KubernetesObject[] = readdirSync(join(ROOT, GOLDEN)).filter(
  (name) => name.endsWith('.output.yaml'),
).flatMap((name) => parseAllDocuments(textOf(`${GOLDEN}/${name}`)).flatMap((document) => {
  const object = document.toJS() as KubernetesObject | null;
  return object === null || object.kind === 'Guestbook' ? [] : [object];
}));

/** The whole objects that a block shows. Throws where one that is no object has nothing around it. */
function completed({ page, text }: Documented): readonly KubernetesObject[] {
  return parseAllDocuments(text).map((document) => {
    const shown = document.toJS() as Fields;
    const around = 'kind' in shown ? (): object => shown : PARTS[page];
    if (around === undefined) throw new Error(`${page} shows a part; say in PARTS of what:\n${text}`);
    return around(shown) as KubernetesObject;
  });
}

describe('the YAML of the documentation', () => {
  const DRY_RUN = 'kubectl apply --server-side --dry-run=server --validate=strict -f -';
  const documented = [...ofPages.filter(({ page }) => !VALUES.has(page)), ...ofFiles, ...typedIn].flatMap(completed);
  const objects = [...documented, ...converted];

  before(async () => {
    const names = new Set([
      'isthmus-system', 'isthmus-system-keys', 'isthmus-system-targets',
      ...objects.flatMap(({ metadata }) => metadata.namespace ?? []),
    ]);
    await succeeds(0, `kubectl apply --server-side -k ${ROOT}manifests/crds`);
    await succeeds(0, 'kubectl apply --server-side -f -', stream(TOOL_DEFINITIONS));
    await succeeds(0, 'kubectl apply --server-side -f -', stream(
      [...names].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ));
    await succeeds(0, 'kubectl wait --for=condition=Established crd --all --timeout=60s');
  });

  it('is taken by an API server, every field known', async () => {
    assert.ok(documented.length > 10 && converted.length > 100);
    const { stdout, stderr } = await typed(0, DRY_RUN, stream(objects));
    assert.equal(stderr, '');
    assert.equal(stdout.trim().split('\n').length, objects.length);
  });

  it('of values is taken by the chart, and what it renders with them by an API server', async () => {
    const values = ofPages.filter(({ page }) => VALUES.has(page));
    assert.deepEqual(new Set(values.map(({ page }) => page)), VALUES);
    for (const { text } of values) {
      const { code, stdout, stderr } = await tools.helm(
        ['template', 'isthmus', CHART, '--namespace', 'isthmus-system', '--values', '-'], { input: text },
      );
      assert.equal(code, 0, stderr);
      await succeeds(0, DRY_RUN, stdout);
    }
  });

  it('would be refused with a field that there is not, or without one that must be there', async () => {
    const wrong = [{ self: true, colour: 'red' }, {}].map(
      (spec, index) => ({
        apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name: `wrong-${index}` },
        spec,
      }),
    );
    const { code, stdout, stderr } = await typed(0, DRY_RUN, stream(wrong));
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /spec\.colour: field not declared[^]*set either kubeconfigSecret/);
  });
});

describe('the steps from Admiralty, in a target', () => {
  const lines = blocksOf(textOf('docs/from-admiralty.md')).flatMap(({ text }) => text.split('\n'));
  const typedBy = (start: string): string => lines.find((line) => line.startsWith(start)) ?? '';
  const group = { apiVersion: 'multicluster.admiralty.io/v1alpha1' };
  const samples = [
    {
      ...group, kind: 'ClusterSource', metadata: { name: 'hq' },
      spec: { serviceAccount: { name: 'hq', namespace: 'admiralty' } },
    },
    {
      ...group, kind: 'Source', metadata: { namespace: 'default', name: 'team' },
      spec: { userName: 'team@example.com', serviceAccountName: 'team' },
    },
    {
      ...group, kind: 'ClusterSummary', metadata: { name: 'singleton' }, capacity: { cpu: '4', memory: '16Gi' },
      allocatable: { cpu: '3800m', memory: '15Gi' },
    },
    {
      ...group, kind: 'PodChaperon', metadata: { namespace: 'default', name: 'web-x7k2p' },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    },
  ];
  const RELEASE = 'mc-admiralty'; // not the one of the page: names follow from it
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding',
    metadata: { name: 'admiralty-cluster-source-hq' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `${RELEASE}-source` },
    subjects: [{ kind: 'ServiceAccount', namespace: 'admiralty', name: 'hq' }],
  };
  const KINDS = 'clustersources,sources,podchaperons,clustersummaries';
  let chart: string;
  let running: RunningCommand;

  /** Of the definitions of the group, and of what is of their kinds. */
  const uids = async (): Promise<readonly string[]> => {
    const lists = [await succeeds(1, 'kubectl get crd -o json'), await succeeds(1, `kubectl get ${KINDS} -A -o json`)];
    const all = lists.flatMap((list) => (JSON.parse(list) as { readonly items: readonly KubernetesObject[] }).items);
    return all.filter(({ kind, metadata }) => kind !== 'CustomResourceDefinition' || metadata.name?.endsWith(
      '.multicluster.admiralty.io',
    )).map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
  };

  /** Changes with each change of its fields, which ends all watches of PodChaperons. */
  const chaperonGeneration = async (): Promise<number | undefined> => (JSON.parse(
    await succeeds(1, 'kubectl get crd podchaperons.multicluster.admiralty.io -o json'),
  ) as KubernetesObject).metadata.generation;

  before(async () => {
    chart = await mkdtemp(join(tmpdir(), 'isthmus-admiralty-chart-'));
    await writeAdmiraltyChart(chart);
    // as Helm 3 does
    await succeeds(1, `helm install ${RELEASE} ${chart} --namespace admiralty --create-namespace --server-side=false`);
    await succeeds(1, 'kubectl wait --for=condition=Established crd --all --timeout=60s');
    await succeeds(1, 'kubectl create -f -', stream([...samples, binding]));
  });
  after(async () => {
    await running?.stop();
    await rm(chart, { recursive: true });
  });

  it('leave definitions, objects and permissions where they are, and Isthmus in the place of Admiralty', async () => {
    const before = await uids();
    assert.equal(before.length, 6 + samples.length);
    const generation = await chaperonGeneration();
    await succeeds(1, typedBy('helm upgrade --install').replace('target.yaml', sandbox.clusters[1]!.kubeconfigPath));
    const { kubeconfigPath } = sandbox.clusters[1]!;
    running = new RunningCommand('run', '--kubeconfig', kubeconfigPath, '--components', 'delegate-controller,peering');
    const words = typedBy('isthmus migrate admiralty').replace('target.yaml', kubeconfigPath).split(' ').slice(1);
    const dry = await isthmus(...words, '--dry-run');
    assert.match(dry.stdout, /would 1\/8 keep the CRDs[^]*nothing was changed/, dry.stderr);
    const { code, stdout, stderr } = await isthmus(...words);
    assert.equal(code, 0, stdout + stderr);
    const { roleRef } = JSON.parse(
      await succeeds(1, 'kubectl get clusterrolebinding admiralty-cluster-source-hq -o json'),
    ) as typeof binding;
    assert.equal(roleRef.name, 'isthmus-source');
    await succeeds(1, typedBy('helm uninstall').replace('uninstall admiralty', `uninstall ${RELEASE}`));
    assert.deepEqual((await uids()).toSorted(), before.toSorted());
    assert.equal(await chaperonGeneration(), generation, 'no watch of PodChaperons has ended');
    assert.equal((await succeeds(1, 'helm list -A --short')).trim(), 'isthmus');
    assert.equal(await succeeds(1, 'kubectl get deployments,jobs -n admiralty -o name'), '');
    assert.match(
      await succeeds(1, `kubectl get clusterrole ${RELEASE}-source ${RELEASE}-cluster-summary-viewer -o name`),
      /-source\n.*-viewer/,
    );
  });

  it('leave objects that can be changed', async () => {
    for (const { kind, metadata: { name, namespace = 'default' } } of samples as readonly KubernetesObject[]) {
      await succeeds(1, `kubectl label ${kind?.toLowerCase()} ${name} -n ${namespace} seen=yes`);
    }
  });

  it('leave definitions that are of the release of Isthmus, which upgrades them, but for PodChaperons', async () => {
    const generation = await chaperonGeneration();
    await succeeds(
      1,
      'helm upgrade isthmus manifests/helm/isthmus --namespace isthmus-system --set logLevel=debug --set ' +
        'source.enabled=false',
    );
    const { metadata } = JSON.parse(
      await succeeds(1, 'kubectl get crd clustertargets.multicluster.admiralty.io -o json'),
    ) as KubernetesObject;
    assert.equal(metadata.annotations?.['meta.helm.sh/release-name'], 'isthmus');
    assert.equal(await chaperonGeneration(), generation);
    const { kubeconfigPath } = sandbox.clusters[1]!;
    const installed = await isthmus('install', '--kubeconfig', kubeconfigPath, '--role', 'target');
    assert.equal(installed.code, 0, installed.stderr);
    assert.equal(await chaperonGeneration(), generation, '"isthmus install" leaves it, too');
  });
});
