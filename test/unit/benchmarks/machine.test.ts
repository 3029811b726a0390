// The commit that figures belong to, and the machine.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeCommit, describeMachine, type Git } from '../../../benchmarks/readings/machine.ts';

const git = (changes: string): Git => async (command) => (command === 'rev-parse' ? 'abc123\n' : changes);

describe('describeCommit', () => {
  it('names the commit of a clean checkout', async () => assert.equal(await describeCommit(git('')), 'abc123'));
  it('marks a checkout with changes', async () => assert.equal(await describeCommit(git(' M a.ts\n')), 'abc123-dirty'));
  it('says unknown outside of git, or without git', async () => {
    assert.equal(await describeCommit(() => Promise.reject(new Error('not a git repository'))), 'unknown');
  });
});

describe('describeMachine', () => {
  it('gives figures that a reader can compare', () => {
    const { cores, memoryBytes, loadAverage, node } = describeMachine();
    assert.ok(cores >= 1 && memoryBytes > 0);
    assert.equal(loadAverage.length, 3);
    assert.equal(`v${node}`, process.version);
  });
});
