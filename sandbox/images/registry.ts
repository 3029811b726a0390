// The registry that the real nodes of a sandbox pull from: HTTP, for reading only, on addresses of the sandbox alone.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { hostPort } from '../../model/network/socket-address.ts';
import { readBlob } from '../../manifests/oci-layout.ts';
import { answerRegistry, type RegistryImage } from './registry-answers.ts';

/** A registry; it answers on every address that it was told to listen on. */
export interface Registry {
  /** Adds an image, or replaces it. */
  add(image: RegistryImage): void;
  /** Listens on one more address; gives `http://ADDRESS:PORT`. */
  listen(address: string): Promise<string>;
  close(): Promise<void>;
}

interface Contents {
  readonly layout: string;
  readonly images: Map<string, RegistryImage>;
}

async function send({ layout, images }: Contents, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url: target = '/', headers: { authorization }, method } = request;
  const answer = answerRegistry([...images.values()], { target, authorization });
  if (answer.kind === 'empty') return void response.end();
  if (answer.kind === 'refused') {
    const { status, code, message } = answer;
    const challenge = status === 401 ? { 'www-authenticate': 'Basic realm="sandbox"' } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...challenge });
    return void response.end(JSON.stringify({ errors: [{ code, message }] }));
  }
  const { digest, mediaType } = answer;
  const bytes = await readBlob(layout, { digest, mediaType, size: 0 });
  response.writeHead(200, {
    'content-type': mediaType, 'content-length': bytes.length, 'docker-content-digest': digest,
  });
  response.end(method === 'HEAD' ? undefined : bytes);
}

function serve(contents: Contents): Server {
  return createServer((request, response) => {
    send(contents, request, response).catch(() => {
      if (!response.headersSent) response.writeHead(404);
      response.end();
    });
  });
}

/** Opens a registry on the blobs of a layout's folder. */
export function openRegistry(layout: string): Registry {
  const contents: Contents = { layout, images: new Map() };
  const servers: Server[] = [];
  return {
    add: (image) => void contents.images.set(image.reference, image),
    listen: async (address) => {
      const server = serve(contents);
      servers.push(server);
      server.listen(0, address);
      await once(server, 'listening');
      const bound = server.address();
      return `http://${hostPort(address, typeof bound === 'object' && bound !== null ? bound.port : 0)}`;
    },
    close: async () => {
      for (const server of servers) server.closeAllConnections();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
