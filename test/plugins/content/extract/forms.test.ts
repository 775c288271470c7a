import { expect } from 'chai'
import { type Article, ExtractionError, read } from '../../../../plugins/content/extract/index.ts'
import { PARAGRAPHS, page, TEXT, URL_OF_PAGE } from './pages.ts'
import { pdfOf } from './pdf.ts'

const RUSSIAN =
  'Старая гавань будет закрыта для паромов с понедельника, сообщила администрация порта.'

const readAs = (body: string | Uint8Array, contentType?: string): Promise<Article> =>
  read({ body: typeof body === 'string' ? Buffer.from(body) : body, contentType, url: URL_OF_PAGE })

/** Encodes Cyrillic letters as windows-1251. */
const inWindows1251 = (text: string): Uint8Array =>
  Uint8Array.from(text, (letter) => {
    const code = letter.codePointAt(0)!
    return code >= 0x410 && code <= 0x44f ? code - 0x410 + 0xc0 : code
  })

async function refusal(reading: Promise<Article>): Promise<string> {
  try {
    await reading
  } catch (error) {
    if (error instanceof ExtractionError) return error.code
    throw error
  }
  return 'read'
}

describe('document formats', () => {
  const russian = (head: string): Uint8Array =>
    inWindows1251(`<html><head>${head}<title>x</title></head><body><p>${RUSSIAN}</p></body></html>`)

  it('are decoded by the header rather than by what the page declares', async () => {
    const body = russian('<meta charset="utf-8">')
    expect((await readAs(body, 'text/html; charset=windows-1251')).text).to.equal(RUSSIAN)
  })

  it('are decoded by what the page declares if the header is silent', async () => {
    expect((await readAs(russian('<meta charset="windows-1251">'), 'text/html')).text).to.equal(
      RUSSIAN,
    )
    const old = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">'
    expect((await readAs(russian(old), 'text/html; charset=nonsense')).text).to.equal(RUSSIAN)
  })

  it('are decoded as UTF-8 if they are that, whatever an older charset they declare', async () => {
    const body = `<meta charset="gb2312"><title>x</title><p>${RUSSIAN}</p>`
    expect((await readAs(body, 'text/html; charset=windows-1252')).text).to.equal(RUSSIAN)
  })

  it('are decoded from charsets of older Japanese and Hebrew pages', async () => {
    const japanese = '<meta charset="iso-2022-jp"><title>x</title><p>\x1b$B$"$$$&\x1b(B</p>'
    expect((await readAs(japanese, 'text/html')).text).to.equal('あいう')
    const hebrew = Buffer.from(`<title>x</title><p>\xf9\xec\xe5\xed</p>`, 'latin1')
    const read = await readAs(hebrew, 'text/html; charset=iso-8859-8-i')
    expect(read.text).to.equal('שלום')
  })

  it('are decoded by their byte order mark above all', async () => {
    const body = Buffer.from(`\ufeff<meta charset="windows-1251"><p>${RUSSIAN}</p>`, 'utf16le')
    expect((await readAs(body, 'text/html; charset=windows-1251')).text).to.equal(RUSSIAN)
  })

  it('are decoded by detection if nothing is declared', async () => {
    const long = Array.from({ length: 5 }, () => russian('')).flatMap((each) => [...each])
    expect((await readAs(Uint8Array.from(long), 'text/html')).text).to.include(RUSSIAN)
    expect((await readAs(`<p>${RUSSIAN}</p>`, 'text/html')).text).to.equal(RUSSIAN)
  })

  it('are detected by their first bytes if the type is missing or generic', async () => {
    expect((await readAs(page(PARAGRAPHS))).content_type).to.equal('text/html')
    const pdf = await readAs(pdfOf([['Harbour']]), 'application/octet-stream')
    expect(pdf.content_type).to.equal('application/pdf')
  })

  it('include PDF: the text of all pages, with the file’s metadata', async () => {
    const body = pdfOf(
      [
        ['The harbour is closed.', 'Divers found cracks.'],
        ['Ships land at', 'the fish market.'],
      ],
      { Title: 'Harbour report', Author: 'Mara Holm', CreationDate: "D:20260504073000+02'00'" },
    )
    const article = await readAs(body, 'application/pdf')
    expect(article).to.include({
      title: 'Harbour report',
      byline: 'Mara Holm',
      published_at: '2026-05-04T07:30:00+02:00',
      word_count: 13,
    })
    expect(article.text.split('\n\n').map((each) => each.replaceAll('\n', ' '))).to.deep.equal([
      'The harbour is closed. Divers found cracks.',
      'Ships land at the fish market.',
    ])
  })

  it('include plain text and JSON', async () => {
    const plain = await readAs(`Harbour closed\r\n\r\n${RUSSIAN}\r\n`, 'text/plain; charset=utf-8')
    expect(plain).to.include({ title: 'Harbour closed', text: `Harbour closed\n\n${RUSSIAN}` })
    const json = await readAs('{"pillars":[1,2]}', 'application/ld+json')
    expect(json.text).to.equal('{\n  "pillars": [\n    1,\n    2\n  ]\n}')
    expect(json.markdown).to.match(/^```json\n\{/)
  })

  it('are refused with a code if unsupported, damaged or without text', async () => {
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0])
    expect(await refusal(readAs(png, 'image/png'))).to.equal('content_type_unsupported')
    expect(await refusal(readAs(png))).to.equal('content_type_unsupported')
    expect(await refusal(readAs('%PDF-1.7 nothing more', 'application/pdf'))).to.equal(
      'content_unreadable',
    )
    expect(await refusal(readAs('{"a":', 'application/json'))).to.equal('content_unreadable')
    expect(await refusal(readAs(pdfOf([[]]), 'application/pdf'))).to.equal('content_empty')
    expect(await refusal(readAs('<body><nav>Home</nav><p> </p>', 'text/html'))).to.equal(
      'content_empty',
    )
    expect(await refusal(readAs(' \n', 'text/plain'))).to.equal('content_empty')
  })

  it('give the same result in a worker and in the caller’s thread', async () => {
    expect((await readAs(page(PARAGRAPHS), 'text/html')).text).to.equal(TEXT)
  })
})
