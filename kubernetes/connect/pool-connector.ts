// How a pool of HTTP/1.1 connections reaches an API server.
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { guardedConnector, type MayDial } from './guarded-dial.ts';
import type { TlsOptions } from './secure-socket.ts';

/** The way to a server: through a gateway or a proxy, else directly, where a guard may refuse addresses. */
export interface ServerRoute {
  /** Opens a connection through the gateway or the proxy; missing where there is neither. */
  readonly dial: (() => Promise<Socket>) | undefined;
  readonly mayDial: MayDial | undefined;
}

/** Connects to the server itself, or through its gateway or proxy. */
export function poolConnector(
  { dial, mayDial }: ServerRoute, tls: () => TlsOptions, timeoutMs: number,
): buildConnector.connector {
  const direct = builtOnce(() => buildConnector({ ...tls(), timeout: timeoutMs }));
  if (dial !== undefined) return tunnelConnector(dial, direct);
  return mayDial === undefined ? direct : guardedConnector(direct, mayDial);
}

/** A connector that is built at its first use; what building throws is the error of the connection. */
function builtOnce(build: () => buildConnector.connector): buildConnector.connector {
  let built: buildConnector.connector | undefined;
  return (options, callback) => {
    try {
      built ??= build();
    } catch (error) {
      return callback(error as Error, null);
    }
    built(options, callback);
  };
}

/** TLS to the API server, inside a connection through the gateway or the proxy. */
function tunnelConnector(dial: () => Promise<Socket>, secure: buildConnector.connector): buildConnector.connector {
  const connect = async (options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    const dialled =
      await dial().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    if (dialled instanceof Error) callback(dialled, null);
    else if (options.protocol === 'https:') secure({ ...options, httpSocket: dialled }, callback);
    else callback(null, dialled);
  };
  return (options, callback) => void connect(options, callback);
}
