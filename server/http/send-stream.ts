import { pipeline } from 'node:stream'
import type { Flow } from '../proxy/stream.ts'
import type { Exchange } from './exchange.ts'

/**
 * Sends a stream as it comes, with its trailers; status and headers are set before. One that fails
 * breaks the answer off: an end in order would say that it was whole.
 */
export function sendStream({ req, res }: Pick<Exchange, 'req' | 'res'>, stream: Flow): void {
  if (req.method === 'HEAD') {
    res.end()
    stream.destroy()
    return
  }
  res.flushHeaders() // its first piece may come late
  stream.once('end', () => stream.trailers && res.addTrailers(stream.trailers))
  pipeline(stream, res, () => undefined)
}
