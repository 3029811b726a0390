// Structured logs: a constant message plus keys, one child logger per component. Never manifests, Secrets or tokens.
import { destination, pino, type Logger } from 'pino';

/** Lowest severity that is logged. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** A logger that writes JSON lines to standard error. */
export function createLogger(level: LogLevel): Logger {
  return pino({ level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` }, destination(2));
}
