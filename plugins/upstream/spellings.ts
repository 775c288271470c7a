/** Minimum length of a spelling to search for; shorter ones match by chance. */
const LENGTH_MIN = 8

/**
 * Lists the encodings in which a response may repeat a text: plain, reversed, percent-encoded,
 * form, JSON, HTML character references, hexadecimal, and Base64 at any offset. A spelling that
 * contains another one is left out.
 */
export function spellingsOf(texts: readonly string[]): readonly string[] {
  const all = new Set(texts.flatMap((text) => [...escapes(text), ...recodings(text)]))
  const found = [...all].filter(({ length }) => length >= LENGTH_MIN)
  return found.filter((text) => !found.some((other) => other !== text && text.includes(other)))
}

/** Lists forms that keep most characters as they are. */
function escapes(text: string): readonly string[] {
  const url = encodeURIComponent(text.toWellFormed())
  const form = String(new URLSearchParams([['', text]])).slice(1)
  return [text, ...bothCases(url), ...bothCases(form), ...jsonEscapes(text)]
}

/** Lists JSON encodings, including the extra escapes of PHP (`/`), Go (`&<>`) and .NET. */
function jsonEscapes(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const go = json.replaceAll(/[&<>]/g, (char) => unicode(char).toLowerCase())
  const net = json.replaceAll(/\\.|[&'+<>`]/g, (char) =>
    char === '\\"' ? unicode('"') : char[0] === '\\' ? char : unicode(char),
  )
  return [json, json.replaceAll('/', '\\/'), go, net]
}

const unicode = (char: string): string =>
  `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`

const bothCases = (text: string): readonly string[] => [
  text,
  text.replaceAll(/%../g, (hex) => hex.toLowerCase()),
]

/** Lists forms that change every character; only of texts too long to match by chance. */
function recodings(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  if (bytes.length < LENGTH_MIN) return []
  const hex = bytes.toString('hex')
  const pairs = hex.match(/../g) ?? []
  const chars = Array.from(text)
  const codes = chars.map((char) => char.codePointAt(0)!)
  const forms = [
    hex,
    pairs.map((pair) => `%${pair}`).join(''),
    pairs.map((pair) => `\\x${pair}`).join(''),
    Array.from({ length: text.length }, (_, at) => unicode(text[at]!)).join(''),
    codes.map((code) => `&#x${code.toString(16)};`).join(''),
  ]
  return [
    ...forms,
    ...forms.map((form) => form.replaceAll(/[a-f\d]{2,}/gi, upperOrLower)),
    codes.map((code) => `&#${code};`).join(''),
    chars.toReversed().join(''),
    ...base64Forms(bytes),
  ]
}

/** Inverts the case of hexadecimal digits. */
const upperOrLower = (digits: string): string =>
  digits === digits.toUpperCase() ? digits.toLowerCase() : digits.toUpperCase()

/** Lists the Base64 characters that depend on these bytes alone, whatever precedes and follows. */
const base64Forms = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const form = encoded.slice(
      Math.ceil((offset * 8) / 6),
      Math.floor(((offset + bytes.length) * 8) / 6),
    )
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
