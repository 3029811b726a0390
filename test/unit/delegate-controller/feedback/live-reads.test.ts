// Uncached reads before a finalizer is removed or a pod is given up: only an answer counts as absence. Were an error
// taken for one, a pod could run twice.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isConfirmed } from '../../../../delegate-controller/feedback/live-reads.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { delegateName } from '../../../../model/naming/names.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import type { TargetSession } from '../../../../targets/target-session.ts';
import {
  aChaperon, aDelegate, annotated, aProxyRecord, labelled, named, PROXY_UID, terminating,
} from '../../../support/objects/builders.ts';
import { EXPIRED_AT_ANNOTATION, PARENT_UID_LABEL } from '../../../../api/objects/keys.ts';

const NAME = delegateName('web', PROXY_UID);
const { signal } = new AbortController();
const notFound = new ApiError(404, 'NotFound', 'not found');

interface There {
  /** Objects by `plural/name`; an Error is what reading one throws. */
  readonly [key: string]: Pod | PodChaperon | Error;
}

/** A session with a target that has these objects. */
function aSession(there: There, mayHoldChaperons = true) {
  const asked: string[] = [];
  const client = {
    get: async ({ plural }: { readonly plural: string }, { name }: { readonly name: string }) => {
      asked.push(`${plural}/${name}`);
      const found = there[`${plural}/${name}`] ?? notFound;
      if (found instanceof Error) throw found;
      return found;
    },
  };
  return { session: { client, mayHoldChaperons } as unknown as TargetSession, asked };
}

const confirm = (claim: 'confirm-gone' | 'confirm-delegate-gone', there: There, proxy: ProxyPod = aProxyRecord(),
  may = true) => {
  const { session, asked } = aSession(there, may);
  return { asked, answer: isConfirmed(claim, session, proxy, signal) };
};
const chaperon = aChaperon(named(NAME));
const delegate = aDelegate(named(NAME));
const ofAnother = labelled({ [PARENT_UID_LABEL]: 'earlier-pod' });

describe('that a target has nothing of a pod any more', () => {
  const rows: Readonly<Record<string, readonly [there: There, isGone: boolean]>> = {
    'is confirmed when neither is there': [{}, true],
    'is not while the PodChaperon is there': [{ [`podchaperons/${NAME}`]: chaperon }, false],
    'is not while the delegate is there': [{ [`pods/${NAME}`]: delegate }, false],
    'is confirmed when both are of an earlier pod of its name': [
      { [`podchaperons/${NAME}`]: ofAnother(chaperon), [`pods/${NAME}`]: ofAnother(delegate) }, true,
    ],
  };
  for (const [what, [there, isGone]] of Object.entries(rows)) {
    it(what, async () => assert.equal(await confirm('confirm-gone', there).answer, isGone));
  }
  for (const error of [new Error('timeout'), new ApiError(403, 'Forbidden', '-'), new ApiError(500, '', '-'),
    new ApiError(410, 'Gone', '-')]) {
    for (const kind of ['podchaperons', 'pods']) {
      it(`is not concluded from ${error.message} (${String('status' in error ? error.status : '')}) of ${kind}`,
        async () =>
        assert.rejects(confirm('confirm-gone', { [`${kind}/${NAME}`]: error }).answer, (thrown) => thrown === error));
    }
  }
  it('is not confirmed without a session', async () =>
    assert.equal(await isConfirmed('confirm-gone', undefined, aProxyRecord(), signal), false));
  it('is looked for under the former name as well, of a pod that was adopted from Admiralty', async () => {
    const adopted = { ...aProxyRecord(), adoptedDelegate: 'web-former' };
    assert.equal(await confirm('confirm-gone', { 'pods/web-former': aDelegate(named('web-former')) }, adopted).answer,
      false);
    const { asked, answer } = confirm('confirm-gone', {}, adopted);
    assert.equal(await answer, true);
    assert.deepEqual(asked, [`podchaperons/${NAME}`, 'podchaperons/web-former', `pods/${NAME}`, 'pods/web-former']);
  });
  it('is asked of PodChaperons only where there can be any', async () => {
    const { asked, answer } = confirm('confirm-gone', {}, aProxyRecord(), false);
    assert.equal(await answer, true);
    assert.deepEqual(asked, [`pods/${NAME}`]);
  });
  it('reads the PodChaperon first: its controller could create a delegate after an earlier look', async () => {
    const { asked, answer } = confirm('confirm-gone', {});
    await answer;
    assert.deepEqual(asked, [`podchaperons/${NAME}`, `pods/${NAME}`]);
  });
});

describe('that a pod has lost its delegate', () => {
  it('is confirmed when nothing is there', async () => (
    assert.equal(await confirm('confirm-delegate-gone', {}).answer, true)
  ));
  it('is not while its PodChaperon is there and is not being deleted', async () =>
    assert.equal(await confirm('confirm-delegate-gone', { [`podchaperons/${NAME}`]: chaperon }).answer, false));
  it('is when its delegate is being deleted, unless its target does that for want of a confirmation', async () => {
    const expired = annotated({ [EXPIRED_AT_ANNOTATION]: '2026-01-01T00:00:00Z' })(chaperon);
    const answers = [chaperon, expired].map((of) => confirm('confirm-delegate-gone', {
      [`podchaperons/${NAME}`]: of, [`pods/${NAME}`]: terminating()(delegate),
    }));
    assert.deepEqual(await Promise.all(answers.map(({ answer }) => answer)), [true, false]);
    // that is noted on the PodChaperon before the delegate is deleted
    assert.deepEqual(answers[1]?.asked, [`pods/${NAME}`, `podchaperons/${NAME}`]);
  });
  it('is not concluded from an error', async () => {
    for (const kind of ['podchaperons', 'pods']) {
      const { answer } = confirm('confirm-delegate-gone', { [`${kind}/${NAME}`]: new Error('timeout') });
      await assert.rejects(answer, /timeout/);
    }
  });
});
