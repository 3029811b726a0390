import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TARGET_KEY_ANNOTATION } from '../../../api/objects/keys.ts';
import { readExec } from '../../../kubernetes/credentials/exec-credential.ts';
import { ExecPlugin } from '../../../kubernetes/credentials/exec-plugin.ts';
import { TargetCluster } from '../../../targets/target-cluster.ts';
import type { TargetSession } from '../../../targets/target-session.ts';
import { withTargetKey } from '../../../model/delegate/pod-chaperon.ts';
import { findCandidate } from '../../../scheduler/cycle/candidate-writer.ts';
import type { RunOutcome } from '../../../process/programs/bounded-run.ts';
import {
  aChaperon, aChaperonRecord, aDelegateRecord, annotated, aProxyRecord,
} from '../../support/objects/builders.ts';
import { ScriptedApiServer, SILENT, skipBackoff, status } from '../../support/doubles/scripted-api-server.ts';

const TENANTS = 'Target/team-a/own';

/** A ClusterTarget `c`, beside which there are targets of these keys. */
function clusterTarget(...others: string[]): TargetCluster {
  const listener = {
    sessionOpened: () => undefined, changed: () => undefined, storedDelegation: () => undefined,
    movedTo: async () => undefined,
    identified: () => undefined, isTarget: (key: string) => others.includes(key),
  };
  return new TargetCluster({ kind: 'ClusterTarget', name: 'c' }, {} as never, listener);
}

/** An exec plugin that runs until it is stopped; `started` resolves when it runs. */
function endlessPlugin(): { readonly plugin: ExecPlugin; readonly started: Promise<void> } {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'aws', interactiveMode: 'Never' };
  const place = { env: {}, atTerminal: false, isInteractive: false };
  let begin = (): void => undefined;
  const started = new Promise<void>((resolve) => (begin = resolve));
  const run = (_run: unknown, signal: AbortSignal): Promise<RunOutcome> => {
    begin();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ kind: 'aborted' })));
  };
  return { plugin: new ExecPlugin(readExec(exec, {}, undefined), place, { run, now: Date.now }), started };
}

describe('a target whose spec asks for another mode of delegation', () => {
  it('has a new session with that mode, also where it is the source itself', async (t) => {
    const source = await ScriptedApiServer.start();
    t.after(() => source.stop());
    const opened: TargetSession[] = [];
    let heard = (): void => undefined;
    const target = new TargetCluster({ kind: 'ClusterTarget', name: 'c' }, {
      source: source.client, sourceId: 's', installNamespace: 'i', userAgent: 'isthmus-test', logger: SILENT,
      sourceConnection: source.connection(),
    }, {
      sessionOpened: (_target, session) => {
        opened.push(session);
        heard();
      },
      changed: () => heard(), storedDelegation: () => undefined,
      movedTo: async () => undefined, identified: () => undefined, isTarget: () => false,
    });
    t.after(() => target.stop());
    const until = (holds: () => boolean) => new Promise<void>((resolve) => {
      heard = () => holds() && resolve();
      heard();
    });
    for (const delegation of ['PodChaperon', 'Pod'] as const) {
      target.update({ self: true, delegation });
      assert.equal(target.serverHealth.isRefusing, false, 'a connection that we end says nothing of the server');
      await until(() => target.session?.mode === delegation);
      assert.equal(target.serverHealth.isRefusing, false, 'nor does one that has no answer yet');
    }
    assert.deepEqual(opened.map(({ mode, signal }) => [mode, signal.aborted]), [['PodChaperon', true], ['Pod', false]]);
  });
});

