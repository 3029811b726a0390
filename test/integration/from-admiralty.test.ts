// The first steps of docs/from-admiralty.md, typed as they stand there, on a real API server with a release of Admiralty's: whatever is of its kinds stays.
import assert from 'node:assert/strict';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import type { KubernetesObject } from '../../api/core.ts';
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { writeAdmiraltyChart } from '../support/admiralty-chart.ts';
import { blocksOf, textOf } from '../support/documented-blocks.ts';
import { CHART, Packaging, type Ended } from '../support/packaging.ts';

const COMMANDS = blocksOf(textOf('docs/from-admiralty.md')).flatMap(({ text }) => text.split('\n')).filter((line) => /^(helm|kubectl) /.test(line));
const SAMPLES = [
  { apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name: 'eu-west' }, spec: { kubeconfigSecret: { name: 'eu-west', namespace: 'admiralty' } } },
  { apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'PodChaperon', metadata: { namespace: 'default', name: 'web-x7k2p' }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } },
];

describe('a release of Admiralty', () => {
  const deadline = AbortSignal.timeout(240_000);
  let sandbox: Sandbox;
  let tools: Packaging;
  let chart: string;
  const typed = async (line: string, input?: string): Promise<Ended> => {
    const [tool, ...args] = line.replace('manifests/helm/isthmus', CHART).split(' ');
    const run = { kubeconfig: sandbox.clusters[0]!.kubeconfigPath, ...(input !== undefined && { input }) };
    const end = await (tool === 'helm' ? tools.helm(args, run) : tools.kubectl(args, run));
    assert.equal(end.code, 0, `${line}: ${end.stderr}`);
    return end;
  };
  /** Of the definitions of the group, and of what is of their kinds. */
  const uids = async (): Promise<readonly string[]> => {
    const lists = await Promise.all(['crd', 'clustertargets,podchaperons -A'].map((what) => typed(`kubectl get ${what} -o json`)));
    const all = lists.flatMap(({ stdout }) => (JSON.parse(stdout) as { readonly items: readonly KubernetesObject[] }).items);
    return all.filter(({ kind, metadata }) => kind !== 'CustomResourceDefinition' || metadata.name?.endsWith('.multicluster.admiralty.io')).map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
  };

  before(async () => {
    tools = await Packaging.open(deadline);
    chart = await mkdtemp(join(tmpdir(), 'isthmus-admiralty-chart-'));
    await writeAdmiraltyChart(chart);
    sandbox = await startSandbox({ dir: await mkdtemp(join(tmpdir(), 'isthmus-admiralty-')), targets: 1, nodes: 0, gpus: 0, audit: false, controllerQps: 1_000 }, deadline);
    await typed(`helm install admiralty ${chart} --namespace admiralty --create-namespace --server-side=false`); // as Helm 3 does
    await typed('kubectl wait --for=condition=Established crd --all --timeout=60s');
    await typed('kubectl create -f -', SAMPLES.map((object) => stringify(object)).join('---\n'));
  });
  after(async () => {
    await sandbox?.stop();
    if (sandbox !== undefined) await rmdir(sandbox.dir);
    await rm(chart, { recursive: true });
  });

  it('gives way to Isthmus by the commands of the page, and its kinds and their objects stay the same ones', async () => {
    assert.deepEqual(COMMANDS.map((line) => line.split(' ').slice(0, 2).join(' ')), ['kubectl annotate', 'helm upgrade', 'helm uninstall', 'helm upgrade']);
    const before = await uids();
    assert.equal(before.length, 6 + SAMPLES.length);
    for (const line of COMMANDS) await typed(line);
    assert.deepEqual(await uids(), before);
    const { stdout: releases } = await typed('helm list -A --short');
    assert.equal(releases.trim(), 'isthmus');
    const { stdout: left } = await typed('kubectl get deployments,jobs -n admiralty -o name');
    assert.equal(left, '');
  });

  it('leaves definitions that are of the release of Isthmus from then on, with its fields', async () => {
    const { stdout } = await typed('kubectl get crd clustertargets.multicluster.admiralty.io -o json');
    const { metadata } = JSON.parse(stdout) as KubernetesObject;
    assert.equal(metadata.annotations?.['meta.helm.sh/release-name'], 'isthmus');
    await typed('helm upgrade isthmus manifests/helm/isthmus --namespace isthmus-system --set logLevel=debug');
  });
});
