// Options, output and progress of the sandbox commands.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../../../process/errors.ts';
import { lastLines } from '../../../sandbox/processes/component-process.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { supervisorLogPath } from '../../../sandbox/detached-sandbox.ts';
import { drawInPlace, noProgress, showProgress } from '../../../sandbox/processes/progress.ts';
import { sandboxShape } from '../../../sandbox/sandbox.ts';
import { wholeNumber } from '../../../cli/clusters/run-flags.ts';
import { describeSandbox, sandboxCommand, supervisedArguments } from '../../../sandbox/sandbox-command.ts';

describe('wholeNumber', () => {
  const parse = wholeNumber('--targets', 1, 60);
  for (const text of ['0', '61', 'x', '', '-1', '1.5', '1e1', ' 2', '0x2']) {
    it(`refuses ${JSON.stringify(text)} and names option and range`, () => {
      assert.throws(
        () => parse(text), new AppError('BadInput', `--targets takes a whole number from 1 to 60, not "${text}".`),
      );
    });
  }
  it('accepts both ends', () => assert.deepEqual([parse('1'), parse('60')], [1, 60]));
});

describe('sandboxShape', () => {
  const options = { dir: '/sandbox', targets: 2, nodes: 3, gpus: 0, audit: false };

  it('makes the folder absolute', () => assert.equal(
    sandboxShape({ ...options, dir: '/sandbox/../other' }).directory, '/other',
  ));

  it('lets the controllers have the general limit, or one of their own', () => {
    assert.deepEqual(sandboxShape(options).clientLimits, {});
    assert.deepEqual(
      sandboxShape({ ...options, clientQps: 2_000 }).clientLimits, { scheduler: 2_000, controllerManager: 2_000 },
    );
    assert.deepEqual(sandboxShape({ ...options, controllerQps: 500 }).clientLimits, { controllerManager: 500 });
  });

  for (const change of [
    { targets: -1 }, { targets: 61 }, { nodes: -1 }, { nodes: 1.5 }, { gpus: Number.NaN }, { sourceNodes: -1 },
    { clientQps: 0 },
  ]) {
    it(`refuses ${JSON.stringify(change)}`, () => assert.throws(
      () => sandboxShape({ ...options, ...change }), { code: 'BadInput' },
    ));
  }
});

const cluster = (name: string, auditLog?: string): Cluster =>
  ({ name, kubeconfigPath: `/sandbox/${name}.kubeconfig`, ...(auditLog === undefined ? {} : { auditLog }) }) as Cluster;

const plain = { dir: '/sandbox', clusters: [cluster('source'), cluster('target-1'), cluster('target-2')] };

describe('describeSandbox', () => {
  it('is one JSON object for scripts', () => {
    assert.deepEqual(JSON.parse(describeSandbox(plain, true)), {
      source: '/sandbox/source.kubeconfig',
      targets: ['/sandbox/target-1.kubeconfig', '/sandbox/target-2.kubeconfig'],
      dir: '/sandbox',
    });
  });

  it('names audit logs where there are some', () => {
    const audited = { dir: '/sandbox', clusters: [cluster('source', '/sandbox/source/audit.log')] };
    assert.deepEqual((JSON.parse(describeSandbox(audited, true)) as { auditLogs: object }).auditLogs, {
      source: '/sandbox/source/audit.log',
    });
    assert.match(describeSandbox(audited, false), /audit log of source: \/sandbox\/source\/audit\.log/);
  });

  it('tells people how to point kubectl at each cluster', () => {
    const text = describeSandbox(plain, false);
    for (const { name } of plain.clusters) {
      assert.match(text, new RegExp(`${name} +export KUBECONFIG=/sandbox/${name}.kubeconfig`));
    }
  });

  it('quotes what a shell would take for several words', () => {
    const kubeconfigPath = "/My Clusters/it's/source.kubeconfig";
    const text = describeSandbox({ ...plain, clusters: [{ ...cluster('source'), kubeconfigPath }] }, false);
    assert.ok(text.includes(String.raw`export KUBECONFIG='/My Clusters/it'\''s/source.kubeconfig'`), text);
  });
});

it('says before anything is typed what is simulated, and where exec runs', () => {
  const said = describeSandbox(plain, false);
  assert.match(said, /Kubelets are simulated.* exec runs its command on this machine, as your user\./s);
});

