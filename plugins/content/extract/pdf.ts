import { getDocumentProxy, getMeta } from 'unpdf'
import { type Article, ExtractionError } from './article.ts'
import { escapeLineStart, escapeMarkdown, tableOf } from './inline.ts'
import { idOf, withUniqueIds } from './outline.ts'
import { blocksOf, type PdfBlock, type PdfPage } from './pdf-layout.ts'
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

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>

async function pageOf(pdf: PdfDocument, number: number): Promise<PdfPage> {
  const page = await pdf.getPage(number)
  const { items } = await page.getTextContent()
  const pieces = items.flatMap((item) => {
    if (!('str' in item)) return []
    const [, , , , x = 0, y = 0] = item.transform as readonly number[]
    return [{ text: item.str, x, y, width: item.width, size: item.height || 1 }]
  })
  const { height } = page.getViewport({ scale: 1 })
  page.cleanup()
  return { pieces, height }
}

async function pagesOf(pdf: PdfDocument): Promise<PdfPage[]> {
  const pages: PdfPage[] = []
  for (let number = 1; number <= pdf.numPages; number++) pages.push(await pageOf(pdf, number))
  return pages
}

/** Returns a block as plain text, as the text of HTML. */
const plainOf = (block: PdfBlock): string =>
  block.type === 'table' ? block.rows.map((row) => row.join(' ')).join('\n') : block.text

function markdownOf(block: PdfBlock): string {
  if (block.type === 'heading') return `${'#'.repeat(block.level)} ${escapeMarkdown(block.text)}`
  if (block.type === 'paragraph')
    return block.text
      .split('\n')
      .map((line) => escapeLineStart(escapeMarkdown(line)))
      .join('\n')
  return tableOf(block.rows.map((row) => row.map(escapeMarkdown)))
}

/** Embedded images, which a scan consists of; dictionaries of streams are never compressed. */
const hasImages = (body: Uint8Array): boolean =>
  /\/Subtype\s*\/Image\b/.test(Buffer.from(body).toString('latin1'))

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
    const blocks = blocksOf(await pagesOf(pdf))
    if (blocks.length === 0 && hasImages(body)) {
      throw new ExtractionError(
        'content_empty',
        'The PDF is scanned: its pages are images without text.',
      )
    }
    const { info } = await getMeta(pdf)
    const declared = info as Readonly<Record<string, unknown>>
    const title = textOf(declared['Title'])
    const headings = blocks.flatMap((block) => (block.type === 'heading' ? [block] : []))
    return articleOf(url, 'application/pdf', blocks.map(plainOf).join('\n\n'), {
      kind: 'pdf',
      markdown: blocks.map(markdownOf).join('\n\n'),
      headings: withUniqueIds(headings.map(({ level, text }) => ({ level, text, id: idOf(text) }))),
      ...(title === null ? {} : { title }),
      byline: textOf(declared['Author']),
      published_at: dateOf(declared['CreationDate']),
      modified_at: dateOf(declared['ModDate']),
      lang: textOf(declared['Language']),
      description: textOf(declared['Subject']),
    })
  } catch (error) {
    if (error instanceof ExtractionError) throw error
    const encrypted = error instanceof Error && error.name === 'PasswordException'
    const why = encrypted ? 'The PDF is encrypted.' : 'The PDF is damaged.'
    throw new ExtractionError('content_unreadable', why)
  }
}
