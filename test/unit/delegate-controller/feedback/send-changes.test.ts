// Changes of a running pod on their way to its delegate, from the source and within the target: a change that is
// rejected is told once and not tried for ever, and no other pod is changed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ADMIRALTY_PREFIX, SENT_CHANGES_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import { applyChanges, type ChangeTools } from '../../../../delegate-controller/chaperon/apply-changes.ts';
import { sendChanges, type ChangeRoute } from '../../../../delegate-controller/feedback/send-changes.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { Chaperon } from '../../../../model/delegate/cached-delegate.ts';
import { readSentChanges, stateOf, writeSentChanges, type LiveChanges } from '../../../../model/pod/live-changes.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import {
  aChaperon, aChaperonRecord, aDelegate, annotated, aProxy, aProxyRecord, withSpec, withUid,
} from '../../../support/objects/builders.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const { signal } = new AbortController();
const CHANGES: LiveChanges = { images: { app: 'app:2' } };
const textOf = (changes: LiveChanges): string => writeSentChanges({ of: stateOf(changes), changes });
const TEXT = textOf(CHANGES);
/** Changes of which the first is rejected below. */
const RESIZED: LiveChanges = { ...CHANGES, resources: { app: { requests: { cpu: '9' } } } };
const rejected = new ApiError(422, 'Invalid', 'spec.containers[0].image is not allowed');

