// Fields of a kubeconfig, which is untrusted JSON until they are validated.
import { readFile } from 'node:fs/promises';
import { AppError, messageOf } from '../../process/errors.ts';

/** A mapping with values of any type. */
export type Entry = Readonly<Record<string, unknown>>;

/** Reads a text file; rejects as `readFile` does. */
export type ReadText = (path: string) => Promise<string>;

/** Reads a file as UTF-8. */
export function readUtf8(path: string): Promise<string> {
  return readFile(path, 'utf8');
}

/**
 * The text of a field that may be embedded as `FIELD-data`, or else be in a file; undefined without either.
 * @throws AppError `KubeconfigInvalid` when the file cannot be read.
 */
export async function dataOrFile(entry: Entry, field: string, readText: ReadText): Promise<string | undefined> {
  const data = text(entry, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const path = text(entry, field);
  if (path === undefined) return undefined;
  return readText(path).catch((error: unknown) => {
    throw invalid(`the file of its ${field} cannot be read: ${messageOf(error)}`);
  });
}

/**
 * The text of a field; undefined where it is missing or empty.
 * @throws AppError `KubeconfigInvalid` where it is something else, as client-go does: a token of digits without quotes.
 */
export function text(entry: Entry, field: string): string | undefined {
  const value = entry[field] ?? '';
  if (typeof value !== 'string') throw invalid(`its ${field} is not a string; put it in quotes`);
  return value === '' ? undefined : value;
}

/** The error for a kubeconfig that is invalid, regardless of its author. */
export function invalid(why: string): AppError {
  return new AppError('KubeconfigInvalid', `the kubeconfig cannot be used: ${why}`);
}
