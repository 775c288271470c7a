import { Readable } from 'node:stream'

/** Lets go of an answer that nobody will read: a stream holds a connection. */
export function discard(body: unknown): void {
  if (body instanceof Readable) body.on('error', () => undefined).destroy()
}