interface Written {
  readonly kind: string;
  readonly subresource: string | undefined;
  readonly patch: {
    readonly metadata?: { readonly uid?: string; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
  };
}

/** A cluster with one object of each kind; the first writes fail so. */
function aCluster(stored: Pod | Error, ...failures: readonly Error[]) {
  const written: Written[] = [];
  const failing = [...failures];
  const client = {
    metadataOnly: () => client,
    get: async () => {
      if (stored instanceof Error) throw stored;
      return stored;
    },
    patch: async (type: { readonly kind: string }, at: { readonly subresource?: string }, { patch }: Pick<Written,
      'patch'>) => {
      const failure = failing.shift();
      if (failure !== undefined) throw failure;
      written.push({ kind: type.kind, subresource: at.subresource, patch });
    },
  };
  return { client: client as unknown as ChangeTools['client'], written };
}

function anEventSink() {
  const told: EventRecord[] = [];
  return { told, events: { record: (event: EventRecord) => void told.push(event) } };
}

const notedIn = ({ patch }: Written): string | undefined => patch.metadata?.annotations?.[SENT_CHANGES_ANNOTATION];

/** Images that specs get, beside what annotations say of them. */
const imagesIn = (written: readonly Written[]): readonly unknown[] => written.flatMap(({ patch }) =>
  (patch.spec?.containers ?? []).map(({ image }) => image));

describe('changes that a source sends', () => {
  const send = (source: Pod | Error, mode: 'PodChaperon' | 'Pod', ...failures: readonly Error[]) =>
    sendThese(CHANGES, source, { mode }, ...failures);
  const sendThese = (
    changes: LiveChanges, source: Pod | Error, its: Partial<Chaperon>, ...failures: readonly Error[]
  ) => {
    const target = aCluster(aDelegate(), ...failures);
    const sink = anEventSink();
    const route = { source: aCluster(source).client, target: target.client, events: sink.events } as ChangeRoute;
    const chaperon = { ...aChaperonRecord(), ...its };
    const step = { kind: 'apply-changes', chaperon, wanted: { of: stateOf(changes), changes } } as
      unknown as Parameters<typeof sendChanges>[2];
    return { ...target, ...sink, done: sendChanges(route, aProxyRecord(), step, signal) };
  };

  it('are noted on the PodChaperon, whose controller applies them', async () => {
    const { written, told, done } = send(aProxy(), 'PodChaperon');
    await done;
    assert.deepEqual(written.map(({ kind }) => kind), ['PodChaperon']);
    assert.deepEqual(readSentChanges(notedIn(written[0]!))?.changes, CHANGES);
    assert.deepEqual(told, []);
  });
  it('are applied to the delegate where there is no controller, and noted last', async () => {
    const { written, done } = send(aProxy(), 'Pod');
    await done;
    assert.ok(written.every(({ kind }) => kind === 'Pod'));
    assert.notEqual(notedIn(written.at(-1)!), undefined);
    assert.deepEqual(imagesIn(written), ['app:2']);
  });
  it('of labels have the keys of the delegate, also where they are taken back', async () => {
    const before = { of: 'x', changes: { labels: { [`${ADMIRALTY_PREFIX}old`]: 'x' } } };
    const { written, done } = sendThese({ labels: { app: 'db' } }, aProxy(), { sentChanges: before });
    await done;
    assert.deepEqual(readSentChanges(notedIn(written[0]!))?.changes.labels, {
      [`${ADMIRALTY_PREFIX}old`]: null, [`${ADMIRALTY_PREFIX}app`]: 'db',
    });
  });
  it('are not sent for a pod that was replaced by another one of its name', async () => {
    const { written, done } = send(aProxy(withUid('later')), 'PodChaperon');
    await done;
    assert.deepEqual(written, []);
  });
  it('that the target rejects are told on the pod, and noted so that they are not sent again', async () => {
    const { written, told, done } = send(aProxy(), 'Pod', rejected);
    await done;
    assert.deepEqual(told.map(({ reason, note, type }) => [reason, note, type]),
      [['ChangeRefused', rejected.message, 'Warning']]);
    assert.notEqual(notedIn(written.at(-1)!), undefined);
  });
  it('are not known to a target that rejects the note as well', async () => {
    const { told, done } = send(aProxy(), 'Pod', rejected, rejected);
    assert.deepEqual([await done, told.length], [false, 1]);
  });
  it('are applied where another one is rejected', async () => {
    const { written, told, done } = sendThese(RESIZED, aProxy(), { mode: 'Pod' }, rejected);
    await done;
    assert.deepEqual([imagesIn(written), told.length], [['app:2'], 1]);
    assert.notEqual(notedIn(written.at(-1)!), undefined);
  });
  it('are over when the PodChaperon is gone: nobody has rejected them', async () => {
    const gone = new ApiError(404, 'NotFound', 'podchaperons "web" not found');
    const { written, told, done } = send(aProxy(), 'PodChaperon', gone, gone);
    await done;
    assert.deepEqual([written, told], [[], []]);
  });
  for (const error of [new Error('timeout'), new ApiError(500, '', '-'), new ApiError(409, 'Conflict', '-'),
    new ApiError(429, '', '-')]) {
    it(`are sent again after ${error.message}, which is no rejection`, async () => {
      const { told, done } = send(aProxy(), 'PodChaperon', error);
      await assert.rejects(done, (thrown) => thrown === error);
      assert.deepEqual(told, []);
    });
  }
});

describe('changes that a target applies', () => {
  const apply = (stored: Pod | Error, ...failures: readonly Error[]) => applyThese(TEXT, stored, ...failures);
  const applyThese = (text: string, stored: Pod | Error, ...failures: readonly Error[]) => {
    const cluster = aCluster(stored, ...failures);
    const sink = anEventSink();
    const tools: ChangeTools = { client: cluster.client, events: sink.events, logger: SILENT };
    return { ...cluster, ...sink, done: applyChanges(tools, aChaperon(), text, signal) };
  };

  it('change the delegate, and are noted on it', async () => {
    const { written, done } = apply(aDelegate());
    await done;
    assert.deepEqual(imagesIn(written), ['app:2']);
    assert.equal(notedIn(written.at(-1)!), TEXT);
  });
  it('change no pod of the name that somebody else has made', async () => {
    const { written, done } = apply({ ...aDelegate(), metadata: { ...aDelegate().metadata, ownerReferences: [] } });
    await done;
    assert.deepEqual(written, []);
  });
  it('change nothing twice', async () => {
    const { written, done } = apply(aDelegate(annotated({ [SENT_CHANGES_ANNOTATION]: TEXT })));
    await done;
    assert.deepEqual(written, []);
  });
  it('that this cluster rejects are told on the delegate and noted, as if it had them', async () => {
    const { written, told, done } = apply(aDelegate(), rejected);
    await done;
    assert.deepEqual(told.map(({ reason, regarding }) => [reason, regarding.uid]), [['ChangeRefused', 'delegate-uid']]);
    assert.deepEqual(written.map(notedIn), [TEXT]);
    assert.equal(written[0]?.patch.metadata?.uid, 'delegate-uid', 'and on no later one of its name');
  });
  it('change the delegate where another one is rejected', async () => {
    const { written, told, done } = applyThese(textOf(RESIZED), aDelegate(), rejected);
    await done;
    assert.deepEqual([imagesIn(written), told.length], [['app:2'], 1]);
    assert.deepEqual(written.map(notedIn), [textOf(RESIZED)]);
  });
  it('change the delegate where the API server is too old for another one, and name that', async () => {
    const unserved = new ApiError(404, 'NotFound', 'the server could not find the requested resource');
    const { written, told, done } = applyThese(textOf(RESIZED), aDelegate(), unserved);
    await done;
    assert.deepEqual(imagesIn(written), ['app:2']);
    assert.deepEqual(told.map(({ note }) => note), ['its API server does not serve pods/resize']);
  });
  it('of a delegate that is gone are over', async () => {
    const { written, told, done } = apply(new ApiError(404, 'NotFound', '-'));
    await done;
    assert.deepEqual([written, told], [[], []]);
  });
  it('wait for the next look when the delegate has changed meanwhile', async () => {
    const { told, done } = apply(aDelegate(), new ApiError(409, 'Conflict', '-'));
    await done;
    assert.deepEqual(told, []);
  });
  it('are applied again after any other error', async () => {
    const error = new ApiError(503, '', 'away');
    const { told, done } = apply(aDelegate(withSpec({})), error);
    await assert.rejects(done, (thrown) => thrown === error);
    assert.deepEqual(told, []);
  });
});
