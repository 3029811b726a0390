// kwok's configuration: documents that it understands, with the life of pods and nodes in them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { toDelegateLabels } from '../../../../model/delegate/pod-chaperon.ts';
import { auditPolicy, containerLog, kwokConfiguration } from '../../../../sandbox/plan/kwok-configuration.ts';
import { delegateJobLabel, nodeStages, podStages, type Stage } from '../../../../sandbox/plan/kwok-stages.ts';
import { sampleTarget } from '../sample-plan.ts';

interface Document {
  readonly kind: string;
  readonly metadata?: { readonly name: string };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
}

const documents =
  parseAllDocuments(kwokConfiguration(sampleTarget(), 'secret')).map((document) => document.toJS() as Document);
const only = (kind: string): Document => documents.find((document) => document.kind === kind)!;
const podStage = (name: string): Stage => podStages.find((stage) => stage.metadata.name === name)!;

describe('kwokConfiguration', () => {
  it('is well-formed YAML with every stage and every answer', () => {
    const kinds = documents.map((document) => document.kind);
    const stages = Array.from({ length: nodeStages.length + podStages.length }, () => 'Stage');
    assert.deepEqual(
      kinds, ['KwokConfiguration', ...stages, 'ClusterLogs', 'ClusterAttach', 'ClusterExec', 'ClusterPortForward'],
    );
  });

  it('keeps stages as they are', () => {
    const written = documents.filter((document) => document.kind === 'Stage');
    assert.deepEqual(written, [...nodeStages, ...podStages].map((stage) => structuredClone(stage)));
  });

  it('raises parallelism and serves logs and exec', () => {
    const options = only('KwokConfiguration').options!;
    assert.equal(options['podPlayStageParallelism'], 32);
    assert.equal(options['enableDebuggingHandlers'], true);
  });

  it('answers logs from a file of the cluster', () => {
    assert.equal(only('ClusterLogs').spec['logs']![0]!['logsFile'], '/sandbox/target-1/container.log');
  });

  it('runs commands for the secret container only', () => {
    assert.deepEqual(
      only('ClusterExec').spec['execs'], [{ containers: ['secret'], local: { workDir: '/sandbox/target-1' } }],
    );
  });
});

describe('the stages of a pod', () => {
  it('have names of their own', () => {
    const names = [...nodeStages, ...podStages].map((stage) => stage.metadata.name);
    assert.equal(new Set(names).size, names.length);
  });

  it('run a pod with one write, at once', () => {
    const { next, delay } = podStage('pod-ready').spec;
    assert.equal(delay, undefined);
    for (const field of [
      'phase: Running', 'podIP:', 'startTime:', 'containerStatuses:', 'initContainerStatuses:',
      '"ContainersReady" "Ready"',
    ]) {
      assert.ok(next.statusTemplate!.includes(field), field);
    }
  });

  it('complete only living pods', () => {
    for (const name of ['pod-ready', 'pod-complete', 'delegate-complete', 'pod-complete-on-request']) {
      const [first] = podStage(name).spec.selector.matchExpressions;
      assert.deepEqual(first, { jq: { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' } });
    }
  });

  it("complete delegates of a Job's pods by the label that delegation leaves on them", () => {
    assert.equal(toDelegateLabels({ 'job-name': 'job' }, {})[delegateJobLabel], 'job');
    const keys = podStage('delegate-complete').spec.selector.matchExpressions.map(({ jq }) => jq.key);
    assert.ok(keys.includes(`.metadata.labels["${delegateJobLabel}"]`));
  });

  it('tell once that a deleted pod has stopped, whoever holds it by a finalizer', () => {
    const [, stopped] = podStage('pod-delete').spec.selector.matchExpressions;
    assert.deepEqual(
      stopped, { jq: { key: '.metadata.deletionGracePeriodSeconds | tostring', operator: 'NotIn', values: ['0'] } },
    );
  });
});

describe('containerLog', () => {
  it('is in the format of container runtimes', () => {
    const lines = containerLog('target-1', new Date('2030-01-02T03:04:05Z')).trimEnd().split('\n');
    assert.ok(lines.length > 1);
    for (const line of lines) assert.match(line, /^2030-01-02T03:04:05\.000Z stdout F .+$/);
  });
});

describe('auditPolicy', () => {
  it('records each answered request once', () => {
    const policy =
      parse(auditPolicy()) as { readonly omitStages: readonly string[]; readonly rules: readonly object[] };
    assert.deepEqual(policy.omitStages, ['RequestReceived', 'ResponseStarted', 'Panic']);
    assert.deepEqual(policy.rules, [{ level: 'Metadata' }]);
  });
});
