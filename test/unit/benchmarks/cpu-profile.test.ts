// Self times of functions and modules from a V8 profile.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { topFunctions, topModules, type CpuProfile } from '../../../benchmarks/cpu-profile.ts';

const frame = (id: number, functionName: string, url: string, lineNumber = 0) =>
  ({ id, callFrame: { functionName, url, lineNumber } });

const profile: CpuProfile = {
  nodes: [
    frame(1, '(idle)', ''),
    frame(2, '(garbage collector)', ''),
    frame(3, 'reconcile', 'file:///any/build/scheduler/cycle/scheduling-controller.js', 9),
    frame(4, '', 'file:///any/build/scheduler/cycle/scheduling-controller.js', 19),
    frame(5, 'write', 'file:///any/node_modules/undici/lib/dispatcher/client-h1.js', 4),
    frame(6, 'sign', 'file:///any/node_modules/@peculiar/x509/build/index.js', 4),
    frame(7, 'emit', 'node:events', 4),
    frame(8, 'writev', ''),
  ],
  samples: [1, 2, 3, 3, 4, 5, 6, 7, 8],
  timeDeltas: [90_000, 1_000, 2_000, 2_000, 1_000, 1_000, 1_000, 1_000, 1_000],
};

describe('topFunctions', () => {
  it('adds up the samples of a function and gives its share of the time that was not idle', () => {
    assert.deepEqual(
      topFunctions(profile, 1),
      [{ place: 'reconcile scheduler/cycle/scheduling-controller.js:10', ms: 4, fraction: 0.4 }],
    );
  });

  it('names functions without a name, and those of V8 without a place', () => {
    const places = topFunctions(profile, 99).map(({ place }) => place);
    assert.ok(places.includes('(anonymous) scheduler/cycle/scheduling-controller.js:20'));
    assert.ok(places.includes('(garbage collector)'));
    assert.ok(!places.includes('(idle)'));
  });

  it('gives nothing for a profile without samples', () => assert.deepEqual(
    topFunctions({ nodes: profile.nodes }, 9), [],
  ));
});

describe('topModules', () => {
  it('puts together what belongs to a file of ours, a package, a part of Node.js, or V8', () => {
    const times = Object.fromEntries(topModules(profile, 99).map(({ place, ms }) => [place, ms]));
    assert.deepEqual(times, {
      'scheduler/cycle': 5,
      undici: 1,
      '@peculiar/x509': 1,
      'node:events': 1,
      'built-in functions': 1,
      '(garbage collector)': 1,
    });
  });

  it('gives shares that sum to one', () => {
    const sum = topModules(profile, 99).reduce((total, { fraction }) => total + fraction, 0);
    assert.ok(Math.abs(sum - 1) < 1e-9);
  });
});
