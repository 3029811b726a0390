// Tokens in files. The file of an administrator's Secret must be below a folder that the installation names, also where
// its links lead to, and is never the token of the pod itself.
import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import { AppError, reasonOf } from '../../process/errors.ts';
import { isBearerToken } from './resolved-credentials.ts';

/** A token is a kilobyte or two. */
const MAX_TOKEN_BYTES = 64 << 10;
/** Where Kubernetes mounts the pod's own token, which authenticates to the source and goes to no other cluster. */
const OWN_TOKEN_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** A token file, and where it must be; anywhere when `folders` is missing. */
export interface TokenFile {
  readonly path: string;
  readonly folders?: readonly string[];
}

/** Whether a path leads out of no folder. Pure: it resolves no links. */
export function isBelow(path: string, folder: string): boolean {
  const fromFolder = relative(folder, path);
  return fromFolder !== '' && fromFolder !== '..' && !fromFolder.startsWith('../') && !isAbsolute(fromFolder);
}

/**
 * The token in the file now.
 * @throws AppError `CredentialsUnavailable` with the path and what is wrong, never with what the file holds.
 */
export async function readTokenFile({ path, folders }: TokenFile): Promise<string> {
  try {
    if (folders === undefined) return (await readFile(path, 'utf8')).trim();
    const [real, ...allowed] = await Promise.all([path, ...folders].map((each) => realpath(each)));
    const own = await realpath(OWN_TOKEN_FOLDER).catch(() => OWN_TOKEN_FOLDER);
    if (real === undefined || !allowed.some((folder) => isBelow(real, folder)) || isBelow(real, own)) {
      throw unavailable(path, 'it leads out of the folders of --token-folders');
    }
    const { size } = await stat(real);
    const token = size > MAX_TOKEN_BYTES ? '' : (await readFile(real, 'utf8')).trim();
    if (!isBearerToken(token)) throw unavailable(path, 'it holds no token');
    return token;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw unavailable(path, `it cannot be read: ${reasonOf(error)}`);
  }
}

function unavailable(path: string, why: string): AppError {
  return new AppError('CredentialsUnavailable', `the token file ${path} gives no credentials: ${why}`);
}
