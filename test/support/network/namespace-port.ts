// Opens a port on the loopback of the network namespace that it runs in, and hands it to whoever started it, who ends
// it then: a socket stays in its namespace.
import { createServer } from 'node:net';

const server = createServer();
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('port', server));