describe('drawInPlace', () => {
  const screen = { isTerminal: true, rows: 5 };
  const draw = (pictures: readonly string[], on = screen): readonly string[] => {
    let drawnLines = 0;
    return pictures.map((picture, index) => {
      const drawn = drawInPlace(drawnLines, picture, on, index === pictures.length - 1);
      ({ drawnLines } = drawn);
      return drawn.output;
    });
  };

  it('puts a picture in the place of the one before', () => assert.deepEqual(
    draw(['a', 'a\nb', 'c']), ['a\n', '\u001B[1A\u001B[Ja\nb\n', '\u001B[2A\u001B[Jc\n'],
  ));
  it('writes one picture into a log', () => assert.deepEqual(
    draw(['a', 'a\nb', 'c'], { isTerminal: false, rows: 5 }), ['', '', 'c\n'],
  ));
  it('writes one picture where it is higher than the screen', () => {
    const [high, higher] = ['1\n2\n3\n4\n5', '1\n2\n3\n4\n5\n6'];
    assert.deepEqual(draw(['a', high, higher]), ['a\n', '\u001B[1A\u001B[J', `${higher}\n`]);
  });
});

describe('supervisedArguments', () => {
  it('repeat every option that the sandbox depends on', () => {
    const args = supervisedArguments(
      {
        targets: 1, nodes: { kind: 'simulated', count: 4 }, gpus: 8, dir: '/sandbox', audit: true, bare: true,
        detach: true, json: true,
      },
    );
    assert.deepEqual(args, [
      'sandbox', 'up', '--targets', '1', '--nodes', '4', '--gpus', '8', '--dir', '/sandbox', '--audit', '--bare',
      '--json', '--supervised',
    ]);
  });
});

describe('supervisorLogPath', () => {
  it('is outside of the sandbox and distinct for each folder', () => {
    assert.match(supervisorLogPath('/cache', '/sandbox'), /^\/cache\/logs\/sandbox-[0-9a-f]{8}\.log$/);
    assert.notEqual(supervisorLogPath('/cache', '/sandbox'), supervisorLogPath('/cache', '/other'));
  });
});

describe('sandboxCommand', () => {
  it('has the commands build, up, demo and down', () => assert.deepEqual(
    sandboxCommand().commands.map((command) => command.name()), ['build', 'up', 'demo', 'down'],
  ));

  it('defaults to two targets of three nodes without GPUs', () => {
    const up = sandboxCommand().commands.find((command) => command.name() === 'up')!;
    const { targets, nodes, gpus } = up.opts<{ targets: number; nodes: number; gpus: number }>();
    assert.deepEqual({ targets, nodes, gpus }, { targets: 2, nodes: { kind: 'simulated', count: 3 }, gpus: 0 });
  });

  it('refuses to start without clusters of ours and without --bare', async () => {
    await assert.rejects(
      sandboxCommand().parseAsync(['up'], { from: 'user' }), { code: 'BadInput', message: /--bare/ },
    );
  });
});

const write = (isTerminal: boolean, ...texts: readonly string[]): string => {
  let state = noProgress;
  return texts
    .map((text) => {
      const shown = showProgress(state, text, isTerminal);
      state = shown.state;
      return shown.output;
    })
    .join('');
};

describe('showProgress', () => {
  it('overwrites a line that counts seconds on a terminal', () => {
    assert.equal(
      write(true, 'Building … 0 s', 'Building … 1 s', 'Starting.'),
      'Building … 0 s\r\u001B[KBuilding … 1 s\nStarting.\n',
    );
  });

  it('repeats a counting line every half minute in a log', () => {
    const texts = Array.from({ length: 62 }, (_, second) => `Building … ${second} s`);
    assert.equal(write(false, ...texts), 'Building … 0 s\nBuilding … 30 s\nBuilding … 60 s\n');
  });

  it('writes every other line as it is', () => assert.equal(write(false, 'one', 'two', 'two'), 'one\ntwo\ntwo\n'));
});

describe('lastLines', () => {
  it('is the end of a log', () => assert.equal(lastLines('a\nb\nc\n', 2), 'b\nc'));
  it('is all of a short one', () => assert.equal(lastLines('a\n', 5), 'a'));
});
