import { type Article, type Document, ExtractionError, type ExtractOptions } from './article.ts'
import { decode } from './charset.ts'
import { extract } from './extract.ts'
import { detectFormat, typeOf } from './format.ts'
import { readPdf } from './pdf.ts'
import { readJson, readPlain } from './plain.ts'

/** Maximum bytes of a document of any format. */
const BYTES_MAX = 20 * 1024 * 1024

/** Reads a document according to its format, in the current thread. */
export async function readDocument(
  { body, contentType, url }: Document,
  options: ExtractOptions = {},
): Promise<Article> {
  if (body.length > BYTES_MAX) {
    throw new ExtractionError('content_unreadable', `The document is over ${BYTES_MAX} bytes.`)
  }
  const type = typeOf(contentType)
  switch (detectFormat(body, contentType)) {
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
