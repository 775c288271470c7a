/** Text placed on a page; without a place it follows the lines above. */
export interface PlacedText {
  readonly text: string
  readonly x?: number
  readonly y?: number
  readonly size?: number
}

/**
 * Creates a small PDF: pages of ASCII lines in Helvetica.
 * @param info document properties such as Title
 */
export function pdfOf(
  pages: readonly (readonly (string | PlacedText)[])[],
  info: Readonly<Record<string, string>> = {},
): Uint8Array {
  const string = (text: string): string => `(${text.replace(/[\\()]/g, '\\$&')})`
  const fields = Object.entries(info).map(([name, value]) => `/${name} ${string(value)}`)
  const kids = pages.map((_, at) => `${5 + 2 * at} 0 R`)
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    `<< ${fields.join(' ')} >>`,
    ...pages.flatMap((lines, at) => {
      const texts = lines.map((line, row) => {
        const placed: PlacedText = typeof line === 'string' ? { text: line } : line
        const { text, x = 50, y = 700 - 20 * row, size = 12 } = placed
        return `/F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm ${string(text)} Tj`
      })
      const stream = `BT ${texts.join(' ')} ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${6 + 2 * at} 0 R
          /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ]
    }),
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, at) => {
    const offset = file.length
    file += `${at + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`)
  const size = objects.length + 1
  const trailer = `trailer << /Size ${size} /Root 1 0 R /Info 4 0 R >>`
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${rows.join('')}`
  return Buffer.from(`${file}${table}${trailer}\nstartxref\n${file.length}\n%%EOF`, 'latin1')
}
