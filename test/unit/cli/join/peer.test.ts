import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command } from 'commander';
import { outcomeText, parseTokenSeconds, peerCommand, peerOptions } from '../../../../cli/join/peer.ts';
import { AppError } from '../../../../process/errors.ts';

const good = { name: 'cluster-eu-west', installNamespace: 'isthmus-system', tokenSeconds: 86_400 };

describe('peerOptions', () => {
  it('takes over what is right', () => {
    const flags = { ...good, namespace: 'team-a', targetServer: 'https://b.example:6443' };
    assert.deepEqual(peerOptions(flags), { ...flags, delegation: undefined, grants: { podSecurity: 'baseline' } });
    assert.equal(peerOptions({ ...good, delegation: 'Pod' }).delegation, 'Pod');
  });

  it('refuses Pod mode for one namespace, and says what to do instead', () => {
    assert.throws(
      () => peerOptions({ ...good, namespace: 'team-a', delegation: 'Pod' }),
      /--delegation Pod is for whole clusters.*Leave out --namespace/,
    );
  });

  const refused: readonly [string, Record<string, string>, string][] = [
    ['a name with capitals', { name: 'EU-West' }, '--name'],
    ['a name with dots, for it becomes part of label values', { name: 'eu.west' }, '--name'],
    ['a name of 64 characters', { name: 'a'.repeat(64) }, '--name'],
    ['an empty name', { name: '' }, '--name'],
    ['a path as namespace', { namespace: '../x' }, '--namespace'],
    ['an install namespace that ends in a dash', { installNamespace: 'isthmus-' }, '--install-namespace'],
    ['a server without TLS', { targetServer: 'http://b.example' }, '--target-server'],
    ['a server that is no URL', { targetServer: 'b.example' }, '--target-server'],
    ['a server with a password', { targetServer: 'https://u:p@b.example' }, '--target-server'],
  ];
  for (const [what, flags, flag] of refused) {
    it(`refuses ${what} and names ${flag}`, () => {
      assert.throws(
        () => peerOptions({ ...good, ...flags }),
        (error: unknown) =>
          error instanceof AppError && error.code === 'BadInput' && error.message.startsWith(`${flag} must be`),
      );
    });
  }
});

describe('parseTokenSeconds', () => {
  it('takes what API servers grant', () => assert.equal(parseTokenSeconds('600'), 600));
  for (const text of ['599', '', 'a day', '1e9x', '-600', '600.5']) {
    it(`refuses "${text}" and says what is wanted`, () => assert.throws(
      () => parseTokenSeconds(text), /--token-seconds takes a whole number of at least 600/,
    ));
  }
});

describe('peerCommand', () => {
  for (const flag of ['--source-kubeconfig', '--target-kubeconfig', '--name']) {
    it(`asks for ${flag} when it is missing`, async () => {
      const all = { '--source-kubeconfig': 'a', '--target-kubeconfig': 'b', '--name': 'c' };
      const args = Object.entries(all).filter(([name]) => name !== flag).flat();
      const messages: string[] = [];
      const quiet = peerCommand().exitOverride().configureOutput({ writeErr: (text) => messages.push(text) });
      await assert.rejects(new Command().addCommand(quiet).parseAsync(['peer', ...args], { from: 'user' }));
      assert.match(messages.join(''), new RegExp(`required option '${flag} `));
    });
  }
});

describe('outcomeText', () => {
  const whole = { ...good, sourceId: 'x' };

  it('names the object and what became of it', () => {
    assert.equal(outcomeText(whole, { kind: 'ready' }), 'ClusterTarget cluster-eu-west is Ready.');
    const notReady = { kind: 'not-ready', reason: 'Forbidden', message: 'the target denies it' } as const;
    assert.equal(
      outcomeText({ ...whole, namespace: 'team-a' }, notReady),
      'Target team-a/cluster-eu-west is peered, but not Ready (Forbidden): the target denies it',
    );
  });

  it('says what to start when nothing runs', () => {
    assert.match(
      outcomeText(whole, { kind: 'not-running' }), /nothing in the source has looked at it so far.* "isthmus run"/,
    );
  });
});
