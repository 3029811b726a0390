// A broker of a test, in a cluster, on a port of 127.0.0.1: with an authority and a key for tokens of its own, so that
// it can be stopped and started again.
import type { Logger } from 'pino';
import { startBroker, type Broker } from '../../../gateway/broker/broker-server.ts';
import { KubernetesMemberStore } from '../../../gateway/broker/member-store.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { createTokenKey, signBrokerToken } from '../../../process/crypto/signed-token.ts';

/** Namespace of the members' objects; whoever makes a broker has made it. */
export const BROKER_NAMESPACE = 'isthmus-broker';

/** A broker that does not run yet. */
export interface TestBroker {
  /** Starts it, with all that it knew. */
  start(): Promise<Broker>;
  /** A token with which the cluster of this ID joins. */
  tokenFor(clusterId: string): Promise<string>;
}

/** Prepares it; the store follows the members until `signal` is aborted. */
export async function prepareBroker(
  client: ClusterClient, port: number, logger: Logger, signal: AbortSignal,
): Promise<TestBroker> {
  const url = `https://127.0.0.1:${port}`;
  const authority = await createAuthority('clusterset of a test', 30, new Date());
  const serving = await authority.issue(
    { commonName: 'broker', ipAddresses: ['127.0.0.1'], days: 1, usages: ['server'] }, new Date(),
  );
  const tokenKey = createTokenKey();
  const store = new KubernetesMemberStore(client, BROKER_NAMESPACE, logger);
  void store.run(signal);
  return {
    start: () =>
      startBroker({ host: '127.0.0.1', port, url, authority, serving, tokenKey, store, now: () => new Date(), logger }),
    tokenFor: (clusterId) => signBrokerToken(
      tokenKey, { brokerUrl: url, authority: authority.keyPair.certificate, clusterId }, { now: new Date() },
    ),
  };
}
