import { pipeline } from 'node:stream'
import type { Exchange } from './exchange.ts'
import type { ResponseStream } from './response-stream.ts'

/** Sends a stream, then its trailers. If it fails, the connection is cut: an end means complete. */
export function sendStream(
  { req, res }: Pick<Exchange, 'req' | 'res'>,
  stream: ResponseStream,
): void {
  if (req.method === 'HEAD') {
    res.end()
    stream.destroy()
    return
  }
  res.flushHeaders() // the first chunk may come late
  stream.once('end', () => stream.trailers && res.addTrailers(stream.trailers))
  pipeline(stream, res, () => undefined)
}
