import { expect } from 'chai'
import { type Article, ExtractionError, read } from '../../../../plugins/content/extract/index.ts'
import { URL_OF_PAGE } from './pages.ts'
import { type PlacedText, pdfOf } from './pdf.ts'

const readPdf = (body: Uint8Array): Promise<Article> =>
  read({ body, contentType: 'application/pdf', url: URL_OF_PAGE })

const LINES = [
  'The harbour of the old town will be closed to fer-',
  'ries from Monday, the port authority said.',
]
const TEXT =
  'The harbour of the old town will be closed to ferries from Monday, the port authority said.'
const row = (y: number, ...cells: string[]): PlacedText[] =>
  cells.map((text, at) => ({ text, x: 50 + 150 * at, y }))

describe('the text of a PDF', () => {
  it('has headings by their size and words that a line end divides', async () => {
    const { text, headings, markdown } = await readPdf(
      pdfOf([
        [
          { text: 'Harbour report', size: 24, y: 760 },
          { text: 'Repairs', size: 16, y: 726 },
          ...LINES,
        ],
      ]),
    )
    expect(headings).to.deep.equal([
      { level: 1, text: 'Harbour report', id: 'harbour-report' },
      { level: 2, text: 'Repairs', id: 'repairs' },
    ])
    expect(text).to.equal(`Harbour report\n\nRepairs\n\n${TEXT}`)
    expect(markdown).to.equal(`# Harbour report\n\n## Repairs\n\n${TEXT}`)
  })

  it('is without running headers and footers, and keeps other lines there', async () => {
    const pages = [1, 2, 3, 4].map((number) => [
      { text: 'Port authority: report', y: 780 },
      ...LINES,
      { text: `Part ${'ABCD'[number - 1]} of the report`, y: 60 },
      { text: `Page ${number} of 4`, y: 30 },
    ])
    const { text } = await readPdf(pdfOf(pages))
    expect(text).to.equal(
      ['A', 'B', 'C', 'D'].map((part) => `${TEXT}\n\nPart ${part} of the report`).join('\n\n'),
    )
  })

  it('has a table where cells stand below each other', async () => {
    const rows = [
      row(640, 'Line', 'Lands at', 'From'),
      row(620, '7', 'Fish market', 'May'),
      row(600, '8', 'Quay | west', 'June'),
    ]
    const { text, markdown } = await readPdf(pdfOf([[...LINES, ...rows.flat()]]))
    expect(markdown.split('\n\n')[1]).to.equal(
      '| Line | Lands at | From |\n| --- | --- | --- |\n| 7 | Fish market | May |\n' +
        '| 8 | Quay \\| west | June |',
    )
    expect(text).to.include('7 Fish market May\n8 Quay | west June')
  })

  it('is refused as a scan if its pages are images', async () => {
    const scan = Buffer.concat([pdfOf([[]]), Buffer.from('\n% << /Subtype /Image >>')])
    const refusal = await readPdf(scan).catch((error: ExtractionError) => error)
    expect(refusal).to.be.instanceOf(ExtractionError).and.include({ code: 'content_empty' })
    expect((refusal as ExtractionError).message).to.include('scanned')
  })
})
