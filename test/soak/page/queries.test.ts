// Alerts and dashboard in Prometheus' own parser and engine, and the dashboard in Grafana's own types: each query is
// asked of what our processes really show at /metrics, in two clusters whose pods run. A running Grafana is in no
// registry of modules or packages that this test could take it from.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { environment } from '../../../process/config.ts';
import { ensureGoProgram } from '../../../process/programs/go-program.ts';
import { forQuickBuilds } from '../../../sandbox/plan/binary-plan.ts';
import { makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';

const deadline = AbortSignal.timeout(390_000);
const file = (name: string): URL => new URL(`../../../../manifests/helm/isthmus/files/${name}`, import.meta.url);

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly type: string; readonly query: unknown }[] };
}

interface Answer {
  readonly error?: string;
  readonly series: number;
  readonly warnings?: readonly string[];
}

interface Answers {
  readonly ruleErrors: readonly string[];
  readonly dashboardErrors: readonly string[];
  readonly answers: readonly Answer[];
}

interface Scrape {
  readonly atMs: number;
  readonly text: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What Grafana puts in the place of `$cluster` when everything, one cluster, or several are chosen. */
const CHOICES = ['.*', 'source', '(source|other)'] as const;
const shown = (expr: string, choice: string = CHOICES[0]): string =>
  expr.replaceAll('$__rate_interval', '5m').replaceAll('$cluster', choice);

/** The expressions of the alerts by their names. */
async function alertExpressions(): Promise<ReadonlyMap<string, string>> {
  const { groups } = parse(await readFile(file('alerts.yaml'), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
  };
  return new Map(groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)));
}

/** What two scrapes a minute apart show, of each cluster, and for how many of these the alert fires. */
interface AlertCase {
  readonly alert: string;
  readonly shown: readonly Readonly<Record<string, string>>[];
  readonly firing: number;
}

const REJECTED = 'isthmus_webhook_requests_rejected_total{cause="overload"}';
const FAILED = 'isthmus_webhook_review_duration_seconds_count{outcome="failed"}';
const STUCK = 'isthmus_workqueue_depth{name="q"} 200\n';
const RUNS = 'isthmus_workqueue_work_duration_seconds_count{name="q"}';
const LEADING = 'isthmus_leading{lease="isthmus-scheduler"}';
/** A series exists from its first event on: what has never happened is not 0, but missing. */
const ALERT_CASES: readonly AlertCase[] = [
  { alert: 'IsthmusWebhookFails', shown: [{ a: `${REJECTED} 1\n` }, { a: `${REJECTED} 601\n` }], firing: 1 },
  { alert: 'IsthmusWebhookFails', shown: [{ a: `${FAILED} 1\n` }, { a: `${FAILED} 601\n` }], firing: 1 },
  { alert: 'IsthmusWebhookFails', shown: [{ a: `${FAILED} 1\n` }, { a: `${FAILED} 2\n` }], firing: 0 },
  { alert: 'IsthmusQueueStuck', shown: [{ a: STUCK }, { a: STUCK }], firing: 1 },
  { alert: 'IsthmusQueueStuck', shown: [{ a: `${STUCK}${RUNS} 7\n` }, { a: `${STUCK}${RUNS} 8\n` }], firing: 0 },
  {
    alert: 'IsthmusQueueStuck', firing: 1,
    shown: [{ a: STUCK, b: `${STUCK}${RUNS} 7\n` }, { a: STUCK, b: `${STUCK}${RUNS} 8\n` }],
  },
  { alert: 'IsthmusNoLeader', shown: [{}, { a: `${LEADING} 1\n`, b: `${LEADING} 0\n` }], firing: 1 },
];

let program: string;
const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;
let healthPort: number;

