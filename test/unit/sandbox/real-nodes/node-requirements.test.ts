// Machines that cannot run real nodes, and what their users are told.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgeMachine, refusal, type MachineFacts } from '../../../../sandbox/real-nodes/node-requirements.ts';

const controllers = ['blkio', 'cpu', 'cpuacct', 'cpuset', 'devices', 'freezer', 'memory', 'pids'];
const fit: MachineFacts = {
  platform: 'linux', isRoot: true, missingPrograms: [], cniPlugins: '/usr/lib/cni', namespaceError: undefined,
  overlayError: undefined, cgroups: { version: 1, controllers, hasSystemd: true },
};

describe('judgeMachine', () => {
  it('takes a machine that has everything', () => assert.deepEqual(
    judgeMachine(fit), { kind: 'can-run', machine: { cniPlugins: '/usr/lib/cni', cgroups: fit.cgroups } },
  ));
  it('takes version 2 of cgroups', () => {
    assert.equal(judgeMachine({ ...fit, cgroups: { version: 2 } }).kind, 'can-run');
  });

  const rows: readonly (readonly [change: Partial<MachineFacts>, reason: RegExp])[] = [
    [{ platform: 'darwin' }, /^they need Linux$/],
    [{ isRoot: false }, /^they need root/],
    [{ missingPrograms: ['runc', 'nft'] }, /^runc, nft not found; .*--no-install-recommends runc nftables$/],
    [{ missingPrograms: ['unshare', 'nsenter'] }, /recommends util-linux$/],
    [{ cniPlugins: undefined }, /^CNI plugins not found; .*recommends containernetworking-plugins$/],
    [{ namespaceError: 'Operation not permitted' }, /^namespaces .*: Operation not permitted$/],
    [{ overlayError: 'wrong fs type' }, /^overlayfs .*: wrong fs type$/],
    [{ cgroups: undefined }, /no cgroups/],
    [{ cgroups: { version: 1, controllers: ['cpu'], hasSystemd: false } }, /controller cpuacct, cpuset, memory, pids$/],
  ];
  for (const [change, reason] of rows) {
    it(`says ${reason.source} of ${JSON.stringify(change)}`, () => {
      const verdict = judgeMachine({ ...fit, ...change });
      assert.ok(verdict.kind === 'cannot-run');
      assert.equal(verdict.reasons.length, 1);
      assert.match(verdict.reasons[0] ?? '', reason);
    });
  }

  it('gives all reasons at once, and the way out', () => {
    const verdict = judgeMachine({ ...fit, cniPlugins: undefined, overlayError: 'no', namespaceError: 'no' });
    assert.ok(verdict.kind === 'cannot-run' && verdict.reasons.length === 3);
    assert.match(refusal(verdict.reasons), /^Real nodes cannot run here: .*Simulated nodes run everywhere: leave out /);
  });
});
