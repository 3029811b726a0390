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
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly refId: string }[];
  readonly collapsed?: boolean;
  readonly datasource?: unknown;
}
interface Dashboard {
  readonly uid: string;
  readonly schemaVersion: number;
}

/** Fields of a dashboard that Grafana reads, as far as we may use them (JSON model of Grafana 10 to 12). */
const DASHBOARD_FIELDS: ReadonlySet<string> = new Set([
  'title', 'description', 'uid', 'schemaVersion', 'version', 'editable', 'tags', 'timezone', 'refresh', 'time',
  'templating', 'annotations', 'panels', 'links', 'graphTooltip',
]);
/** The same of a panel. */
const PANEL_FIELDS: ReadonlySet<string> = new Set([
  'type', 'title', 'description', 'id', 'gridPos', 'datasource', 'fieldConfig', 'options', 'targets', 'collapsed',
  'panels',
]);
/** From here on rows are panels among others; before, panels lay in rows. */
const FIRST_SCHEMA_WITH_ROWS_AS_PANELS = 16;
/** Ids of units in Grafana's table of value formats, as far as we use them. */
const UNITS: ReadonlySet<string> =
  new Set(['none', 'short', 'bool', 's', 'ms', 'bytes', 'ops', 'reqps', 'percentunit', 'percent']);

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
        assert.ok(!/^max by \((?!cluster\b)/.test(expr), `${title}: a state of one cluster hides that of another`);
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

  it('is what Grafana reads: panels, units and targets that its own plugins know', async () => {
    const dashboard = JSON.parse(await read('manifests/helm/isthmus/files/dashboard.json')) as Dashboard;
    assert.deepEqual(Object.keys(dashboard).filter((field) => !DASHBOARD_FIELDS.has(field)), []);
    assert.ok(Number.isInteger(dashboard.schemaVersion) && dashboard.schemaVersion >= FIRST_SCHEMA_WITH_ROWS_AS_PANELS);
    assert.match(dashboard.uid, /^[\w-]{1,40}$/);
    assert.ok(!('id' in dashboard), 'a number of one Grafana would overwrite another dashboard');
    for (const panel of panels) {
      const { type, title, gridPos, fieldConfig, targets, collapsed, datasource } = panel;
      assert.deepEqual(Object.keys(panel).filter((field) => !PANEL_FIELDS.has(field)), [], title);
      assert.ok(Object.values(gridPos).every((value) => Number.isInteger(value) && value >= 0), title);
      if (type === 'row') {
        assert.deepEqual([targets, collapsed, gridPos.w, gridPos.h], [undefined, false, 24, 1], title);
        continue;
      }
      assert.equal(type, 'timeseries', title);
      assert.deepEqual(datasource, { type: 'prometheus', uid: '${datasource}' }, title);
      assert.ok(UNITS.has(fieldConfig?.defaults.unit ?? ''), `${title}: ${fieldConfig?.defaults.unit}`);
      const ids = targets?.map(({ refId }) => refId) ?? [];
      assert.ok(ids.length > 0 && new Set(ids).size === ids.length && ids.every((id) => /^[A-Z]+$/.test(id)), title);
    }
    const used = new Set(JSON.stringify(dashboard).match(/(?<=\$\{?)[a-z_]\w*/gi));
    const known = new Set([...variables, '__rate_interval', '__all']);
    assert.deepEqual([...used].filter((name) => !known.has(name)), [], 'variables that nothing defines');
  });

  it('shows most of the metrics', () => {
    const text = JSON.stringify(panels);
    const bases = new Set([...known.keys()].map((name) => name.replace(/_(count|sum|bucket)$/, '')));
    const shown = [...bases].filter((name) => text.includes(name));
    assert.ok(shown.length >= bases.size / 2, `${shown.length} of ${bases.size}`);
  });
});
