import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DecisionLogFile } from '../../../../cli/run/decision-log-file.ts';
import { replayFile, replayText } from '../../../../cli/placement/replay.ts';
import { createLogger } from '../../../../process/logger.ts';
import type { DecisionToLog } from '../../../../scheduler/explain/decision-log.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import { aPlace, aPodWithConstraints, full } from '../../../support/objects/placement.ts';

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-decisions-'));
});
after(() => rm(dir, { recursive: true, force: true }));

const targets = [aPlace('a'), aPlace('b', {}, full())];

function aDecision(name: string): DecisionToLog {
  const pod = aPodWithConstraints();
  return { time: '2026-01-01T00:00:00Z', name, pod, targets, decision: schedulePod(pod, targets) };
}

describe('the decision log', () => {
  it('can be replayed', async () => {
    const file = join(dir, 'plain');
    const log = new DecisionLogFile(file, createLogger('silent'));
    for (const name of ['team-a/one', 'team-a/two']) log.write(aDecision(name));
    log.close();
    assert.deepEqual(await replayFile(file), { decisions: 2, differences: [], unreadable: [] });
    assert.equal(
      (await readFile(file, 'utf8')).split('\n').filter((line) => line.includes('"kind":"target"')).length, 2,
    );
  });

  it('turns over when it is large, and each of its files can be replayed', async () => {
    const file = join(dir, 'ring');
    const log = new DecisionLogFile(file, createLogger('silent'), 1_000);
    for (let i = 0; i < 6; i += 1) log.write(aDecision(`team-a/${i}`));
    log.close();
    const [current, before] = await Promise.all([replayFile(file), replayFile(`${file}.1`)]);
    for (const { decisions, differences, unreadable } of [current, before]) {
      assert.ok(decisions > 0);
      assert.deepEqual([differences, unreadable], [[], []]);
    }
  });

  it('keeps what a process before has decided', async () => {
    const file = join(dir, 'restarted');
    for (const name of ['team-a/before', 'team-a/after']) {
      const log = new DecisionLogFile(file, createLogger('silent'));
      log.write(aDecision(name));
      log.close();
    }
    assert.match(await readFile(`${file}.1`, 'utf8'), /team-a\/before/);
    assert.match(await readFile(file, 'utf8'), /team-a\/after/);
  });

  it('that cannot be written stops nothing', () => {
    const log = new DecisionLogFile(join(dir, 'no', 'such', 'folder'), createLogger('silent'));
    assert.doesNotThrow(() => log.write(aDecision('team-a/one')));
    assert.doesNotThrow(() => log.close());
  });
  for (
    const [what, content] of [
      ['a binary', Buffer.from([0, 255, 10, 7, 10])], ['an empty file', ''], ['a text', 'hello\n'],
    ] as const
  ) {
    it(`that is ${what} holds no decision`, async () => {
      const file = join(dir, 'other');
      await writeFile(file, content);
      await assert.rejects(
        replayFile(file), { code: 'BadInput', message: /other holds no decision: write a log with/ },
      );
    });
  }
  it('that is not there is named', () => assert.rejects(
    replayFile(join(dir, 'missing')), /missing cannot be read: no such file or directory\./,
  ));
});

describe('replayText', () => {
  it('shows what comes out otherwise, and what could not be read', () => {
    const text = replayText({
      decisions: 3, unreadable: [7],
      differences: [{
        time: 'T', name: 'team-a/web', before: { chosen: 'ClusterTarget/a', score: 0.5, rejected: [] },
        now: { rejected: [['ClusterTarget/a', 'Cordoned']] },
      }],
    });
    assert.equal(
      text,
      '3 decisions, 1 come out otherwise.\nT team-a/web: ClusterTarget/a (0.500) before, none (ClusterTarget/a: ' +
        'Cordoned) now\nNot readable: line 7.',
    );
  });
});
