// Keeps the API server's trust and our serving certificate in step: the CA goes into the webhook configuration,
// and the certificate holds every name by which the configuration reaches us.
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { MUTATING_WEBHOOK_CONFIGURATIONS, type MutatingWebhookConfiguration } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../kubernetes/controller.ts';
import { Informer } from '../kubernetes/informer.ts';
import type { CertificateAuthority, KeyPair } from '../process/certificate-authority.ts';
import { trustsAuthority, WEBHOOK_CONFIGURATION_NAME, webhookHosts } from './webhook-address.ts';

/** What the controller works with; `serve` hands a new certificate to the server. */
export interface ServingCertificateOptions {
  readonly client: ClusterClient;
  readonly authority: CertificateAuthority;
  readonly serve: (certificate: KeyPair) => void;
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-webhook';
const VALID_DAYS = 365;

/** A certificate of `authority` for the given host names and IP addresses. */
export function issueServingCertificate(authority: CertificateAuthority, hosts: readonly string[]): Promise<KeyPair> {
  return authority.issue(
    {
      commonName: 'isthmus-webhook',
      dnsNames: hosts.filter((host) => isIP(host) === 0),
      ipAddresses: hosts.filter((host) => isIP(host) !== 0),
      days: VALID_DAYS,
      usages: ['server'],
    },
    new Date(),
  );
}

/** Starts the controller. It waits for the configuration when it is not installed yet. */
export function startServingCertificateController(options: ServingCertificateOptions, signal: AbortSignal): void {
  const { client, authority, logger } = options;
  const caBundle = Buffer.from(authority.keyPair.certificate).toString('base64');
  let served = '';

  const reconcile = async (name: string): Promise<ReconcileResult> => {
    const configuration = configurations.get(name);
    if (configuration === undefined) return DONE;
    const hosts = webhookHosts(configuration);
    if (hosts.join() !== served) {
      options.serve(await issueServingCertificate(authority, hosts));
      served = hosts.join();
    }
    if (!trustsAuthority(configuration, caBundle)) {
      await client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, withAuthority(configuration, caBundle), FIELD_MANAGER, signal);
      logger.info({ name }, 'webhook configuration trusts this webhook');
    }
    return DONE;
  };

  const configurations = new Informer({
    client,
    logger,
    type: MUTATING_WEBHOOK_CONFIGURATIONS,
    selection: { fieldSelector: `metadata.name=${WEBHOOK_CONFIGURATION_NAME}` },
    project: (configuration) => configuration,
  });
  const controller = startController({ name: 'serving-certificate', reconcile, concurrency: 1, logger }, signal);
  configurations.onChange((key) => controller.enqueue(key));
  void configurations.run(signal);
}

/** Only the fields that are ours to apply: the CA of each webhook. */
function withAuthority(configuration: MutatingWebhookConfiguration, caBundle: string): MutatingWebhookConfiguration {
  return {
    metadata: { name: configuration.metadata.name ?? '' },
    webhooks: (configuration.webhooks ?? []).map(({ name }) => ({ name, clientConfig: { caBundle } })),
  };
}
