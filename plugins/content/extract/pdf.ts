import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import { type Article, ExtractionError } from './article.ts'
import { articleOf } from './plain.ts'

const PAGES_MAX = 500

/** PDF date such as `D:20191120101500+01'00'`, possibly truncated (ISO 32000-1, 7.9.4). */
const DATE = /^D:(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?/

function dateOf(text: unknown): string | null {
  const found = DATE.exec(typeof text === 'string' ? text : '')
  if (!found) return null
  const [, year, month = '01', day = '01', hours, minutes, seconds = '00', utc, sign, h, m] = found
  const offset = utc ?? (sign ? `${sign}${h}:${m ?? '00'}` : '')
  const iso = `${year}-${month}-${day}${hours ? `T${hours}:${minutes}:${seconds}${offset}` : ''}`
  return Number.isNaN(Date.parse(iso)) ? null : iso
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** Joins lines and hyphenated words; pages are separated by a blank line. */
const pageText = (page: string): string =>
  page
    .replace(/(\p{Ll})-\n(?=\p{Ll})/gu, '$1')
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .trim()

/** Text in drawing order, usually reading order. A scan without text is `content_empty`. */
export async function readPdf(body: Uint8Array, url: string): Promise<Article> {
  try {
    const pdf = await getDocumentProxy(new Uint8Array(body), {
      isEvalSupported: false,
      disableFontFace: true,
      verbosity: 0,
    })
    if (pdf.numPages > PAGES_MAX) {
      throw new ExtractionError('content_unreadable', `The PDF has over ${PAGES_MAX} pages.`)
    }
    const { text } = await extractText(pdf)
    const { info } = await getMeta(pdf)
    const told = info as Readonly<Record<string, unknown>>
    const title = textOf(told['Title'])
    return articleOf(url, 'application/pdf', text.map(pageText).filter(Boolean).join('\n\n'), {
      kind: 'pdf',
      ...(title === null ? {} : { title }),
      byline: textOf(told['Author']),
      published_at: dateOf(told['CreationDate']),
      modified_at: dateOf(told['ModDate']),
      lang: textOf(told['Language']),
      description: textOf(told['Subject']),
    })
  } catch (error) {
    if (error instanceof ExtractionError) throw error
    const encrypted = error instanceof Error && error.name === 'PasswordException'
    const why = encrypted ? 'The PDF is encrypted.' : 'The PDF is damaged.'
    throw new ExtractionError('content_unreadable', why)
  }
}
