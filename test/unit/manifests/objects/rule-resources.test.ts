// Rules of roles are texts: one that names a resource that nothing defines grants nothing, and nobody says so.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { ISTHMUS_GROUP } from '../../../../api/objects/group-version.ts';
import { SOURCE_IDENTITIES } from '../../../../model/access/confinement-rules.ts';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../../../manifests/objects/crds.ts';
import { brokerManifests, gatewayManifests } from '../../../../manifests/objects/gateway.ts';
import { podPlaneManifests } from '../../../../manifests/objects/pod-plane.ts';
import { admiraltyRoles, rbacManifests } from '../../../../manifests/objects/rbac.ts';
import { serviceDiscoveryManifests } from '../../../../manifests/objects/service-discovery.ts';
import type { RoleObject } from '../../../../model/access/rbac-objects.ts';

const place = { namespace: 'isthmus-system', image: 'x' };
const OBJECTS: Readonly<Record<string, readonly KubernetesObject[]>> = {
  components: rbacManifests('isthmus-system'),
  "Admiralty's roles": admiraltyRoles(),
  'the gateway': gatewayManifests(place),
  'the broker': brokerManifests(place),
  'the pod plane': podPlaneManifests({ installNamespace: 'isthmus-system', image: 'x' }),
  'service discovery': serviceDiscoveryManifests(place),
};
const definitions = [...customResourceDefinitions(), ...serviceDiscoveryCrds()];
const groups = new Set(customResourceDefinitions().map(({ spec }) => spec.group));
/** `group plural`, and with `/status` where a version has that subresource; one is a mark, which no API serves. */
const mark = `${ISTHMUS_GROUP} ${SOURCE_IDENTITIES}`;
const defined = new Set([mark, ...definitions.flatMap(({ spec: { group, names: { plural }, versions } }) => [
  `${group} ${plural}`, `${group} ${plural}/finalizers`,
  ...(versions.some(({ subresources }) => subresources?.status !== undefined) ? [`${group} ${plural}/status`] : []),
])]);

describe('rules about our kinds', () => {
  for (const [name, objects] of Object.entries(OBJECTS)) {
    it(`name only resources that are defined: ${name}`, () => {
      const rules = objects.flatMap((object) => ('rules' in object ? (object as RoleObject).rules : []));
      const named = rules.flatMap(({ apiGroups, resources }) =>
        apiGroups.filter((group) => groups.has(group)).flatMap((group) => resources.map((one) => `${group} ${one}`)));
      assert.ok(named.length > 0);
      assert.deepEqual(named.filter((one) => !one.endsWith('*') && !defined.has(one)), []);
    });
  }
});
