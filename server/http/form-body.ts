import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/errors.ts'
import { FIELDS_MAX, readJson, readUnencoded, rejectForbiddenKeys, tooMany } from './body.ts'
import { readSingleHeader } from './exchange.ts'

/** Members of a form body as texts, those that came several times as lists; files as Base64. */
export class FormBody {
  readonly values: Readonly<Record<string, string | readonly string[]>>
  constructor(values: FormBody['values']) {
    this.values = values
  }
}

/** Returns true for the media types of HTML forms. */
export const isFormType = (type: string | undefined): boolean =>
  /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\s*(?:;|$)/i.test(type ?? '')

/**
 * Reads a form of texts, as browsers and mail programs send it, or JSON. Each field may come once.
 * @throws Fault as `readJson` and `readFormBody` do
 */
export async function readForm(request: IncomingMessage): Promise<unknown> {
  const type = readSingleHeader({ req: request }, 'content-type')
  if (!isFormType(type)) return readJson(request)
  const fields = [...(await parseForm(request, type!))]
  if (fields.some(([, value]) => typeof value !== 'string')) {
    throw new Fault('validation_failed', 'The form has a file.')
  }
  const value = Object.fromEntries(fields)
  if (Object.keys(value).length !== fields.length) {
    throw new Fault('validation_failed', 'A field of the form came twice.')
  }
  rejectForbiddenKeys(value)
  return value
}

/**
 * Reads a form of either media type.
 * @throws Fault as `readJson` does, `validation_failed` for a form that cannot be parsed
 */
export async function readFormBody(request: IncomingMessage): Promise<FormBody> {
  const form = await parseForm(request, request.headers['content-type'] ?? '')
  const fields = await Promise.all(
    [...form].map(async ([name, value]) => [name, await textOf(value)]),
  )
  const byName = Map.groupBy(fields, ([name = '']) => name)
  const values = Object.fromEntries(
    [...byName].map(([name, found]) => {
      const texts = found.map(([, text = '']) => text)
      return [name, texts.length === 1 ? texts[0]! : texts]
    }),
  )
  rejectForbiddenKeys(values)
  return new FormBody(values)
}

/** @throws Fault as `readFormBody` does */
async function parseForm(request: IncomingMessage, type: string): Promise<FormData> {
  const bytes = await readUnencoded(request)
  assertFewFields(bytes, type)
  return new Response(bytes, { headers: { 'content-type': type } })
    .formData()
    .catch((cause: unknown): never => {
      throw new Fault('validation_failed', 'The form cannot be parsed.', { cause })
    })
}

/** Counts what separates the fields before they are parsed. @throws Fault `body_too_large` */
function assertFewFields(bytes: Buffer, type: string): void {
  const isMultipart = /^multipart/i.test(type)
  const [, boundary = ''] = /;\s*boundary="?([^";]{1,70})/i.exec(type) ?? []
  const separator = isMultipart ? `--${boundary}` : '&'
  // The fields of a multipart form are between boundaries.
  const max = isMultipart ? FIELDS_MAX + 1 : FIELDS_MAX - 1
  let count = 0
  for (let at = bytes.indexOf(separator); at !== -1; at = bytes.indexOf(separator, at + 1)) {
    if (++count > max) throw tooMany('fields', FIELDS_MAX)
  }
}

const textOf = async (value: string | File): Promise<string> =>
  typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()).toString('base64')
