// What the README shows is what the demo prints, and what it claims is what was measured.
// `npm run update-golden` makes it so.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { Pod } from '../../../api/objects/core.ts';
import { delegateName, virtualNodeName } from '../../../model/naming/names.ts';
import { environment } from '../../../process/config.ts';
import { sampleObjects } from '../../../sandbox/demo.ts';
import { toPodTables } from '../../../sandbox/pod-table.ts';
import { ROOT, textOf } from '../../support/documented-blocks.ts';
import { measuredRow } from '../../support/measured-rows.ts';

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

/** A figure as it stands before its spread, or before what it is of. */
const figure = (cell = ''): string => cell.replace(/ (?:\(|plain).*$/, '');

/** The claim in figures, from the pages of results. */
function measuredLine(): string {
  const page = 'docs/results/benchmarks.md';
  const [single, plain] = measuredRow(page, 'P13, PodChaperon mode, p50 of 30');
  const [, , ratio, goal, holds] = measuredRow(page, 'P1 raised, 200 pods, 5 runs');
  const [atRest] = measuredRow('docs/results/delegation.md', 'resident memory at rest');
  const verdict = holds === 'yes' ? 'met' : 'missed';
  const [, machine = ''] = /^(.*), `npm run bench/m.exec(textOf(page)) ?? [];
  return `**Measured:** a single elected pod is Running after ${figure(single)}, a plain one after ${figure(plain)}; `
    + `a burst of 200 pods reaches ${ratio} of the rate of plain pods (goal ${goal}, ${verdict}); `
    + `all components of a source use ${figure(atRest)} at rest. `
    + `${machine} ([all results](docs/results/benchmarks.md)).`;
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
    assert.doesNotMatch(measuredLine(), /undefined/);
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
