// What each identity that Isthmus makes could read, change or run, found by trying: all verbs on all that two real API
// servers serve, and the tricks that turn a small right into a large one. What nobody has granted
// (test/support/attackers/escalation-grants.ts) fails.
// `--as-written` prints the result.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { plainAttempts, trickAttempts, type Attempt } from '../support/attackers/escalation-attempts.ts';
import { canaryTexts } from '../support/attackers/escalation-canaries.ts';
import {
  GRANTS, isGranted, isOfKubernetes, powersOf, type GrantedIdentity,
} from '../support/attackers/escalation-grants.ts';
import { probe, type ShownPower } from '../support/attackers/escalation-probe.ts';
import { EscalationWorld, PLACES, type Identity } from '../support/attackers/escalation-world.ts';
import { RawApiClient } from '../support/attackers/raw-api-client.ts';
import { servedResources, type ServedResource } from '../support/worlds/served-resources.ts';

let world: EscalationWorld;
let identities: readonly Identity[];
const shown = new Map<string, readonly ShownPower[]>();
const tried = new Map<string, number>();
const canaries = canaryTexts(PLACES);

before(async () => {
  world = await EscalationWorld.start();
  identities = await world.identities();
  const served = new Map<unknown, readonly ServedResource[]>();
  for (const identity of identities) {
    const { cluster, who } = identity;
    const resources = served.get(cluster) ?? (await withClient(identity, servedResources));
    served.set(cluster, resources);
    shown.set(who, await withClient(identity, (client) => probeAll(client, identity, resources)));
  }
}, { timeout: 220_000 });
after(async () => {
  await world?.stop();
  if (process.argv.includes('--as-written')) {
    writeFileSync(new URL('../../../docs/results/escalation.md', import.meta.url), resultPage());
  }
});

function beyond(grant: GrantedIdentity): readonly ShownPower[] {
  return (shown.get(grant.identity) ?? []).filter(
    (power) => !isGranted(grant, power) && !isOfKubernetes(grant.identity, power),
  );
}

function resultPage(): string {
  const rows = GRANTS.map((grant) => {
    const { identity } = grant;
    const powers = beyond(grant).map(({ power, place }) => `${power} in ${place}`).join(', ') || 'nothing';
    return `| ${identity} | ${tried.get(identity) ?? 0} | ${shown.get(identity)?.length ?? 0} | ${powers} |`;
  });
  return `# What each identity could do

\`npm run soak -- escalation\` on ${new Date().toISOString().slice(0, 10)}: each identity tries all verbs on all that
two real API servers serve, in six namespaces, and tricks with dry runs, propagation, finalizers, types of Secrets,
connections, tokens and impersonation; canaries lie in all namespaces. What it was let to do is compared with the grants
of the [threat model](../threat-model.md). It is a part of \`npm test\`, too.

| Identity | attempts | powers seen, by place | beyond what is granted |
|---|---|---|---|
${rows.join('\n')}
`;
}

async function withClient<T>({ cluster, token }: Identity, use: (client: RawApiClient) => Promise<T>): Promise<T> {
  const client = new RawApiClient(cluster.connection, token);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

async function probeAll(
  client: RawApiClient, { who, cluster, clusterId, account }: Identity, resources: readonly ServedResource[],
): Promise<readonly ShownPower[]> {
  const trier = { places: PLACES, clusterId, account };
  const settle = async ({ path }: Attempt): Promise<void> => {
    for (const query of ['?dryRun=All&propagationPolicy=Foreground', '']) {
      await cluster.client.transport.call({ method: 'DELETE', path: `${path}/probe${query}` }).catch(() => undefined);
    }
  };
  const attempts = [...trickAttempts(trier), ...plainAttempts(resources, trier)];
  tried.set(who, attempts.length);
  return probe(client, attempts, { canaries, settle });
}

describe('each identity', () => {
  it('is known to the threat model', () => assert.deepEqual(
    [...shown.keys()].filter((who) => !GRANTS.some((grant) => grant.identity === who)), [],
  ));

  for (const grant of GRANTS) {
    it(`C2-10, C2-16 and C2-17: ${grant.identity} has no power beyond what it is granted`, () => {
      assert.deepEqual(beyond(grant).map(({ power, place, evidence }) => `${power} in ${place} (${evidence})`), []);
    });
  }

  it('is found to have what it is granted, or the grant is one too many', () => {
    // admission holds that one to what peering may write
    const alone = GRANTS.filter(({ identity }) => !identity.startsWith('isthmus in a '));
    const idle = alone.flatMap(({ identity, grants }) => grants.flatMap(
      (grant) => powersOf(grant).filter((power) => !(shown.get(identity) ?? []).some(
        (one) => one.power.startsWith(power) && grant[0].includes(one.place),
      )).map((power) => `${identity}: ${power}`),
    ));
    assert.deepEqual([...new Set(idle)], []);
  });
});
