import { type Article, type Document, ExtractionError, type ExtractOptions } from './article.ts'
import { decode } from './charset.ts'
import { extract } from './extract.ts'
import { formOf, typeOf } from './form.ts'
import { readPdf } from './pdf.ts'
import { readJson, readPlain } from './plain.ts'

/** Bytes of a document, whatever it is. */
const BYTES_MAX = 20 * 1024 * 1024

/** Reads a document by its form, in this very thread. */
export async function readHere(
  { body, contentType, url }: Document,
  options: ExtractOptions = {},
): Promise<Article> {
  if (body.length > BYTES_MAX) {
    throw new ExtractionError('content_unreadable', `The document is over ${BYTES_MAX} bytes.`)
  }
  const type = typeOf(contentType)
  switch (formOf(body, contentType)) {
    case 'html':
      return extract(decode(body, contentType), url, options)
    case 'pdf':
      return readPdf(body, url)
    case 'json':
      return readJson(decode(body, contentType), url, type)
    case 'text':
      return readPlain(decode(body, contentType), url, type || 'text/plain')
    case 'other':
      throw new ExtractionError(
        'content_type_unsupported',
        `A document of type ${type || 'unknown'} is not read; HTML, PDF, JSON and text are.`,
      )
  }
}
