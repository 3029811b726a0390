// What users see of our kinds: `kubectl explain` has text for every field, `kubectl get` the columns that one looks
// for.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Schema } from '../../../../api/objects/schema.ts';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../../../manifests/objects/crds.ts';

/** Every field of a schema with its path; those of lists and maps stand under `[]` and `{}`. */
function fields(schema: Schema, path: string): readonly (readonly [string, Schema])[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => [`${path}.${name}`, field] as const);
  const inner: readonly (readonly [string, Schema | undefined])[] =
    [...own, [`${path}[]`, schema.items], [`${path}{}`, schema.additionalProperties]];
  return [...own, ...inner.flatMap(([at, field]) => (field === undefined ? [] : fields(field, at)))];
}

/** Columns that every user of a kind needs, between its name and its age; all others are for `-o wide` or extras. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  ClusterTarget: ['Ready', 'Free CPU', 'Free Mem', 'GPU', 'Free Pods', 'Cordoned', 'RTT'],
  Target: ['Ready', 'Free CPU', 'Free Mem', 'GPU', 'Free Pods', 'Cordoned', 'RTT'],
  ClusterSource: ['Ready'],
  Source: ['Ready'], PodChaperon: ['Phase', 'Source pod'], ClusterSummary: ['CPU', 'Free CPU', 'Free Mem', 'Free Pods'],
  PlacementPolicy: ['Ready'],
  ClusterPlacementPolicy: ['Ready'], ResourceShare: ['Source', 'Ready', 'CPU', 'Used CPU', 'Mem', 'Used Mem', 'Pods'],
  SourceLease: ['State', 'Seconds', 'Seen'],
  NamespaceElection: ['Strategy'], Invitation: ['Expires', 'Redeemed by'], JoinRequest: ['Phase', 'Reason'],
  ClustersetMember: ['Cluster ID'], ClustersetEndpoint: ['Cluster ID', 'Addresses'],
  ClustersetGateway: ['HA Status', 'Connections'],
  ServiceExport: ['Valid', 'Ready', 'Conflict'],
  ServiceImport: ['Type', 'IP', 'Clusters'], ExportedService: ['Cluster', 'Of', 'Service'],
  SecretCopy: ['Intact'], TargetDiscovery: ['Registry', 'Ready', 'Found', 'Targets', 'Held'],
  ClusterDecision: ['Ready', 'Clusters'],
};

/** Kinds that controllers of ours publish by server-side apply. */
const PUBLISHED: ReadonlySet<string> =
  new Set([
    'ClusterSummary', 'ExportedService', 'SourceLease', 'ClustersetGateway', 'ClustersetMember', 'ClustersetEndpoint',
  ]);

/** Maps that server-side apply merges key by key: those that are not atomic, and are in nothing that is. */
function mergedMaps(schema: Schema, path: string): readonly string[] {
  if (schema['x-kubernetes-map-type'] === 'atomic' || schema['x-kubernetes-list-type'] === 'atomic') return [];
  const own = schema.additionalProperties === undefined ? [] : [path];
  const inner = Object.entries(schema.properties ?? {})
    .flatMap(([name, field]) => mergedMaps(field, `${path}.${name}`));
  return [...own, ...inner, ...(schema.items === undefined ? [] : mergedMaps(schema.items, `${path}[]`))];
}

/** Whether a column's path leads to a field of the schema, as far as it is made of plain fields. */
function leadsSomewhere(schema: Schema, jsonPath: string): boolean {
  const plain = jsonPath.replace(/\[.*/, '').split('.').slice(1);
  if (plain[0] === 'metadata') return true;
  let at: Schema | undefined = schema;
  for (const name of plain) {
    if (at?.['x-kubernetes-preserve-unknown-fields'] === true) return true;
    at = at?.properties?.[name.replaceAll('\\', '')] ?? at?.additionalProperties;
  }
  return at !== undefined;
}

for (const { spec, metadata } of [...customResourceDefinitions(), ...serviceDiscoveryCrds()]) {
  for (const version of spec.versions) describe(`${metadata.name} ${version.name}`, () => {
    const schema: Schema = version.schema.openAPIV3Schema;

    it('explains itself and every field', () => {
      const all = fields(schema, '').filter(([path]) => path !== '.metadata');
      assert.ok(all.length > 3 && schema.description !== undefined);
      assert.deepEqual(
        all.filter(([, { description = '' }]) => !/^\S.*\.$/s.test(description)).map(([path]) => path), [],
      );
    });

    it('shows the columns that one looks for, and its age last', () => {
      const shown = version.additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0)
        .map(({ name }) => name);
      const wanted = COLUMNS[spec.names.kind];
      assert.ok(wanted !== undefined, `say in COLUMNS which columns users of ${spec.names.kind} need`);
      for (const column of wanted) assert.ok(shown.includes(column), column);
      assert.equal(version.additionalPrinterColumns.at(-1)?.name, 'Age');
      assert.ok(shown.length >= 2);
    });

    if (PUBLISHED.has(spec.names.kind)) {
      it('has only maps that can be emptied by server-side apply', () => {
        assert.deepEqual(mergedMaps(schema, ''), []);
      });
    }

    it('has columns of fields that exist', () => {
      for (const { name, jsonPath } of version.additionalPrinterColumns) {
        assert.ok(leadsSomewhere(schema, jsonPath), `${name}: ${jsonPath}`);
      }
    });

    it('can be found by a short name and by the category of all our kinds, and has a status apart', () => {
      assert.deepEqual(
        [spec.names.shortNames.length, spec.names.categories, version.subresources], [1, ['isthmus'], { status: {} }],
      );
    });
  });
}
