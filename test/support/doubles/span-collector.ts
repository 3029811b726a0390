// A collector of traces as far as tests need one: takes OTLP in JSON and remembers the spans.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as it came. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code: number; readonly message: string };
  /** By key. */
  readonly attributes: Readonly<Record<string, string>>;
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes'> & {
        readonly attributes: readonly {
          readonly key: string; readonly value: { readonly stringValue?: string; readonly intValue?: string }
        }[]
      })[]
    }[]
  }[];
}

/** Listens on a free port of 127.0.0.1. */
export class SpanCollector {
  readonly spans: CollectedSpan[] = [];
  /** Headers of the last request. */
  headers: Readonly<Record<string, unknown>> = {};
  /** What requests are answered with. */
  status = 200;
  requests = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<SpanCollector> {
    const server = createServer();
    const collector = new SpanCollector(server);
    server.on('request', (request, response) => {
      void collector.#receive(request).then(() => response.writeHead(collector.status).end('{}'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #receive(request: IncomingMessage): Promise<void> {
    const body = await text(request);
    this.requests += 1;
    this.headers = request.headers;
    if (this.status < 300 && request.url === '/v1/traces') this.#take(JSON.parse(body) as Sent);
  }

  #take({ resourceSpans }: Sent): void {
    for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) for (const span of spans) {
      this.spans.push({
        ...span,
        attributes:
          Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? ''])),
      });
    }
  }

  /** Ends all connections. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
