import { detect } from 'chardet'
import { getEncoding } from 'encoding-sniffer'

/** Detection looks at so many bytes; declarations stand within the first kilobytes. */
const SAMPLE = 65_536

const decoderOf = (label: string): InstanceType<typeof TextDecoder> | undefined => {
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

const charsetOf = (contentType: string | undefined): string | undefined =>
  /;\s*charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType ?? '')?.[1]

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/**
 * The text of a page. What counts first, is decided as browsers do (HTML standard, 13.2.3.2): the
 * byte order mark, the sender's header, the page's own declaration; then what the bytes look like.
 */
export function decode(body: Uint8Array, contentType: string | undefined): string {
  const transport = charsetOf(contentType)
  const declared = getEncoding(body, {
    ...(transport && decoderOf(transport) ? { transportLayerEncodingLabel: transport } : {}),
    defaultEncoding: 'x-user-defined',
  })
  const label =
    declared !== 'x-user-defined'
      ? declared
      : isUtf8(body)
        ? 'utf-8'
        : (detect(body.subarray(0, SAMPLE)) ?? 'windows-1252')
  return (decoderOf(label) ?? new TextDecoder('windows-1252')).decode(body)
}
