// The keys that sign source manifests, followed in their Secret, which webhook replicas and scheduler share.
// Keys that were seen once are kept when the Secret goes: pods that were signed with them are still on their way.
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Secret } from '../api/core.ts';
import { SIGNING_KEYS_SECRET } from '../api/keys.ts';
import { SECRETS } from '../api/resource-types.ts';
import { KEY_BYTES, toSigningKeys, type SigningKeys } from '../model/manifest-signature.ts';
import { isAlreadyExists, isNotFound, unless } from './api-error.ts';
import type { ClusterClient } from './cluster-client.ts';
import { Informer } from './informer.ts';

/** Where the Secret is. */
export interface SigningKeyOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly logger: Logger;
}

/** The keys as they are now. */
export class SigningKeyStore {
  readonly #options: SigningKeyOptions;
  readonly #secrets: Informer<Secret, SigningKeys>;
  readonly #listeners: (() => void)[] = [];
  #keys: SigningKeys | undefined;

  constructor(options: SigningKeyOptions) {
    this.#options = options;
    this.#secrets = new Informer<Secret, SigningKeys>({
      client: options.client,
      logger: options.logger,
      type: SECRETS,
      selection: { namespace: options.installNamespace, fieldSelector: `metadata.name=${SIGNING_KEYS_SECRET}` },
      project: ({ data }) => toSigningKeys(data ?? {}),
    });
    this.#secrets.onChange((_key, _before, after) => this.#use(after));
  }

  /** Undefined until the Secret was there. */
  get keys(): SigningKeys | undefined {
    return this.#keys;
  }

  /** Whether it is known if the Secret is there. */
  get hasSynced(): boolean {
    return this.#secrets.hasSynced;
  }

  /** Adds a listener for keys that come from now on. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Follows the Secret until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#secrets.run(signal);
  }

  /**
   * Makes the Secret when there is none: with the keys known so far, else with a new one. Of several callers one wins, and all use its keys.
   * @throws what {@link ClusterClient} throws, for instance when the install namespace is missing.
   */
  async ensure(signal: AbortSignal): Promise<void> {
    const { client, installNamespace, logger } = this.#options;
    const at = { namespace: installNamespace, name: SIGNING_KEYS_SECRET };
    const found = await client.get(SECRETS, at, signal).catch(unless(isNotFound));
    if (found !== undefined) return this.#use(toSigningKeys(found.data ?? {}));
    const made: Secret = { metadata: { ...at, labels: { 'app.kubernetes.io/part-of': 'isthmus' } }, type: 'Opaque', data: toData(this.#keys) };
    const created = await client.create(SECRETS, made, signal).catch(unless(isAlreadyExists));
    if (created === undefined) return this.ensure(signal);
    logger.info({ secret: SIGNING_KEYS_SECRET }, 'made the keys that sign source manifests');
    this.#use(toSigningKeys(created.data ?? {}));
  }

  #use(keys: SigningKeys | undefined): void {
    if (keys === undefined) return;
    this.#keys = keys;
    for (const listener of this.#listeners) listener();
  }
}

/** Ids sort by age; a key that an administrator adds under a later one takes over, and the old one goes on verifying. */
function toData(keys: SigningKeys | undefined): Readonly<Record<string, string>> {
  if (keys === undefined) return { 'key-0001': randomBytes(KEY_BYTES).toString('base64') };
  return Object.fromEntries([...keys.byId.values()].map(({ id, secret }) => [id, secret.export().toString('base64')]));
}
