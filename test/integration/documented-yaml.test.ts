// Every YAML of the documentation is taken by a real API server, fields that no kind has refused. What a page shows of an object only is completed here.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { blocksOf, PAGES, ROOT, textOf } from '../support/documented-blocks.ts';
import { CHART, documents, Packaging, type Ended } from '../support/packaging.ts';

interface Documented {
  /** Page or file, and the number of its block. */
  readonly where: string;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** What pages show of an object, by the page: the object around it. */
const PARTS: Readonly<Record<string, (part: Fields) => object>> = {
  'docs/placement-policy.md': ({ spec }) => ({
    apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name: 'part' }, spec: { kubeconfigSecret: { name: 'part' }, ...(spec as object) },
  }),
  'docs/pod-groups.md': ({ metadata }) => ({
    apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'default', name: 'part', ...(metadata as object) }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
  }),
};

/** Pages whose YAML is values of the chart. */
const VALUES: ReadonlySet<string> = new Set(['docs/tracing.md']);

const pageOf = ({ where }: Documented): string => where.split(' ')[0] ?? '';
const ofPages: readonly Documented[] = PAGES.flatMap((page) => blocksOf(textOf(page)).filter(({ language }) => /^ya?ml$/.test(language)).map(({ text }, index) => ({ where: `${page} ${index + 1}`, text })));
const ofFiles: readonly Documented[] = readdirSync(join(ROOT, 'docs/examples')).map((name) => ({ where: `docs/examples/${name}`, text: textOf(`docs/examples/${name}`) }));
const isValues = (each: Documented): boolean => VALUES.has(pageOf(each));

/** The whole of what a block shows. Throws where a block that is no object has nothing around it. */
function completed({ where, text }: Documented): string {
  return parseAllDocuments(text).map((document) => {
    const shown = document.toJS() as Fields;
    if ('kind' in shown) return stringify(shown);
    const around = PARTS[where.split(' ')[0] ?? ''];
    if (around === undefined) throw new Error(`${where} shows a part; say in PARTS of what`);
    return stringify(around(shown));
  }).join('---\n');
}

describe('the YAML of the documentation', () => {
  const deadline = AbortSignal.timeout(240_000);
  let sandbox: Sandbox;
  let tools: Packaging;
  const kubectl = (args: readonly string[], input?: string): Promise<Ended> => tools.kubectl(args, { kubeconfig: sandbox.clusters[0]!.kubeconfigPath, ...(input !== undefined && { input }) });
  const dryRun = (text: string): Promise<Ended> => kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], text);

  before(async () => {
    tools = await Packaging.open(deadline);
    sandbox = await startSandbox({ dir: await mkdtemp(join(tmpdir(), 'isthmus-documented-')), targets: 1, nodes: 0, gpus: 0, audit: false, controllerQps: 1_000 }, deadline);
    const whole = [...ofPages, ...ofFiles].filter((each) => !isValues(each)).flatMap((each) => documents(completed(each)));
    const namespaces = new Set(['isthmus-system', ...whole.flatMap(({ metadata }) => metadata.namespace ?? [])].filter((name) => name !== 'default'));
    const make = [['apply', '--server-side', '-k', join(ROOT, 'manifests/crds')], ...[...namespaces].map((name) => ['create', 'namespace', name]), ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']];
    for (const args of make) assert.equal((await kubectl(args)).code, 0, args.join(' '));
  });
  after(async () => {
    await sandbox?.stop();
    if (sandbox !== undefined) await rmdir(sandbox.dir);
  });

  it('is there', () => assert.ok(ofPages.length > 8 && ofFiles.length > 0));

  for (const each of [...ofPages, ...ofFiles]) {
    if (isValues(each)) continue;
    it(`${each.where} is taken`, async () => {
      const { code, stderr } = await dryRun(completed(each));
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    });
  }

  for (const each of ofPages.filter(isValues)) {
    it(`${each.where} is values that the chart takes, and so is what it renders with them`, async () => {
      const values = Object.entries(parse(each.text) as Fields).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);
      const { code, stdout, stderr } = await tools.helm(['template', 'isthmus', CHART, '--namespace', 'isthmus-system', ...values]);
      assert.equal(code, 0, stderr);
      assert.equal((await dryRun(stdout)).code, 0);
    });
  }

  it('would be refused with a field that there is not, or without one that must be there', async () => {
    for (const spec of [{ self: true, colour: 'red' }, {}]) {
      const { code } = await dryRun(stringify({ apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name: 'wrong' }, spec }));
      assert.equal(code, 1);
    }
  });
});