describe('a target whose cluster cannot be identified at once', () => {
  it('is identified later, while it is followed', async (t) => {
    const source = await ScriptedApiServer.start();
    t.after(() => source.stop());
    skipBackoff(t);
    let isIdentified = (): void => undefined;
    const identified = new Promise<void>((resolve) => (isIdentified = resolve));
    const target = new TargetCluster({ kind: 'ClusterTarget', name: 'c' }, {
      source: source.client, sourceId: 's', installNamespace: 'i', userAgent: 'isthmus-test', logger: SILENT,
      sourceConnection: source.connection(),
    }, {
      sessionOpened: () => undefined, changed: () => undefined, storedDelegation: () => undefined,
      movedTo: async () => undefined,
      isTarget: () => false,
      identified: () => {
        isIdentified();
        return undefined;
      },
    });
    t.after(() => target.stop());
    target.update({ self: true, delegation: 'Pod' });
    for (let asked = 0; asked < 4;) {
      const request = await source.next();
      if (request.path === '/api/v1/namespaces/kube-system') {
        asked += 1;
        if (asked < 4) request.answer(429, status(429, 'TooManyRequests', 'busy'));
        else request.answer(200, { metadata: { name: 'kube-system', uid: 'u' } });
      } else if (request.query.has('sendInitialEvents')) request.answer(400, status(400, 'BadRequest', 'unknown'));
      else if (request.query.has('watch')) request.open();
      else request.answer(200, { metadata: { resourceVersion: '1' }, items: [] });
    }
    await identified;
    assert.equal(target.clusterId, 'u');
  });
});

describe('a target that was removed', () => {
  it('does not change any more, also where its session notices something while it ends', async (t) => {
    const source = await ScriptedApiServer.start();
    t.after(() => source.stop());
    const { plugin, started } = endlessPlugin();
    let changes = 0;
    const target = new TargetCluster({ kind: 'ClusterTarget', name: 'c' }, {
      source: source.client, sourceId: 's', installNamespace: 'i', userAgent: 'isthmus-test', logger: SILENT,
      sourceConnection: source.connection({ kind: 'exec', plugin }),
    }, {
      sessionOpened: () => undefined, changed: () => (changes += 1), storedDelegation: () => undefined,
      movedTo: async () => undefined,
      identified: () => undefined, isTarget: () => false,
    });
    target.update({ self: true });
    await started;
    const before = changes;
    await target.stop();
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    assert.equal(changes, before);
  });
});

describe('what is in the cluster of a target', () => {
  const through = (target: string) => aChaperonRecord(annotated({ [TARGET_KEY_ANNOTATION]: target }));
  const cases: Record<
    string, readonly [held: boolean, target: TargetCluster, made: ReturnType<typeof aChaperonRecord>]
  > = {
    'is its own when it was made through it': [true, clusterTarget(TENANTS), through('ClusterTarget/c')],
    'is its own when nobody knows through what it was made': [true, clusterTarget(TENANTS), aChaperonRecord()],
    "is not its own when it was made through a tenant's target that leads there as well":
      [false, clusterTarget(TENANTS), through(TENANTS)],
    'is its own when that target was removed': [true, clusterTarget(), through(TENANTS)],
  };
  for (const [sentence, [held, target, made]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(target.owns(made), held));
  }

  it('says through what it was made, the delegate as well', () => {
    const chaperon = withTargetKey(aChaperon(annotated({ 'a.io/b': 'c' })), TENANTS);
    assert.equal(chaperon.metadata.annotations?.['a.io/b'], 'c');
    assert.equal(aChaperonRecord(() => chaperon).targetKey, TENANTS);
    assert.equal(aDelegateRecord(annotated({ [TARGET_KEY_ANNOTATION]: TENANTS })).targetKey, TENANTS);
    assert.equal(
      aDelegateRecord(annotated({ [TARGET_KEY_ANNOTATION]: TENANTS })).annotations[TARGET_KEY_ANNOTATION],
      undefined, 'it is not shown on the proxy',
    );
  });

  it('is no candidate of a target that it was not made through', () => {
    const session = { hasSynced: true, find: () => ({ chaperon: through(TENANTS), delegate: undefined }) } as never;
    assert.equal(
      findCandidate({ session, owns: (made) => clusterTarget(TENANTS).owns(made) }, aProxyRecord()), 'nothing',
    );
    assert.notEqual(findCandidate({ session, owns: () => true }, aProxyRecord()), 'nothing');
  });
});
