import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { withTrustedAddresses, withTrustedConditions } from '../../../../model/delegate/trusted-status.ts';
import { formatV4, isWithin, parseRange, RangeSet } from '../../../../model/network/ip-range.ts';

const ranges = (...texts: string[]) => texts.map((text) => parseRange(text) ?? assert.fail(text));
const condition = (type: string) => ({ type, status: 'True' }) as const;

describe('conditions of a delegate', () => {
  const cases: Record<string, readonly [believed: boolean, type: string, gates: readonly string[] | undefined]> = {
    'that kubelets write are believed': [true, 'Ready', undefined],
    'that say that all containers are restarted are believed': [true, 'AllContainersRestarting', undefined],
    'that say that a pod is about to go are believed': [true, 'DisruptionTarget', undefined],
    'of a readiness gate that the proxy declares are believed': [true, 'example.com/lb', ['example.com/lb']],
    'of a gate that it does not declare are not': [false, 'example.com/lb', ['example.com/other']],
    'of any other kind are not': [false, 'example.com/audited', undefined],
    'in the name of Isthmus are not': [false, 'isthmus.dev/TargetUnreachable', undefined],
  };
  for (const [sentence, [believed, type, gates]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(
      withTrustedConditions({ phase: 'Running', conditions: [condition(type)] }, gates),
      { phase: 'Running', conditions: believed ? [condition(type)] : [] },
    ));
  }
});

describe('addresses of a delegate', () => {
  const own = new RangeSet(ranges('10.244.0.0/16', '10.96.0.0/12', 'fd00:1::/64'));
  const cases: Record<string, readonly [told: readonly string[], shown: readonly string[]]> = {
    'are shown': [['10.1.0.7'], ['10.1.0.7']],
    'of both families are shown': [['10.1.0.7', 'fd00:2::7'], ['10.1.0.7', 'fd00:2::7']],
    "that are a pod's of the source are not": [['10.244.3.7'], []],
    "that are a Service's of the source are not": [['10.96.0.1'], []],
    'are shown where one of two is not the source’s': [['10.244.3.7', 'fd00:2::7'], ['fd00:2::7']],
    'that no pod has are not': [['127.0.0.1'], []],
    'to which the pod plane maps a range are shown': [['242.1.2.10'], ['242.1.2.10']],
    'of all nodes are not': [['255.255.255.255'], []],
    "that are a Service's of the source in the form of IPv6 are not": [['::ffff:10.96.0.1', '64:ff9b::a60:1'], []],
    'of a metadata service are not': [['169.254.169.254'], []],
    'that are none are not': [['web.example.com'], []],
    'are two at most': [['10.1.0.7', '10.1.0.8', '10.1.0.9'], ['10.1.0.7', '10.1.0.8']],
  };
  for (const [sentence, [told, shown]] of Object.entries(cases)) {
    it(sentence, () => {
      const all = told.map((ip) => ({ ip }));
      const { podIP, podIPs = [], hostIP, hostIPs = [] } =
        withTrustedAddresses({ podIP: told[0] ?? '', podIPs: all, hostIP: told[0] ?? '', hostIPs: all }, own);
      assert.deepEqual([podIP, podIPs.map(({ ip }) => ip)], [shown[0], shown]);
      assert.deepEqual([hostIP, hostIPs.map(({ ip }) => ip)], [shown[0], shown]);
    });
  }
  it('are the same object where nothing is amiss', () => {
    const status =
      { podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }], hostIP: '10.2.0.7', hostIPs: [{ ip: '10.2.0.7' }] };
    assert.equal(withTrustedAddresses(status, own), status);
  });
  it('are those of its list, whatever is told apart from it', () => {
    assert.deepEqual(withTrustedAddresses({ podIP: '10.96.0.1', podIPs: [{ ip: '10.1.0.7' }] }, own), {
      podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }],
    });
  });
});

describe('many ranges together', () => {
  const address = fc.nat(0xff_ff_ff_ff).map((bits) => formatV4(BigInt(bits)));
  const range = fc.tuple(address, fc.integer({ min: 0, max: 32 }))
    .map(([text, length]) => parseRange(`${text}/${length}`) ?? assert.fail());
  it('hold what one of them holds', () => {
    fc.assert(fc.property(fc.array(range, { maxLength: 12 }), address, (all, text) => {
      const near = [text, ...all.flatMap(({ first, last }) => [formatV4(first), formatV4(last)])];
      for (const one of near) assert.equal(new RangeSet(all).has(one), all.some((each) => isWithin(each, one)));
    }), { numRuns: 300 });
  });
});
