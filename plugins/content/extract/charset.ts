import { isUtf8 } from 'node:buffer'
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

/** Order of HTML 13.2.3.2: byte order mark, Content-Type, declaration; then detection. */
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
        : (detect(body.subarray(0, SAMPLE_BYTES)) ?? 'windows-1252')
  return (decoderOf(label) ?? new TextDecoder('windows-1252')).decode(body)
}
