/** What a document is, by what its sender says and, where that is nothing, by its first bytes. */
export type Form = 'html' | 'pdf' | 'json' | 'text' | 'other'

const BEGINNING = 1_024
/** Says nothing: what servers send for a file whose name they do not know. */
const VAGUE = /^(?:|application\/octet-stream|binary\/octet-stream|application\/x-download)$/

export const typeOf = (contentType: string | undefined): string =>
  contentType?.split(';', 1)[0]!.trim().toLowerCase() ?? ''

function ofBytes(body: Uint8Array): Form {
  const start = new TextDecoder('latin1').decode(body.subarray(0, BEGINNING))
  if (start.includes('%PDF-')) return 'pdf'
  if (/^[^\w<]{0,8}<(?:!doctype html|html|head|body|!--|\?xml)/i.test(start)) return 'html'
  // oxlint-disable-next-line no-control-regex -- what no text holds
  return /[\0-\x08\x0e-\x1a]/.test(start) || start === '' ? 'other' : 'text'
}

export function formOf(body: Uint8Array, contentType: string | undefined): Form {
  const type = typeOf(contentType)
  if (VAGUE.test(type)) return ofBytes(body)
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (type === 'application/pdf' || type === 'application/x-pdf') return 'pdf'
  if (/^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(type)) return 'json'
  return /^text\/(?:plain|markdown|csv|x-[\w-]+)$/.test(type) ? 'text' : 'other'
}
