import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Fault, type FaultCode } from '../../core/errors.ts'
import { countHeader, newRequestId } from './exchange.ts'
import { problem } from './problem.ts'

/** Rejects requests that two servers could parse differently. @throws Fault */
export function assertWellFormed(request: IncomingMessage): void {
  const { httpVersionMajor: major, httpVersionMinor: minor } = request
  if (major !== 1) throw new Fault('malformed_request', 'Speak HTTP/1.1.')
  const hosts = countHeader(request, 'host')
  if (hosts > 1) throw new Fault('duplicate_header', `host came ${hosts} times.`)
  if (hosts === 0 && minor > 0) throw new Fault('malformed_request', 'It names no Host.')
  if (!isTargetOfHost(request)) {
    throw new Fault('malformed_request', 'The request target names another host than Host.')
  }
  const coding = request.headers['transfer-encoding'] ?? 'chunked'
  if (coding.toLowerCase() === 'chunked') return
  throw new Fault('malformed_request', 'A body comes with its length, or chunked and nothing else.')
}

/** Returns false for an absolute target (RFC 9112 §3.2.2) whose authority differs from Host. */
function isTargetOfHost({ url = '', headers: { host } }: IncomingMessage): boolean {
  if (url.startsWith('/') || url === '*' || host === undefined) return true
  const target = URL.parse(url)
  const own = target && URL.parse(`${target.protocol}//${host}`)
  if (!target || !own || !/^https?:$/.test(target.protocol)) return false
  return target.host === own.host && target.username === '' && target.password === ''
}

const CODES: Readonly<Record<string, FaultCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
}

/** A socket with the response that is being written, as Node's own error handler reads it. */
type Connection = Duplex & { readonly _httpMessage?: ServerResponse | null }

/** Connections that wait for an earlier response; each further chunk of the request fails again. */
const deferred = new WeakSet<Connection>()

/** Sends a problem for unparsable bytes, after earlier responses, and closes the connection. */
export function rejectMalformed(
  error: Error & { readonly code?: string },
  socket: Connection,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { _httpMessage: answer } = socket
  if (answer && (answer.req.complete || answer.headersSent)) {
    if (deferred.has(socket)) return
    deferred.add(socket)
    answer.once('close', () => {
      deferred.delete(socket)
      rejectMalformed(error, socket)
    })
    return
  }
  const fault = new Fault(CODES[error.code ?? ''] ?? 'malformed_request')
  const requestId = newRequestId()
  const { status, headers, body } = problem(fault, requestId, '/')
  const text = JSON.stringify(body)
  const allHeaders = {
    ...headers,
    'X-Request-Id': requestId,
    'Content-Length': String(Buffer.byteLength(text)),
    Connection: 'close',
  }
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${fault.code}`, ...lines, '', text].join('\r\n'))
}

/** Decodes the percent escapes of a path. @throws Fault `malformed_path` unless they are UTF-8 */
export function decodePath(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch (cause) {
    throw new Fault('malformed_path', undefined, { cause })
  }
}
