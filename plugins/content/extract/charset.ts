import { isAscii, isUtf8 } from 'node:buffer'
import { detect } from 'chardet'
import { getEncoding } from 'encoding-sniffer'

/** Bytes inspected to detect the charset; declarations are within the first kilobytes. */
const SAMPLE_BYTES = 65_536

const decoderOf = (label: string): InstanceType<typeof TextDecoder> | undefined => {
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

const charsetOf = (contentType: string | undefined): string | undefined =>
  /;\s*charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType ?? '')?.[1]

const ESCAPE = 0x1b

/** Bytes of ASCII that switch to other characters and back are ISO-2022-JP, not ASCII. */
const detected = (body: Uint8Array): string =>
  isAscii(body) && !body.includes(ESCAPE)
    ? 'utf-8'
    : (detect(body.subarray(0, SAMPLE_BYTES)) ?? 'windows-1252')

/**
 * Order of HTML 13.2.3.2: byte order mark, Content-Type, declaration; then detection. Bytes above
 * ASCII that are valid UTF-8 are nothing else, whatever a page that was converted declares.
 */
export function decode(body: Uint8Array, contentType: string | undefined): string {
  const transport = charsetOf(contentType)
  // The sniffer lacks some charsets of the decoder, such as that of older Hebrew pages.
  const header = transport && decoderOf(transport) ? transport : undefined
  const declared = getEncoding(body, {
    ...(header !== undefined && { transportLayerEncodingLabel: header }),
    defaultEncoding: 'x-user-defined',
  })
  const known = declared === 'x-user-defined' ? (header ?? detected(body)) : declared
  const label = isUtf8(body) && !isAscii(body) ? 'utf-8' : known
  return (decoderOf(label) ?? new TextDecoder('windows-1252')).decode(body)
}
