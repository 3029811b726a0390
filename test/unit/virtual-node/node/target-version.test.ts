import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { TargetSession } from '../../../../targets/target-session.ts';
import { targetVersions } from '../../../../virtual-node/node/target-version.ts';

function aSession(...answers: readonly unknown[]): { readonly session: TargetSession; readonly asked: string[] } {
  const left = [...answers];
  const asked: string[] = [];
  const call = async ({ path }: { readonly path: string }): Promise<unknown> => {
    asked.push(path);
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return {
    session: { client: { transport: { call } }, signal: new AbortController().signal } as unknown as TargetSession,
    asked,
  };
}

const rows: Record<string, readonly [answer: unknown, version: string | undefined]> = {
  'of Kubernetes': [{ gitVersion: 'v1.36.3' }, 'v1.36.3'],
  'of a distribution': [{ gitVersion: 'v1.30.0+k3s1' }, 'v1.30.0+k3s1'],
  'that is no text': [{ gitVersion: { toString: 'x' } }, undefined],
  'that is no version': [{ gitVersion: 'v1.2.3 <script>' }, undefined],
  'that is too long': [{ gitVersion: `v1.2.3-${'x'.repeat(65)}` }, undefined],
  'that is missing': [{}, undefined],
  'that is nothing at all': [null, undefined],
  'of a target that does not answer': [new Error('no'), undefined],
};
for (const [what, [answer, version]] of Object.entries(rows)) {
  it(`a version ${what} is ${version ?? 'not known'}`, async () => {
    const { session, asked } = aSession(answer);
    const versions = targetVersions();
    let found = 0;
    await versions.refresh(session, () => (found += 1));
    assert.deepEqual([versions.of(session), found, asked], [version, version === undefined ? 0 : 1, ['/version']]);
  });
}

it('a target is asked once in a minute, and an upgrade is told once', async (t) => {
  let now = 1_000_000;
  t.mock.method(performance, 'now', () => now);
  const { session, asked } =
    aSession({ gitVersion: 'v1.36.3' }, { gitVersion: 'v1.37.0' }, { gitVersion: 'v1.37.0' }, new Error('no'));
  const versions = targetVersions();
  const found: (string | undefined)[] = [];
  for (const step of [0, 59_999, 1, 60_000, 60_000]) {
    now += step;
    await versions.refresh(session, () => found.push(versions.of(session)));
  }
  assert.deepEqual([found, asked.length, versions.of(session)], [['v1.36.3', 'v1.37.0'], 4, 'v1.37.0']);
});
