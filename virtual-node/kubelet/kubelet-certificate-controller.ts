// Maintains the serving certificate of the kubelet API: requested from the cluster's signer if there is one,
// self-signed until then. The key never leaves this process; each replica has its own.
import type { Logger } from 'pino';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import {
  createAuthority, createSigningRequest, lifeOf, type KeyPair,
} from '../../process/crypto/certificate-authority.ts';
import { messageOf } from '../../process/errors.ts';
import {
  KUBELET_SUBJECT, renewalTime, signingOutcome, subjectNamesOf, toSigningRequest,
} from './kubelet-certificate.ts';

/** Dependencies for maintaining a certificate. */
export interface KubeletCertificateOptions {
  readonly source: ClusterClient;
  /** IP address or DNS name of the server. */
  readonly address: string;
  /** Signer of the certificate; self-signed when missing. */
  readonly signer: string | undefined;
  readonly logger: Logger;
  /** Is called with each certificate after the first one. */
  readonly serve: (pair: KeyPair) => void;
}

const SELF_SIGNED_DAYS = 90;
/** Poll interval of a certificate signing request, in ms; people approve it. */
const INTERVAL_MS = 2_000;
/** An unapproved request is replaced after this long, in ms: the cluster removes requests after a day. */
const APPROVAL_TIMEOUT_MS = 12 * 3_600_000;
const RETRY_MS = 60_000;

/** A self-signed initial certificate. */
export async function selfSignedCertificate(address: string): Promise<KeyPair> {
  const now = new Date();
  const authority = await createAuthority('isthmus-kubelet-api', SELF_SIGNED_DAYS, now);
  return authority.issue(
    { ...KUBELET_SUBJECT, ...subjectNamesOf(address), usages: ['server'], days: SELF_SIGNED_DAYS }, now,
  );
}

/** Maintains the certificate until `signal` is aborted. */
export async function keepKubeletCertificate(
  options: KubeletCertificateOptions, first: KeyPair, signal: AbortSignal,
): Promise<void> {
  const { signer, address, logger, serve } = options;
  let due = signer === undefined ? renewalTime(lifeOf(first.certificate)) : 0;
  while (!signal.aborted) {
    await delay(due - Date.now(), signal);
    if (signal.aborted) return;
    try {
      const pair =
        signer === undefined ? await selfSignedCertificate(address) : await signedCertificate(options, signer, signal);
      serve(pair);
      due = renewalTime(lifeOf(pair.certificate));
      logger.info({ signer, renewal: new Date(due).toISOString() }, 'serving certificate of the kubelet API in use');
    } catch (error) {
      if (!signal.aborted) {
        logger.warn({ signer, error: messageOf(error) }, 'no new serving certificate for the kubelet API');
      }
      due = Date.now() + RETRY_MS;
    }
  }
}

async function signedCertificate(
  { source, address, logger }: KubeletCertificateOptions, signer: string, signal: AbortSignal,
): Promise<KeyPair> {
  const { request, key } = await createSigningRequest({ ...KUBELET_SUBJECT, ...subjectNamesOf(address) });
  const { metadata } = await source.create(CERTIFICATE_SIGNING_REQUESTS, toSigningRequest(request, signer), signal);
  const { name = '' } = metadata;
  logger.info(
    { request: name, signer }, 'asked for a serving certificate; approve it with kubectl certificate approve',
  );
  const end = performance.now() + APPROVAL_TIMEOUT_MS;
  while (performance.now() < end) {
    const outcome = signingOutcome(await source.get(CERTIFICATE_SIGNING_REQUESTS, { name }, signal));
    if (outcome.kind === 'issued') return { certificate: outcome.certificate, key };
    if (outcome.kind === 'refused') throw new Error(`request ${name} is ${outcome.message}`);
    await delay(INTERVAL_MS, signal);
    signal.throwIfAborted();
  }
  throw new Error(`nobody has approved request ${name}`);
}
