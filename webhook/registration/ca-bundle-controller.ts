// Keeps the CA bundle in both webhook configurations in sync with the serving certificates, also when somebody
// re-applies the configurations.
import type { Logger } from 'pino';
import type { WebhookConfiguration } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import {
  hasBundle, isCertManagers, trusts, WEBHOOK_CONFIGURATION_NAME, WEBHOOK_CONFIGURATION_TYPES,
} from './webhook-address.ts';

const FIELD_MANAGER = 'isthmus-webhook';

/** Dependencies of the controller. */
export interface TrustOptions {
  readonly client: ClusterClient;
  /** Called when a configuration was added, changed or deleted. */
  readonly onChange: () => void;
  readonly logger: Logger;
}

/** The webhook configurations and their CA bundles. */
export interface Trust {
  /** Resolves when both are known to exist or to be missing. */
  readonly synced: Promise<unknown>;
  configurations(): readonly WebhookConfiguration[];
  /** Sets the bundle (PEM) that API servers are to trust from now on. */
  setBundle(bundle: string): void;
  /** Whether every configuration trusts this CA certificate. */
  isTrusted(certificate: string): boolean;
}

/** Starts the controller. It waits for configurations that are not installed yet. */
export function startCaBundleController({ client, onChange, logger }: TrustOptions, signal: AbortSignal): Trust {
  let bundle: string | undefined;
  const inform = fullInformersOf({ client, logger });
  const informers = new Map(WEBHOOK_CONFIGURATION_TYPES.map(
    (type) => [type.kind, inform(type, { name: WEBHOOK_CONFIGURATION_NAME })],
  ));
  const reconcile = async (kind: string): Promise<ReconcileResult> => {
    const type = WEBHOOK_CONFIGURATION_TYPES.find((known) => known.kind === kind);
    const configuration = informers.get(kind)?.get(WEBHOOK_CONFIGURATION_NAME);
    if (type === undefined || configuration === undefined || bundle === undefined) return DONE;
    if (isCertManagers(configuration) || hasBundle(configuration, bundle)) return DONE;
    await client.apply(type, withBundle(configuration, bundle), FIELD_MANAGER, signal);
    logger.info({ kind }, 'CA bundle of a webhook configuration written');
    return DONE;
  };
  const controller = startController({ name: 'webhook-trust', reconcile, concurrency: 1, logger }, signal);
  for (const [kind, informer] of informers) {
    informer.onChange(() => {
      controller.enqueue(kind);
      onChange();
    });
    void informer.run(signal);
  }
  const configurations = (): readonly WebhookConfiguration[] =>
    [...informers.values()].flatMap((informer) => [...informer.records()]);
  return {
    synced: Promise.all([...informers.values()].map((informer) => informer.synced)),
    configurations,
    setBundle: (wanted) => {
      bundle = wanted;
      for (const kind of informers.keys()) controller.enqueue(kind);
    },
    isTrusted: (certificate) => configurations().every((configuration) => trusts(configuration, certificate)),
  };
}

/** Only our own fields: the CA of each webhook. */
function withBundle(configuration: WebhookConfiguration, bundle: string): WebhookConfiguration {
  const caBundle = Buffer.from(bundle).toString('base64');
  return {
    metadata: { name: configuration.metadata.name ?? '' },
    webhooks: (configuration.webhooks ?? []).map(({ name }) => ({ name, clientConfig: { caBundle } })),
  };
}
