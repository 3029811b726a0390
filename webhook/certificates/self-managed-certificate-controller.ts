// Self-managed certificates: CAs and a leaf in a Secret that all replicas share. The first replica to notice issues
// what is due; the others read it. Every write carries the resourceVersion that it was decided on, so that replicas do
// not undo each other.
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import type { Secret } from '../../api/objects/core.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../api/objects/own-names.ts';
import { SECRETS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { createAuthority, loadAuthority } from '../../process/crypto/certificate-authority.ts';
import {
  fromSecret, planCertificates,
  toSecretData, trustBundle, type CertificatePair, type CertificateStep, type OverlapTimes, type StoredCertificates,
} from './serving-certificate.ts';
import { keySecretSelection, writeKeySecret } from '../registration/key-secret.ts';
import { startCaBundleController } from '../registration/ca-bundle-controller.ts';
import { webhookHosts } from '../registration/webhook-address.ts';

/** Validity (days) and overlap (ms) of certificates. */
export interface CertificateLives extends OverlapTimes {
  readonly authorityDays: number;
  readonly leafDays: number;
}

/** Dependencies of a certificate source; `serve` hands the current pair to the server. */
export interface CertificateOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly serve: (pair: CertificatePair) => boolean;
  readonly logger: Logger;
  /** For tests; the defaults when omitted. */
  readonly lives?: CertificateLives;
}

const LIFETIMES: CertificateLives = { authorityDays: 730, leafDays: 90, trustFirstMs: 60_000, trustLongerMs: 600_000 };

/** Starts the controller. It calls `serve` with the first certificate and at every change. */
export function startOwnCertificates(options: CertificateOptions, signal: AbortSignal): void {
  const certificates = new OwnCertificates(options, signal);
  const controller = startController(
    { name: 'webhook-certificates', reconcile: () => certificates.reconcile(), concurrency: 1, logger: options.logger },
    signal,
  );
  certificates.observe(() => controller.enqueue(WEBHOOK_CERTIFICATES_SECRET));
}

interface Stored extends StoredCertificates {
  readonly resourceVersion: string;
}

class OwnCertificates {
  readonly #options: CertificateOptions;
  readonly #signal: AbortSignal;
  readonly #secrets: Informer<Secret, Stored>;
  readonly #trust;
  #enqueue: () => void = () => undefined;
  #served = '';
  #trusted: { readonly certificate: string; readonly since: number } | undefined;

  constructor(options: CertificateOptions, signal: AbortSignal) {
    const { client, logger, installNamespace } = options;
    this.#options = options;
    this.#signal = signal;
    this.#trust = startCaBundleController({ client, logger, onChange: () => this.#enqueue() }, signal);
    this.#secrets = new Informer({
      client,
      logger,
      type: SECRETS,
      selection: keySecretSelection(installNamespace),
      project: (secret) => ({ ...fromSecret(secret), resourceVersion: secret.metadata.resourceVersion ?? '' }),
    });
  }

  observe(enqueue: () => void): void {
    this.#enqueue = enqueue;
    this.#secrets.onChange(enqueue);
    void this.#secrets.run(this.#signal);
    void Promise.all([this.#secrets.synced, this.#trust.synced]).then(enqueue);
  }

  async reconcile(): Promise<ReconcileResult> {
    if (!this.#secrets.hasSynced) return DONE;
    await this.#trust.synced;
    const [stored = { authorities: [], resourceVersion: '' }] = this.#secrets.records();
    this.#use(stored);
    const newestTrustedSince = this.#trustedSince(stored.authorities.at(-1)?.certificate ?? '', Date.now());
    const hosts = webhookHosts(this.#trust.configurations());
    const step = planCertificates({ ...stored, hosts, newestTrustedSince }, this.#lives, Date.now());
    if (step.kind === 'keep') return { kind: 'requeue-after', ms: step.checkAgainMs };
    await this.#write(await this.#carryOut(step, stored, hosts), stored.resourceVersion);
    return DONE; // the watch delivers what was written
  }

  /**
   * Since when all configurations were observed to trust a CA: the patch may be late, and API servers see it later
   * still.
   */
  #trustedSince(certificate: string, now: number): number | undefined {
    if (!this.#trust.isTrusted(certificate)) return undefined;
    if (this.#trusted?.certificate !== certificate) this.#trusted = { certificate, since: now };
    return this.#trusted.since;
  }

  get #lives(): CertificateLives {
    return this.#options.lives ?? LIFETIMES;
  }

  #use({ authorities, leaf }: StoredCertificates): void {
    if (authorities.length > 0) this.#trust.setBundle(trustBundle(authorities));
    if (leaf === undefined || leaf.certificate === this.#served) return;
    if (this.#options.serve(leaf)) this.#served = leaf.certificate;
  }

  async #carryOut(
    step: Exclude<CertificateStep, { kind: 'keep' }>, { authorities, leaf }: StoredCertificates,
    hosts: readonly string[],
  ): Promise<StoredCertificates> {
    this.#options.logger.info({ step: step.kind }, 'webhook certificates change');
    switch (step.kind) {
      case 'add-authority': {
        const { keyPair } = await createAuthority('isthmus-webhook-ca', this.#lives.authorityDays, new Date());
        return { authorities: [...authorities.slice(-1), keyPair], ...(leaf && { leaf }) };
      }
      case 'issue-leaf':
        return { authorities, leaf: await this.#issue(step.signer, hosts) };
      case 'drop-authorities':
        return { authorities: step.kept, ...(leaf && { leaf }) };
    }
  }

  async #issue(signer: CertificatePair, hosts: readonly string[]): Promise<CertificatePair> {
    const authority = await loadAuthority(signer);
    const names =
      { dnsNames: hosts.filter((host) => isIP(host) === 0), ipAddresses: hosts.filter((host) => isIP(host) !== 0) };
    return authority.issue(
      { commonName: 'isthmus-webhook', ...names, days: this.#lives.leafDays, usages: ['server'] }, new Date(),
    );
  }

  async #write(certificates: StoredCertificates, resourceVersion: string): Promise<void> {
    await writeKeySecret(this.#options, { data: toSecretData(certificates), resourceVersion }, this.#signal);
  }
}
