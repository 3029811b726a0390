// A mutating webhook of somebody else, in this very process, which a real API server asks beside ours.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Pod } from '../../../api/objects/core.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';

/** What it makes of a pod: the metadata and spec that replace those of the pod. It is told the path of its URL. */
export type Mutation = (pod: Pod, path: string) => Partial<Pick<Pod, 'metadata' | 'spec'>>;

/** The webhook. */
export class ForeignWebhook {
  readonly #server: Server;
  readonly #caBundle: string;

  private constructor(server: Server, caBundle: string) {
    this.#server = server;
    this.#caBundle = caBundle;
  }

  /** Listens on a free port of 127.0.0.1, with a certificate of its own. */
  static async start(mutate: Mutation): Promise<ForeignWebhook> {
    const authority = await createAuthority('foreign', 1, new Date());
    const pair = await authority.issue({ commonName: 'foreign', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const server = createServer(
      { cert: pair.certificate, key: pair.key }, (request, response) => void answer(request, response, mutate),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ForeignWebhook(server, Buffer.from(authority.keyPair.certificate).toString('base64'));
  }

  /** The `clientConfig` of a webhook configuration that leads here. */
  clientConfig(path: string): { readonly url: string; readonly caBundle: string } {
    const { port } = this.#server.address() as AddressInfo;
    return { url: `https://127.0.0.1:${port}${path}`, caBundle: this.#caBundle };
  }

  /** Ends all connections, and listens no longer. */
  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, mutate: Mutation): Promise<void> {
  const { request: review } = JSON.parse(await text(request)) as { request: { uid: string; object: Pod } };
  const patch = Object.entries(mutate(review.object, new URL(request.url ?? '', 'https://webhook').pathname))
    .map(([field, value]) => ({ op: 'replace', path: `/${field}`, value }));
  const reply = {
    uid: review.uid, allowed: true, patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
  };
  response.setHeader('content-type', 'application/json')
    .end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: reply }));
}
