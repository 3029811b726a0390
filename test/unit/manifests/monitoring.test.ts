// Alerts and dashboard: they ask for metrics that exist, each alert has a page that says what to do, and Helm can carry
// both.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';

const root = new URL('../../../../', import.meta.url);
const read = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8');
const SEVERITIES = new Set(['warning', 'critical']);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** Metrics of the page, as they are asked for: with their labels; histograms by their three series. */
let known: ReadonlyMap<string, readonly string[]>;
before(async () => {
  const rows = [...(await read('docs/metrics.md')).matchAll(/^\| `(\w+)` \| (\w+) \| ([\w, ]*) \|/gm)];
  known = new Map(rows.flatMap(([, name = '', type, labels = '']) => {
    const named = labels.split(',').map((label) => label.trim()).filter((label) => label !== '');
    return (type === 'histogram' ? [`${name}_count`, `${name}_sum`, `${name}_bucket`] : [name]).map(
      (series) => [series, [...named, 'le']] as const,
    );
  }));
});

/** A label that whoever scrapes several clusters adds to all series. */
const CLUSTER = 'cluster';

/** What an expression asks for that is not there: series, and labels within braces or after `by`. */
function unknownIn(expr: string): readonly string[] {
  const series = [...expr.matchAll(/\bisthmus_\w+/g)].map(([name]) => name);
  const labels = new Set([CLUSTER, ...series.flatMap((name) => known.get(name) ?? [])]);
  const asked = [...expr.matchAll(/by \(([^)]*)\)/g)]
    .flatMap(([, list = '']) => list.split(',').map((label) => label.trim()))
    .concat([...expr.matchAll(/(\w+)(?==~?")/g)].map(([name]) => name));
  return [...series.filter((name) => !known.has(name)), ...asked.filter((label) => !labels.has(label)), ...(
    series.length === 0 ? ['no metric of ours'] : []
  )];
}

const isBalanced = (expr: string): boolean =>
  [['(', ')'], ['{', '}'], ['[', ']']].every(([open, close]) => expr.split(open!).length === expr.split(close!).length);

describe('the alerts', () => {
  let rules: readonly Rule[];
  let page: string;
  before(async () => {
    const { groups } = parse(await read('manifests/helm/isthmus/files/alerts.yaml')) as {
      readonly groups: readonly { readonly rules: readonly Rule[] }[]
    };
    rules = groups.flatMap((group) => group.rules);
    page = await read('docs/alerts.md');
  });

  it('ask for what there is', () => {
    assert.ok(rules.length >= 8);
    for (const { alert, expr } of rules) assert.deepEqual([unknownIn(expr), isBalanced(expr)], [[], true], alert);
  });

  it('have a severity, a time, a sentence and a place on the page', () => {
    for (const { alert, for: time, labels, annotations } of rules) {
      assert.ok(SEVERITIES.has(labels.severity) && /^\d+[mh]$/.test(time) && annotations.summary.endsWith('.'), alert);
      assert.equal(annotations.runbook_url, `docs/alerts.md#${alert.toLowerCase()}`);
      assert.ok(page.includes(`\n## ${alert}\n`), alert);
    }
  });

  it('are all that the page has', () => {
    assert.deepEqual([...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name), rules.map(({ alert }) => alert));
  });

  it('name labels in their sentences that their expression keeps', () => {
    for (const { alert, expr, annotations } of rules) {
      for (const [, label = ''] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) assert.ok(
        !expr.includes('sum(') && !/\bby \(/.test(expr) || new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr),
        `${alert}: ${label}`,
      );
    }
  });
});

describe('the dashboard', () => {
  let panels: readonly Panel[];
  let variables: readonly string[];
  before(async () => {
    const dashboard = JSON.parse(await read('manifests/helm/isthmus/files/dashboard.json')) as {
      readonly panels: readonly Panel[]; readonly templating: { readonly list: readonly { readonly name: string }[] };
    };
    panels = dashboard.panels;
    variables = dashboard.templating.list.map(({ name }) => name);
  });

  it('has a unit and a sentence for each panel, and shows the clusters that are chosen', () => {
    assert.deepEqual(variables, ['datasource', CLUSTER]);
    for (const { title, type, description, fieldConfig, targets = [] } of panels.filter((one) => one.type !== 'row')) {
      assert.ok(description?.endsWith('.') === true && fieldConfig?.defaults.unit !== undefined, `${type} ${title}`);
      for (const { expr } of targets) {
        const series = [...expr.matchAll(/isthmus_\w+(?:\{[^}]*\})?/g)].map(([one]) => one);
        assert.ok(series.every((one) => one.includes('{cluster=~"$cluster"')), expr);
      }
    }
  });

  it('asks for what there is', () => {
    const asked = panels.flatMap(({ targets = [] }) => targets);
    assert.ok(asked.length > 15);
    for (const { expr } of asked) {
      assert.deepEqual([unknownIn(expr.replaceAll('$__rate_interval', '5m')), isBalanced(expr)], [[], true], expr);
    }
  });

  it('has panels with a name and a number of their own that do not overlap', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
    const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) => Array.from(
      { length: h * w }, (_value, index) => `${x + (index % w)},${y + Math.floor(index / w)}`,
    ));
    assert.equal(new Set(cells).size, cells.length);
    assert.ok(panels.every(({ gridPos: { w, x } }) => x + w <= 24));
  });

  it('shows most of the metrics', () => {
    const text = JSON.stringify(panels);
    const bases = new Set([...known.keys()].map((name) => name.replace(/_(count|sum|bucket)$/, '')));
    const shown = [...bases].filter((name) => text.includes(name));
    assert.ok(shown.length >= bases.size / 2, `${shown.length} of ${bases.size}`);
  });
});
