// Whether the cluster has the CRDs and RBAC of this version. Pure.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { customResourceDefinitions, isForeignDefinition } from '../../manifests/objects/crds.ts';
import { isNeeded, type InstallRole } from '../../manifests/objects/component-permissions.ts';
import type { ComponentAccount } from '../../model/access/component-accounts.ts';
import { rbacObjects } from '../../manifests/objects/rbac.ts';
import { foundOr, storedKey, type DoctorFacts, type Finding, type Unread } from './doctor-facts.ts';

/** Components that values of the chart leave out. */
const OPTIONAL: readonly (ComponentAccount | undefined)[] = ['isthmus-discovery', 'isthmus-peering'];
const INSTALL = 'Run "isthmus install" again with this version (or upgrade the chart); it changes only what differs.';

/** What could not be read, together where the reason is the same. */
export function checkUnread({ unread }: DoctorFacts): readonly Finding[] {
  const forbidden = unread.filter(({ isForbidden }) => isForbidden);
  const failed = unread.filter(({ isForbidden }) => !isForbidden);
  const messages = [...new Set(failed.map(({ message }) => message))];
  return [
    ...(forbidden.length === 0 ? [] : [
      toUnknown(
        forbidden, `this user may not read ${forbidden.length === 1 ? 'it' : 'them'}: ${forbidden[0]?.message}`,
        'Use the kubeconfig of an administrator of this cluster.',
      ),
    ]),
    ...messages.map((message) => toUnknown(
      failed.filter((one) => one.message === message), `the call failed: ${message}`,
      'Try again; look at the API server if that does not help.',
    )),
  ];
}

function toUnknown(alike: readonly Unread[], message: string, remedy: string): Finding {
  return { check: 'Access', severity: 'unknown', subject: alike.map(({ what }) => what).join(', '), message, remedy };
}

/** CRDs exist and have the schema of this version, except one of Admiralty's that stays. */
export function checkCrds({ stored }: DoctorFacts): readonly Finding[] {
  const ours = customResourceDefinitions().filter((definition) => {
    const found = stored.get(storedKey(definition));
    return found === undefined || !isForeignDefinition(found);
  });
  return judged('CRDs', ours, stored, (definition) => {
    const spec = 'spec' in definition && isRecord(definition.spec) ? definition.spec : {};
    const versions = Array.isArray(spec['versions']) ? spec['versions'] : [];
    return versions.map((version: unknown) => (
      isRecord(version)
        ? { name: version['name'], served: version['served'], storage: version['storage'], schema: version['schema'] }
        : version
    ));
  });
}

/**
 * Roles and bindings of components and sources exist and match this version. Those of an optional component may all be
 * missing.
 */
export function checkPermissions(facts: DoctorFacts): readonly Finding[] {
  const { installNamespace, stored } = facts;
  const role = roleOf(facts);
  const parts = rbacObjects(installNamespace).filter(
    ({ side, object: { kind } }) => isNeeded(side, role) && kind?.includes('Role') === true,
  );
  const permissions = parts
    .filter(({ component }) => !OPTIONAL.includes(component) || hasPermissions(facts, component))
    .map(({ object }) => object);
  return judged('Permissions', permissions, stored, (object) => {
    const { rules, roleRef, subjects } = object as KubernetesObject & Readonly<Record<string, unknown>>;
    return { rules, roleRef, subjects };
  });
}

/** Whether any permission of a component is there. */
export function hasPermissions({ installNamespace, stored }: DoctorFacts, account: string | undefined): boolean {
  return rbacObjects(installNamespace).some(
    ({ component, object }) => component === account && stored.has(storedKey(object)),
  );
}

/** The role that the cluster was installed for: without any object of a side it does not have that side. */
function roleOf({ stored, installNamespace }: DoctorFacts): InstallRole {
  const parts = rbacObjects(installNamespace);
  const [isSource, isTarget] = (['source', 'target'] as const).map(
    (role) => parts.some(({ side, object }) => side === role && stored.has(storedKey(object))),
  );
  if (isSource === isTarget) return 'both';
  return isSource === true ? 'source' : 'target';
}

function judged(
  check: string, expected: readonly KubernetesObject[], stored: ReadonlyMap<string, KubernetesObject>,
  contentOf: (object: KubernetesObject) => unknown,
): readonly Finding[] {
  const findings = expected.flatMap((object): readonly Finding[] => {
    const found = stored.get(storedKey(object));
    const subject = storedKey(object).replace(' /', ' ');
    if (found === undefined) {
      return [{ check, severity: 'error', subject, message: 'not found', remedy: INSTALL }];
    }
    if (contentDigest(contentOf(found)) === contentDigest(contentOf(object))) return [];
    return [{ check, severity: 'warning', subject, message: 'it is not what this version installs', remedy: INSTALL }];
  });
  return foundOr(findings, check, `${expected.length} objects are up to date`);
}
