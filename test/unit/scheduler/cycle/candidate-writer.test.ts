import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PARENT_UID_LABEL } from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import { ScriptedApiServer, status } from '../../../support/doubles/scripted-api-server.ts';
import { TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import {
  connectionTimeoutMs, createCandidate, type CandidateAnswer,
} from '../../../../scheduler/cycle/candidate-writer.ts';

const CHAPERON: PodChaperon = {
  kind: 'PodChaperon', metadata: { namespace: 'n', name: 'p-1', labels: { [PARENT_UID_LABEL]: 'u' } },
  spec: { containers: [] },
};
const THERE = { ...CHAPERON, metadata: { ...CHAPERON.metadata, resourceVersion: '7' } };
const NEVER = new AbortController().signal;

describe('createCandidate', () => {
  let server: ScriptedApiServer;
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
  });
  afterEach(() => server.stop());

  type Answers = readonly (readonly [status: number, body: unknown])[];
  async function asked(answers: Answers, isRetry: boolean): Promise<CandidateAnswer | 'unknown'> {
    const answer = createCandidate({ client: server.client, mode: 'PodChaperon', isRetry }, CHAPERON, NEVER).catch(
      () => 'unknown' as const,
    );
    for (const [code, body] of answers) (await server.next()).answer(code, body);
    return answer;
  }
  const no = (code: number, reason: string, message = reason) => [code, status(code, reason, message)] as const;
  const exists = no(409, 'AlreadyExists');

  const ROWS: readonly (readonly [what: string, answers: Answers, first: string, again: string])[] = [
    ['it was made', [[201, THERE]], 'created', 'created'],
    ['it was there already', [exists, [200, THERE]], 'created', 'created'],
    [
      "another pod's was there", [exists, [200, { ...THERE, metadata: { ...THERE.metadata, labels: {} } }]],
      'NameCollision', 'NameCollision',
    ],
    ['etcd timed out', [no(500, '', 'etcdserver: request timed out')], 'unknown', 'unknown'],
  ];
  for (const [what, answers, first, again] of ROWS) {
    for (const [isRetry, expected] of [[false, first], [true, again]] as const) {
      it(`${what}${isRetry ? ', asked again' : ''}: ${expected}`, async () => assert.equal(
        wordOf(await asked(answers, isRetry)), expected,
      ));
    }
  }

  for (
    const [code, reason, expected] of [
      [403, 'Forbidden', 'Forbidden'], [429, 'TooManyRequests', 'Overloaded'],
      [503, 'ServiceUnavailable', 'Overloaded'], [401, 'Unauthorized', 'Unauthorized'], [409, 'Conflict', 'Conflict'],
    ] as const
  ) {
    it(`a first create that is answered with ${code} ${reason} was not done: ${expected}`, async () => assert.equal(
      wordOf(await asked([no(code, reason)], false)), expected,
    ));
  }
  it('a webhook of the target that cannot be reached turns the pod away', async () => {
    assert.equal(
      wordOf(await asked([no(500, 'InternalError', 'Internal error occurred: failed calling webhook "w"')], false)),
      'AdmissionFailed',
    );
  });
  it('a rejection says nothing of an earlier create of which nobody knows: it is there', async () => {
    assert.equal(wordOf(await asked([no(403, 'Forbidden'), [200, THERE]], true)), 'created');
  });
  it('a rejection says nothing of an earlier create of which nobody knows: it is not there', async () => {
    assert.equal(wordOf(await asked([no(403, 'Forbidden'), no(404, 'NotFound')], true)), 'Forbidden');
  });
  it('a rejection says nothing of an earlier create of which nobody knows: nobody knows still', async () => {
    assert.equal(wordOf(await asked([no(403, 'Forbidden'), no(500, '')], true)), 'unknown');
  });

  for (const [isRetry, expected] of [[false, 'unreachable'], [true, 'unknown']] as const) {
    it('a target that refuses connections was not ' +
      `asked${isRetry ? ' again, and nobody knows what became of the earlier create' : ''}: ${expected}`, async () => {
      const listener = createServer().listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const { port } = listener.address() as AddressInfo;
      listener.close();
      await once(listener, 'close');
      const transport = new Transport({ ...server.connection(), server: new URL(`http://127.0.0.1:${port}`) }, 'test');
      const answer = await createCandidate(
        { client: new ClusterClient(transport), mode: 'PodChaperon', isRetry }, CHAPERON, NEVER,
      ).catch(() => 'unknown' as const);
      await transport.close();
      assert.equal(typeof answer === 'string' ? answer : answer.kind, expected);
    });
  }
});

function wordOf(answer: CandidateAnswer | 'unknown'): string {
  if (answer === 'unknown') return answer;
  return answer.kind === 'created' ? 'created' : answer.rejection.reason;
}

describe('how long a create may wait for a connection', () => {
  it('is short where another target can be asked, so that the pod runs within two seconds', () => assert.ok(
    connectionTimeoutMs(false) < 2_000,
  ));
  it('is as long as any call has where none can be: a slow target could never be asked again', () => assert.equal(
    connectionTimeoutMs(true), TRANSPORT_TIMINGS.callTimeoutMs,
  ));
});
