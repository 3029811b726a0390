import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service, StringMap } from '../../../../api/objects/core.ts';
import {
  CILIUM_AFFINITY_ANNOTATION, CILIUM_GLOBAL_ANNOTATION, CILIUM_SHARED_ANNOTATION, GLOBAL_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import {
  MANAGED_BY_LABEL, SERVICE_DISCOVERY_MANAGER, type ServiceExport,
} from '../../../../api/kinds/service-discovery.ts';
import { preferenceOf } from '../../../../service-discovery/imports/preference.ts';
import { planRequestedExport } from '../../../../service-discovery/exports/annotated-export.ts';

const service =
  (annotations: StringMap, more: Partial<Service['metadata']> & { readonly type?: string } = {}): Service => {
  const { type = 'ClusterIP', ...metadata } = more;
  return { metadata: { namespace: 'shop', name: 'web', uid: 's', annotations, ...metadata }, spec: { type } };
};
const GLOBAL = { [CILIUM_GLOBAL_ANNOTATION]: 'true' };
const made: ServiceExport =
  { metadata: { namespace: 'shop', name: 'web', uid: 'e', labels: { [MANAGED_BY_LABEL]: SERVICE_DISCOVERY_MANAGER } } };
const given: ServiceExport = { metadata: { namespace: 'shop', name: 'web', uid: 'e' } };

describe('a Service', () => {
  const rows: [string, Service | undefined, ServiceExport | undefined, boolean, string[]][] = [
    ['without a wish is not exported', service({}), undefined, true, []],
    ['that is global for Cilium is exported', service(GLOBAL), undefined, false, ['create']],
    ['is exported once', service(GLOBAL), made, false, []],
    [
      'that is global and not shared is not exported', service({ ...GLOBAL, [CILIUM_SHARED_ANNOTATION]: 'false' }),
      undefined, false, [],
    ],
    [
      'that is shared and not global is not exported', service({ [CILIUM_SHARED_ANNOTATION]: 'true' }), undefined,
      false, [],
    ],
    [
      'that follows elected pods is not exported by itself', service({ [GLOBAL_ANNOTATION]: 'true' }), undefined, false,
      [],
    ],
    ['that follows is exported where that is wanted', service({ [GLOBAL_ANNOTATION]: 'true' }), undefined, true, [
      'create',
    ]],
    [
      'that follows and is not shared is not',
      service({ [GLOBAL_ANNOTATION]: 'true', [CILIUM_SHARED_ANNOTATION]: 'false' }), undefined, true, [],
    ],
    ['that only names another is not exported', service(GLOBAL, { type: 'ExternalName' }), undefined, false, []],
    [
      'that stands for an import is not exported again',
      service(GLOBAL, { labels: { [MANAGED_BY_LABEL]: SERVICE_DISCOVERY_MANAGER } }), undefined, true, [],
    ],
    ['that wishes no more is exported no more', service({}), made, true, ['delete e']],
    ['that is gone is exported no more', undefined, made, true, ['delete e']],
    ['that somebody exports stays exported', service({}), given, true, []],
    ['that somebody exports is not exported again', service(GLOBAL), given, true, []],
  ];
  for (const [what, of, found, followed, expected] of rows) {
    it(what, () => assert.deepEqual(
      planRequestedExport(of, found, followed).map(
        (command) => (command.kind === 'delete' ? `delete ${command.preconditions.uid}` : command.kind),
      ),
      expected,
    ));
  }

  it('takes its export along when it goes', () => {
    const [command] = planRequestedExport(service(GLOBAL), undefined, false);
    assert.deepEqual(command?.kind === 'create' && command.object.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 's' },
    ]);
  });
});

describe('the preference of a Service', () => {
  for (
    const [said, expected] of [
      ['local', 'local'], ['remote', 'remote'], ['none', 'none'], ['elsewhere', 'local'],
    ] as const
  ) {
    it(`${said} is ${expected}`, () => assert.equal(
      preferenceOf(service({ [CILIUM_AFFINITY_ANNOTATION]: said })), expected,
    ));
  }
  it('is local without a word, or without a Service', () => assert.deepEqual(
    [preferenceOf(service({})), preferenceOf(undefined)], ['local', 'local'],
  ));
});
