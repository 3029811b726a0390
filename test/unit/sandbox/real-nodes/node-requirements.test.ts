// Machines that cannot run real nodes, and what their users are told.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeSupportOf, refusal, type MachineFacts } from '../../../../sandbox/real-nodes/node-requirements.ts';

const controllers = ['blkio', 'cpu', 'cpuacct', 'cpuset', 'devices', 'freezer', 'memory', 'pids'];
const fit: MachineFacts = {
  platform: 'linux', isRoot: true, missingPrograms: [], cniPlugins: '/usr/lib/cni', namespaceError: undefined,
  overlayError: undefined, cgroups: { version: 1, controllers, hasSystemd: true },
};

describe('nodeSupportOf', () => {
  it('takes a machine that has everything', () => assert.deepEqual(
    nodeSupportOf(fit), { kind: 'can-run', machine: { cniPlugins: '/usr/lib/cni', cgroups: fit.cgroups } },
  ));
  it('takes version 2 of cgroups', () => {
    assert.equal(nodeSupportOf({ ...fit, cgroups: { version: 2 } }).kind, 'can-run');
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
      const support = nodeSupportOf({ ...fit, ...change });
      assert.ok(support.kind === 'cannot-run');
      assert.equal(support.reasons.length, 1);
      assert.match(support.reasons[0] ?? '', reason);
    });
  }

  it('gives all reasons at once, and the way out', () => {
    const support = nodeSupportOf({ ...fit, cniPlugins: undefined, overlayError: 'no', namespaceError: 'no' });
    assert.ok(support.kind === 'cannot-run' && support.reasons.length === 3);
    assert.match(refusal(support.reasons), /^Real nodes cannot run here: .*Simulated nodes run everywhere: leave out /);
  });
});
