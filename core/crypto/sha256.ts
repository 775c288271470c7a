import { createHash, hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

/**
 * SHA-256 of bytes, or of a text as UTF-8. Converts through a string, because allocating the digest
 * buffer directly takes three times as long as the hash.
 */
export const sha256 = (data: string | Uint8Array): Buffer =>
  Buffer.from(hash('sha256', data, 'binary'), 'binary')

const PIECE_BYTES = 1_048_576

/** SHA-256 of many bytes; yields to the event loop after each piece. */
export async function sha256InPieces(bytes: Uint8Array): Promise<Buffer> {
  const digest = createHash('sha256')
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    digest.update(bytes.subarray(at, at + PIECE_BYTES))
    await setImmediate()
  }
  return digest.digest()
}
