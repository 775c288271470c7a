import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { dayName } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import { decimal } from '../../money.ts'
import type { DocumentKind, DocumentLine, IssuedDocument, Party, Tax } from './document.ts'

const TITLES: Readonly<Record<DocumentKind, string>> = {
  purchase: 'Receipt for credits',
  call: 'Receipt for a call',
  statement: 'Monthly statement',
  commission: 'Commission statement',
  earnings: 'Statement of earnings',
  'credit-note': 'Credit note',
}

/** Latin, Greek and Cyrillic letters; the standard fonts of PDF have fewer. */
const FONT = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'))
const BOLD_FONT = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'))

const SIZES = { title: 16, heading: 10, text: 8 } as const
const MARGIN = 50
const GAP = 0.8
type Pdf = PDFKit.PDFDocument

/** Scripts that PDFKit would write from left to right. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Nko}]/u

/**
 * Renders a document as PDF, always with the same text and date.
 * @throws Fault `document_not_available` for text that the PDF would show wrongly or not at all
 */
export async function toPdf(document: IssuedDocument): Promise<Buffer> {
  const { default: PdfDocument } = await import('pdfkit') // large, and rarely needed
  const { kind, number, issuedAt, content } = document
  const title = TITLES[kind]
  const info = { Title: `${title} ${number}`, CreationDate: issuedAt, ModDate: issuedAt }
  const pdf = new PdfDocument({ size: 'A4', margin: MARGIN, info, font: FONT })
  pdf.registerFont('bold', BOLD_FONT).registerFont('text', FONT)
  const wrong = textsOf(content).find((text) => !isPrintable(pdf, text))
  if (wrong !== undefined) {
    throw new Fault(
      'document_not_available',
      `The PDF cannot show "${wrong}": its font has only Latin, Greek and Cyrillic letters. ` +
        'The data (JSON) and the electronic invoice (UBL) state it exactly.',
    )
  }
  const written = buffer(pdf)
  pdf.font('bold', SIZES.title).text(title).font('text', SIZES.text).moveDown(GAP)
  writeRows(pdf, factsOf(document))
  heading(pdf, 'Supplier')
  writeRows(pdf, partyRows(content.supplier))
  heading(pdf, 'Customer')
  writeRows(pdf, partyRows(content.customer))
  heading(pdf, 'Amounts in USD')
  pdf.table({ columnStyles: ['*', 45, 75, 75, 75], data: [LINE_HEAD, ...lineRows(document)] })
  for (const { title: name, rows } of content.tables) {
    heading(pdf, `${name}, in USD`)
    writeRows(
      pdf,
      rows.map((row) => [row.name, usd(row.amount_microdollars)]),
    )
  }
  heading(pdf, 'Tax and ledger')
  for (const text of [...content.lines.map(evidenceOf), ...content.notes]) pdf.text(text)
  pdf.end()
  return written
}

/** Collects all texts in a JSON value. */
const textsOf = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsOf)
      : []

/** Returns true if the current font has all characters; PDFKit would print boxes for others. */
function isPrintable(pdf: Pdf, text: string): boolean {
  const { font } = Reflect.get(pdf, '_font') as { readonly font: FontFile }
  return (
    !RIGHT_TO_LEFT.test(text) &&
    Array.from(text.replaceAll(/\s/g, '')).every((char) =>
      font.hasGlyphForCodePoint(char.codePointAt(0)!),
    )
  )
}

interface FontFile {
  hasGlyphForCodePoint(code: number): boolean
}

const usd = (micros: number): string => decimal(BigInt(micros))

function heading(pdf: Pdf, text: string): void {
  pdf.moveDown(GAP).font('bold', SIZES.heading).text(text, MARGIN)
  pdf.font('text', SIZES.text).moveDown(GAP / 2)
}

const writeRows = (pdf: Pdf, rows: readonly (readonly [string, string])[]): void => {
  const data = rows.map((row) => [...row])
  pdf.table({ columnStyles: [150, '*'], defaultStyle: { border: false, padding: 1 }, data })
}

type Row = readonly [name: string, value: string]

function factsOf({ number, issuedAt, content }: IssuedDocument): readonly Row[] {
  const { period, day, preceding, transaction } = content
  return [
    ['Number', number],
    ['Date of issue', dayName(issuedAt)],
    period ? ['Period', `${period.from} to ${period.to}`] : ['Date of supply', day],
    ...(preceding === null ? [] : [['Corrects', preceding] as const]),
    ...(transaction === null ? [] : [['Transaction', transaction] as const]),
  ]
}

const partyRows = (party: Party): readonly Row[] => [
  ['Name', party.legal_name],
  ...(party.address === null ? [] : [['Address', party.address] as const]),
  ['Country', party.country],
  ['Email', party.email],
  ...(party.registration === null ? [] : [['Registration', party.registration] as const]),
  ...(party.tax_id === null ? [] : [['Tax id', party.tax_id] as const]),
]

const LINE_HEAD = ['Description', 'Quantity', 'Net', 'Tax', 'Gross']

function lineRows({ content: { lines, totals } }: IssuedDocument): string[][] {
  const amounts = (of: typeof totals): string[] =>
    [of.net_microdollars, of.tax_microdollars, of.gross_microdollars].map(usd)
  return [
    ...lines.map((line) => [line.description, String(line.quantity), ...amounts(line)]),
    ['Total', '', ...amounts(totals)],
  ]
}

const evidenceOf = ({ description, tax, ledger }: DocumentLine): string => {
  const ranges = ledger.map(
    ({ shard, from_seq: from, to_seq: to, entry_id: id }) =>
      `${shard}/${from}${to === from ? '' : `-${to}`}${id === null ? '' : ` (${id})`}`,
  )
  return `${description}: tax ${taxText(tax)}; journal ${ranges.join(', ')}.`
}

const taxText = ({ category, rate_bps: rate, reason }: Tax): string =>
  `${rate / 100}% (category ${category}${reason === null ? '' : `: ${reason}`})`
