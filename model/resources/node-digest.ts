// Four-character digests of node names in a ClusterSummary, because full names would be too long to publish. Both sides
// compute them. Two names collide once in 16 million; then the target's scheduler rejects the pod.

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Characters of a digest. */
const NODE_DIGEST_LENGTH = 4;

/** Digest of a node's name: 24 bits of FNV-1a, in base64url. */
export function nodeDigest(name: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  const bits = (hash >>> 8) ^ (hash & 0xff);
  let digest = '';
  for (let shift = 18; shift >= 0; shift -= 6) digest += ALPHABET.charAt((bits >>> shift) & 63);
  return digest;
}

/** The digests that were joined into one text. */
export function splitDigests(text: string): string[] {
  const digests: string[] = [];
  for (let at = 0; at + NODE_DIGEST_LENGTH <= text.length; at += NODE_DIGEST_LENGTH) {
    digests.push(text.slice(at, at + NODE_DIGEST_LENGTH));
  }
  return digests;
}
