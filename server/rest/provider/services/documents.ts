import type { FetchDocuments } from '../../../../core/catalog/upstreams/openapi/bundle.ts'
import { DOCUMENT_MAX } from '../../../../core/catalog/upstreams/openapi/document-max.ts'
import { EgressError } from '../../../../core/egress/errors.ts'
import { FAULTS, Fault, type FaultCode } from '../../../../core/errors.ts'
import { inputFault } from '../../input-errors.ts'
import { checkUrl } from './base-url.ts'
import type { ServiceDeps } from './deps.ts'

const TIMEOUT_MS = 30_000
/** Documents of one import that are fetched at the same time. */
const CONCURRENCY = 8

interface DocumentLimits {
  readonly maxBytes?: number
  readonly signal?: AbortSignal | undefined
}

/** @throws Fault `validation_failed` for a forbidden URL, or `upstream_*` if the request fails */
export async function fetchDocument(
  deps: ServiceDeps,
  text: string,
  { maxBytes = DOCUMENT_MAX, signal }: DocumentLimits = {},
): Promise<string> {
  const { url, local, error: urlError } = checkUrl(text, deps.rules, deps.localOrigins)
  if (url === undefined) throw inputFault('/url', urlError)
  const client = local ? deps.backends : deps.egress
  try {
    const timeouts = { totalMs: TIMEOUT_MS }
    const headers = { accept: 'application/json, application/yaml;q=0.9, */*;q=0.1' }
    const request = { url, method: 'GET', headers, maxBytes, timeouts, signal }
    const { status, body } = await client.request(request)
    if (status === 200) return body.toString('utf8')
    throw new Fault('upstream_error', `The request for the document returned status ${status}.`, {
      advice: 'Check that the URL of the document can be read without signing in.',
    })
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const code: FaultCode = error.code in FAULTS ? error.code : 'upstream_error'
    throw new Fault(code, error.message, { cause: error })
  }
}

/** Fetches the documents that one references; all together are limited to the size of one. */
export function documentsFrom(deps: ServiceDeps, first: string): FetchDocuments {
  let bytesLeft = DOCUMENT_MAX - Buffer.byteLength(first)
  const fetchOne = async (url: string, signal?: AbortSignal): Promise<string | undefined> => {
    if (bytesLeft <= 0) return undefined
    try {
      const text = await fetchDocument(deps, url, { maxBytes: bytesLeft, signal })
      bytesLeft -= Buffer.byteLength(text)
      return bytesLeft < 0 ? undefined : text // documents fetched meanwhile took the rest
    } catch (error) {
      if (error instanceof Fault) return undefined // reported where it is referenced
      throw error
    }
  }
  return async (urls, signal) => {
    const texts: (string | undefined)[] = []
    for (let i = 0; i < urls.length; i += CONCURRENCY) {
      const group = urls.slice(i, i + CONCURRENCY)
      texts.push(...(await Promise.all(group.map((url) => fetchOne(url, signal)))))
    }
    return texts
  }
}