describe('the queries of alerts and dashboard', () => {
  before(async () => {
    program = await ensureGoProgram({
      module: 'sandbox/promql', name: 'promql', what: "Prometheus' engine for a test", takes: 'about two minutes',
      remedy: 'Only that test needs it.',
    }, forQuickBuilds(environment()), () => undefined, deadline);
    ({ world, healthPort } = shared());
    await makeNamespace(world, 'promql');
  }, { timeout: 390_000 });
  after(() => leaveWorld(world));

  async function ask(
    queries: readonly string[], scrapes: readonly Scrape[],
    files: { readonly rules?: string; readonly dashboard?: string } = {},
  ): Promise<Answers> {
    const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify({ ...files, queries, scrapes }));
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return JSON.parse(output) as Answers;
  }

  const page = async (): Promise<string> => (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();

  async function runPod(name: string): Promise<void> {
    const pod: Pod = {
      metadata: { namespace: 'promql', name, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    await world.source.client.create(PODS, pod);
    await world.source.pods.until(`${name} runs`, (pods) => pods.some(
      ({ metadata, status }) => metadata.name === name && status?.phase === 'Running',
    ), 60_000);
  }

  /**
   * Two scrapes a minute apart, between which a pod was sent to a target. One was sent before: a rate is known of
   * series that both scrapes have.
   */
  async function scrapes(): Promise<readonly Scrape[]> {
    await runPod('before');
    const first = await page();
    await runPod('between');
    const at = Date.parse('2026-11-25T12:00:00Z');
    const labels = { cluster: 'source', instance: 'isthmus' };
    return [{ atMs: at, text: first, labels }, { atMs: at + 60_000, text: await page(), labels }];
  }

  /** The values of a variable, `label_values(METRIC, LABEL)`, as a query: the function is Grafana's. */
  function valuesOf(query: unknown): string {
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec((query as { readonly query: string }).query) ?? [];
    return `count by (${label}) (${metric}{${label}!=""})`;
  }

  describe('in the engine of Prometheus', () => {
    it('are the alerts, as promtool would check them', async () => {
      const rules = await readFile(file('alerts.yaml'), 'utf8');
      assert.deepEqual(await ask([], [], { rules }), { ruleErrors: [], dashboardErrors: [], answers: [] });
      const { ruleErrors } = await ask([], [], { rules: rules.replace('== 0', '==') });
      assert.ok(ruleErrors.length > 0, 'what is wrong is found');
    });

    it("is the dashboard, as Grafana's own types read it", async () => {
      const dashboard = await readFile(file('dashboard.json'), 'utf8');
      assert.deepEqual((await ask([], [], { dashboard })).dashboardErrors, []);
      // these types know rows and variables; what a panel asks is held by the next test
      const mistakes = { '"gridPos":': '"grid":', '"refresh": 2': '"refresh": "2"' };
      for (const [right, wrong] of Object.entries(mistakes)) {
        assert.ok(dashboard.includes(right), right);
        const { dashboardErrors } = await ask([], [], { dashboard: dashboard.replace(right, wrong) });
        assert.notDeepEqual(dashboardErrors, [], `${wrong} is found`);
      }
    });

    it('every query of alerts and dashboard gives an answer about what we show', async () => {
      const { panels, templating } = JSON.parse(await readFile(file('dashboard.json'), 'utf8')) as Dashboard;
      const written = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
      const queries = written.map((expr) => shown(expr));
      const exprs = [...(await alertExpressions()).values()];
      assert.ok(queries.length > 15 && exprs.length >= 8);
      const taken = await scrapes();
      const { answers } = await ask([...queries, ...exprs], taken);
      const wrong = answers.map((answer, index) => ({ ...answer, query: [...queries, ...exprs][index] }))
        .filter(({ error, warnings = [] }) => error !== undefined || warnings.length > 0);
      assert.deepEqual(wrong, []);
      // a source without gateway and GPUs that has refused nobody: the other panels are empty there
      const filled = queries.filter((_query, index) => (answers[index]?.series ?? 0) > 0);
      for (const metric of [
        'isthmus_elected_pods', 'isthmus_target_ready', 'isthmus_target_free', 'isthmus_scheduling_pod_bound',
        'isthmus_api_request', 'isthmus_webhook_review', 'isthmus_workqueue_depth', 'isthmus_informer_objects',
      ]) assert.ok(filled.some((query) => query.includes(metric)), `${metric} in ${filled.join('\n')}`);
      const firing = exprs.filter((_expr, index) => (answers[queries.length + index]?.series ?? 0) > 0);
      assert.deepEqual(firing, [], 'nothing is wrong, so no alert has anything to say');
      const series = answers.slice(0, queries.length).map((answer) => answer.series);
      for (const choice of CHOICES.slice(1)) {
        const chosen = await ask(written.map((expr) => shown(expr, choice)), taken);
        assert.deepEqual(chosen.answers.map((answer) => answer.series), series, choice);
      }
      const offers = templating.list.filter(({ type }) => type === 'query').map(({ query }) => valuesOf(query));
      const { answers: offered } = await ask(offers, taken);
      assert.deepEqual(offered, [{ series: 1 }], 'the variable offers the one cluster');
    });

    it('an alert fires for each cluster for which it has to', async () => {
      const exprs = await alertExpressions();
      const begin = Date.parse('2026-11-25T12:00:00Z');
      for (const { alert, shown: twice, firing } of ALERT_CASES) {
        const taken = twice.flatMap((clusters, index) => Object.entries(clusters).map(
          ([cluster, page]) => ({ atMs: begin + index * 60_000, text: page, labels: { cluster } }),
        ));
        const { answers } = await ask([exprs.get(alert) ?? ''], taken);
        assert.deepEqual(answers, [{ series: firing }], `${alert} ${JSON.stringify(twice)}`);
      }
    });

    it('an alert fires for a component whose pods are gone', async () => {
      const [exprs, begin] = [await alertExpressions(), Date.parse('2026-11-25T12:00:00Z')];
      const series = { IsthmusNoLeader: LEADING, IsthmusWebhookGone: 'isthmus_webhook_rules_missing' };
      for (const [alert, gone] of Object.entries(series)) {
        const [others, labels] = ['isthmus_leading{lease="isthmus-peering"} 1\n', { cluster: 'a' }];
        const before = { atMs: begin, text: `${others}${gone} 1\n`, labels };
        for (const [later, firing] of [[others, 1], [before.text, 0]] as const) {
          const after = { atMs: begin + 600_000, text: later, labels };
          const { answers } = await ask([exprs.get(alert) ?? ''], [before, after]);
          assert.deepEqual(answers, [{ series: firing }], `${alert} ${later}`);
        }
      }
    });

    it('an alert fires when its figure says so, and a query that is wrong is found', async () => {
      const atMs = Date.parse('2026-11-25T12:00:00Z');
      const bad = { atMs, text: 'isthmus_target_ready{target="us"} 0\n', labels: { cluster: 'a' } };
      const { answers } = await ask(['isthmus_target_ready == 0', 'sum by (', 'nothing_of_ours'], [bad]);
      assert.equal(answers[0]?.series, 1);
      assert.match(answers[1]?.error ?? '', /parse error/);
      assert.equal(answers[2]?.series, 0);
    });
  });
});
