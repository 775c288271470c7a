/** Format of a document, from its declared type or, if unspecific, its first bytes. */
export type DocumentFormat = 'html' | 'pdf' | 'json' | 'text' | 'other'

const SNIFF_BYTES = 1_024
/** Media type that servers send for unknown files. */
const UNSPECIFIC_TYPE =
  /^(?:|application\/octet-stream|binary\/octet-stream|application\/x-download)$/

export const typeOf = (contentType: string | undefined): string =>
  contentType?.split(';', 1)[0]!.trim().toLowerCase() ?? ''

function sniffFormat(body: Uint8Array): DocumentFormat {
  const start = new TextDecoder('latin1').decode(body.subarray(0, SNIFF_BYTES))
  if (start.includes('%PDF-')) return 'pdf'
  if (/^[^\w<]{0,8}<(?:!doctype html|html|head|body|!--|\?xml)/i.test(start)) return 'html'
  // oxlint-disable-next-line no-control-regex -- bytes that no text contains
  return /[\0-\x08\x0e-\x1a]/.test(start) || start === '' ? 'other' : 'text'
}

export function detectFormat(body: Uint8Array, contentType: string | undefined): DocumentFormat {
  const type = typeOf(contentType)
  if (UNSPECIFIC_TYPE.test(type)) return sniffFormat(body)
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (type === 'application/pdf' || type === 'application/x-pdf') return 'pdf'
  if (/^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(type)) return 'json'
  return /^text\/(?:plain|markdown|csv|x-[\w-]+)$/.test(type) ? 'text' : 'other'
}
