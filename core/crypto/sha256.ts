import { hash } from 'node:crypto'

/**
 * SHA-256 of bytes, or of a text in UTF-8. By way of a text: 32 bytes of memory of their own, as
 * the hash would give them, take three times as long as the hash.
 */
export const sha256 = (data: string | Uint8Array): Buffer =>
  Buffer.from(hash('sha256', data, 'binary'), 'binary')
