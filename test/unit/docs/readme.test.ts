// What the README shows is what the demo prints, and what it claims is what was measured.
// `npm run update-golden` makes it so.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { Pod } from '../../../api/objects/core.ts';
import type { Report, Result } from '../../../benchmarks/results/report.ts';
import { significant } from '../../../benchmarks/results/statistics.ts';
import { delegateName, virtualNodeName } from '../../../model/naming/names.ts';
import { environment } from '../../../process/config.ts';
import { sampleObjects } from '../../../sandbox/demo.ts';
import { toPodTables } from '../../../sandbox/pod-table.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

const PAGE = 'README.md';
const NOW = Date.parse('2026-01-01T00:00:02Z');

function aPod(name: string, nodeName: string, podIP: string): Pod {
  const status =
    { phase: 'Running', podIP, containerStatuses: [{ name: 'api', ready: true } as { name: string }] } as const;
  const creationTimestamp = new Date(NOW - 2_000).toISOString();
  return { metadata: { name, creationTimestamp }, spec: { containers: [{ name: 'api' }], nodeName }, status };
}

/** What the demo prints at its end, of a source and one target: three pods, enough to see both sides. */
function demoOutput(): string {
  const { deployment } = sampleObjects();
  const names = ['4kq2x', '9zt6c', 'xv5jm'].map((suffix) => `${deployment.metadata.name}-7d9f8-${suffix}`);
  const node = virtualNodeName({ kind: 'ClusterTarget', name: 'target-1' });
  const source = names.map((name, index) => aPod(name, node, `10.1.0.${index + 1}`));
  const target = names.map((name, index) => aPod(delegateName(name, `uid-${index}`), 'node-1', `10.1.0.${index + 1}`));
  const clusters = [{ cluster: 'source', pods: source }, { cluster: 'target-1', pods: target }];
  return toPodTables(clusters, NOW, 160).trimEnd();
}

interface Measured extends Result {
  readonly report: Report;
}

/** A result that is kept in the checkout. */
function measured(id: string, variant: string): Measured {
  const report = JSON.parse(textOf(`docs/results/benchmarks/${id}.json`)) as Report;
  const result = report.results.find((one) => one.variant === variant);
  assert.ok(result, `${id} has no ${variant}`);
  return { ...result, report };
}

const figure = ({ ours, unit }: Pick<Result, 'ours' | 'unit'>): string => `${significant(ours, 3)} ${unit}`;

/** The claim in figures, from the results of benchmarks. */
function measuredLine(): string {
  const single = measured('P13', 'PodChaperon-p50');
  const burst = measured('P1', 'PodChaperon-raised-200');
  const { machine: { cores, memoryBytes, node }, commit, measuredOn } = burst.report;
  const goal = burst.goal !== null && 'atLeast' in burst.goal ? `goal ≥ ${burst.goal.atLeast}` : 'no goal';
  return `**Measured:** a single elected pod is Running after ${figure(single)}, a plain one after `
    + `${figure({ ...single, ours: single.reference ?? Number.NaN })}; a burst of 200 pods reaches `
    + `${significant(burst.ratio ?? Number.NaN, 3)} of the rate of plain pods (${goal}, `
    + `${burst.holds === true ? 'met' : 'missed'}); all components of a source use ${figure(measured('PM', 'idle'))} `
    + 'at rest. '
    + `${measuredOn}, commit ${commit.slice(0, 8)}, ${cores} shared vCPU, ${Math.round(memoryBytes / 1_024 ** 3)} GiB, `
    + `Node.js ${node} ([all results](docs/results/benchmarks.md)).`;
}

function current(text: string): string {
  const shown = text.replace(/```text\n[^]*?```/, () => `\`\`\`text\n${demoOutput()}\n\`\`\``);
  return shown.replace(/^(?:measured|\*\*Measured:\*\*.*)$/m, measuredLine);
}

describe('the README', () => {
  const text = textOf(PAGE);

  it('shows what the demo prints, and claims what was measured', () => {
    if (environment().updateGolden) writeFileSync(join(ROOT, PAGE), current(text));
    assert.equal(text, current(text));
  });

  it('claims figures at all', () => {
    assert.ok((measuredLine().match(/\d/g) ?? []).length > 10);
    assert.doesNotMatch(measuredLine(), /undefined|NaN/);
  });

  it('names the versions that the chart and the package ask for', () => {
    const chart = parse(textOf('manifests/helm/isthmus/Chart.yaml')) as Readonly<Record<string, string>>;
    const { kubeVersion = '', appVersion } = chart;
    const { engines } = JSON.parse(textOf('package.json')) as { readonly engines: { readonly node: string } };
    assert.ok(text.includes(`Kubernetes ${kubeVersion.replace(/^>=(\d+\.\d+).*$/, '$1')} or newer`));
    assert.ok(text.includes(`isthmus:${appVersion}`));
    assert.ok(text.includes(`Node.js ≥ ${engines.node.replace('>=', '')}`));
  });

  it('fits on two screens', () => assert.ok(text.split('\n').length <= 100));
});
