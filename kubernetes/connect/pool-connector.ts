// How a pool of HTTP/1.1 connections reaches an API server.
import { buildConnector } from 'undici';
import { dialThroughGateway, type GatewayRoute } from './gateway-dialer.ts';
import { guardedConnector, type MayDial } from './guarded-dial.ts';
import type { TlsOptions } from './secure-socket.ts';

/** The way to a server: through a gateway, else directly, where a guard may refuse addresses. */
export interface ServerRoute {
  readonly gateway: GatewayRoute | undefined;
  readonly mayDial: MayDial | undefined;
}

/** Connects to the server itself, or through its gateway. */
export function poolConnector(
  { gateway, mayDial }: ServerRoute, tls: () => TlsOptions, timeoutMs: number,
): buildConnector.connector {
  const direct = builtOnce(() => buildConnector({ ...tls(), timeout: timeoutMs }));
  if (gateway !== undefined) return gatewayConnector(gateway, direct, timeoutMs);
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

/** TLS to the API server, inside a connection through the gateway. */
function gatewayConnector(
  gateway: GatewayRoute, secure: buildConnector.connector, timeoutMs: number,
): buildConnector.connector {
  const connect = async (options: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    const dialled = await dialThroughGateway(gateway, timeoutMs).catch(
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    if (dialled instanceof Error) callback(dialled, null);
    else secure({ ...options, httpSocket: dialled }, callback);
  };
  return (options, callback) => void connect(options, callback);
}
