import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../../../api/objects/core.ts';
import { SHARED, type FieldsOf } from '../../../../model/objects/fields.ts';
import { continueTokenOf, readersOf } from '../../../../kubernetes/json/watched-fields.ts';

const POD = {
  apiVersion: 'v1', kind: 'Pod',
  metadata: {
    namespace: 'a', name: 'x', uid: 'u', resourceVersion: '7', labels: { app: 'x' }, annotations: { note: 'long' },
    managedFields: [{ manager: 'm' }],
  },
  spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'i', resources: { requests: { cpu: '1' } } }] },
};
const IDENTITY = { namespace: 'a', name: 'x', resourceVersion: '7' };
const eventOf = (object: object, type = 'MODIFIED') => Buffer.from(JSON.stringify({ type, object }));

function readEvent(fields: FieldsOf<Pod> | undefined, event: Buffer): unknown {
  return readersOf<Pod>(fields).event(event, 0, event.length);
}

describe('readersOf', () => {
  const rows: Record<string, { readonly fields: FieldsOf<Pod> | undefined; readonly object: object }> = {
    'nothing: what identifies the object stays': { fields: {}, object: { metadata: { ...IDENTITY, annotations: {} } } },
    'a field of the spec': {
      fields: { spec: { nodeName: true } },
      object: { metadata: { ...IDENTITY, annotations: {} }, spec: { nodeName: 'node-1' } },
    },
    'a field of each element': {
      fields: { spec: { containers: { resources: true } } },
      object: {
        metadata: { ...IDENTITY, annotations: {} }, spec: { containers: [{ resources: { requests: { cpu: '1' } } }] },
      },
    },
    'fields that objects share': {
      fields: { metadata: { namespace: SHARED }, spec: { nodeName: SHARED } },
      object: { metadata: { ...IDENTITY, annotations: {} }, spec: { nodeName: 'node-1' } },
    },
    'one annotation': {
      fields: { metadata: { annotations: { note: true } } },
      object: { metadata: { ...IDENTITY, annotations: { note: 'long' } } },
    },
    'all annotations': {
      fields: { metadata: { annotations: true } }, object: { metadata: { ...IDENTITY, annotations: { note: 'long' } } },
    },
    'all of metadata': { fields: { metadata: true }, object: { metadata: POD.metadata } },
    'no selection: all but managedFields':
      { fields: undefined, object: { ...POD, metadata: { ...POD.metadata, managedFields: undefined } } },
  };
  for (const [what, { fields, object }] of Object.entries(rows)) {
    const expected = JSON.parse(JSON.stringify(object)) as KubernetesObject;
    it(`keeps of an event what is selected: ${what}`, () => assert.deepEqual(
      readEvent(fields, eventOf(POD)), { type: 'MODIFIED', object: expected },
    ));

    it(`keeps the same of an object in a page: ${what}`, () => {
      const page = Buffer.from(
        JSON.stringify({
          kind: 'PodList', apiVersion: 'v1',
          metadata: { resourceVersion: '9', continue: 'next', remainingItemCount: 3 }, items: [POD, POD],
        }),
      );
      const { metadata, items } = readersOf<Pod>(fields).page(page) as {
        metadata: { resourceVersion: string; continue: string }; items: unknown
      };
      assert.deepEqual([metadata.resourceVersion, metadata.continue, items], ['9', 'next', [expected, expected]]);
    });
  }

  it('keeps what a reflector looks for: the end of a streamed list, and the reason of an error', () => {
    const end = {
      kind: 'Pod', metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } },
      spec: { containers: null },
    };
    assert.deepEqual(readEvent({ spec: { nodeName: true } }, eventOf(end, 'BOOKMARK')), {
      type: 'BOOKMARK', object: { metadata: end.metadata, spec: {} },
    });
    const status = { kind: 'Status', metadata: {}, code: 410, reason: 'Expired', message: 'too old' };
    assert.deepEqual(readEvent({}, eventOf(status, 'ERROR')), {
      type: 'ERROR', object: { metadata: {}, code: 410, reason: 'Expired', message: 'too old' },
    });
  });
});

describe('continueTokenOf', () => {
  const pageWith = (metadata: object) =>
    ({ kind: 'PodList', apiVersion: 'v1', metadata, items: [{ metadata: { continue: 'not this one' } }] });
  const rows: Record<string, readonly [page: string, token: string | undefined]> = {
    'a page that others follow': [JSON.stringify(pageWith({ resourceVersion: '1', continue: 'next' })), 'next'],
    'the last page': [JSON.stringify(pageWith({ resourceVersion: '1', continue: '' })), undefined],
    'the last page of a server that leaves the token out':
      [JSON.stringify(pageWith({ resourceVersion: '1' })), undefined],
    'a token that looks like the beginning of items':
      [JSON.stringify(pageWith({ continue: '"items":[' })), '"items":['],
    'metadata behind the items': ['{"items":[],"metadata":{"continue":"next"}}', undefined],
    'white space, which no API server sends': [JSON.stringify(pageWith({ continue: 'next' }), null, 2), undefined],
    'items that are none': ['{"metadata":{"continue":"next"},"items":null}', undefined],
    'a token that is no text': [JSON.stringify(pageWith({ continue: [null, {}] })), undefined],
    'no JSON': ['<html>"items":[', undefined],
    'nothing': ['', undefined],
  };
  for (const [what, [page, token]] of Object.entries(rows)) {
    it(`of ${what}`, () => assert.equal(continueTokenOf(Buffer.from(page)), token));
  }
});
