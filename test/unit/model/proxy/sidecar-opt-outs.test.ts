// Opt-out keys of sidecar injectors: set on the proxy pod, which runs nothing, and taken back for the delegate.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../../api/objects/core.ts';
import { optOutsFor, ownAtOptOuts, withOwnAtOptOuts } from '../../../../model/proxy/sidecar-opt-outs.ts';

const ISTIO = 'sidecar.istio.io/inject';
const LINKERD = 'linkerd.io/inject';
const VAULT = 'vault.hashicorp.com/agent-inject';
/** How each injector is told to leave a pod alone (documented by its project). */
const DISABLED: StringMap = { [ISTIO]: 'false', [LINKERD]: 'disabled', [VAULT]: 'false' };

const on = fc.constantFrom('labels', 'annotations');
const map = fc.dictionary(
  fc.constantFrom(ISTIO, LINKERD, VAULT, 'app', 'constructor'), fc.constantFrom('', 'true', 'false', 'enabled'),
  { noNullPrototype: true },
) as fc.Arbitrary<StringMap>;

describe('opt-outs of a proxy pod', () => {
  it('disable each injector by the value that it documents', () => {
    fc.assert(fc.property(on, map, (where, own) => {
      for (const [key, value] of optOutsFor(where, own)) assert.equal(value, DISABLED[key], key);
    }));
  });
  it('are always there where injection may be on for the whole namespace', () => {
    fc.assert(fc.property(map, (own) => {
      assert.ok(optOutsFor('labels', own).some(([key]) => key === ISTIO));
      assert.ok(optOutsFor('annotations', own).some(([key]) => key === LINKERD));
    }));
  });
  it('replace what the user wrote, or the pod of a user who asks for a sidecar would get one', () => {
    fc.assert(fc.property(on, map, (where, own) => {
      const proxy = { ...own, ...Object.fromEntries(optOutsFor(where, own)) };
      const readBy: Readonly<Record<typeof where, readonly string[]>> = {
        labels: [ISTIO], annotations: [ISTIO, LINKERD, VAULT],
      };
      for (const key of readBy[where].filter((one) => Object.hasOwn(own, one))) assert.equal(proxy[key], DISABLED[key]);
    }));
  });
  it('do not ask for a key that only some pods have, such as an annotation of Vault', () => {
    assert.deepEqual(optOutsFor('annotations', {}).map(([key]) => key), [LINKERD]);
    assert.deepEqual(optOutsFor('labels', { [LINKERD]: 'enabled', [VAULT]: 'true' }).map(([key]) => key), [ISTIO]);
  });
});

describe('the values of the user', () => {
  it('come back from the proxy pod and its record, key by key', () => {
    fc.assert(fc.property(on, map, (where, own) => {
      const proxy = { ...own, ...Object.fromEntries(optOutsFor(where, own)) };
      assert.deepEqual(withOwnAtOptOuts(where, proxy, ownAtOptOuts(where, own)), own);
    }), { numRuns: 300 });
  });
  it('are not recorded where there are none: a record is short', () => {
    assert.equal(ownAtOptOuts('labels', { app: 'web', [LINKERD]: 'enabled' }), undefined);
    assert.deepEqual(ownAtOptOuts('annotations', { [VAULT]: '', app: 'web' }), { [VAULT]: '' });
  });
  it('come from the record at opt-out keys alone: it can put nothing else on a delegate', () => {
    fc.assert(fc.property(on, map, map, (where, proxy, record) => {
      const restored = withOwnAtOptOuts(where, proxy, record);
      const others = (from: StringMap) =>
        Object.fromEntries(Object.entries(from).filter(([key]) => DISABLED[key] === undefined));
      assert.deepEqual(others(restored), others(proxy));
    }));
  });
});
