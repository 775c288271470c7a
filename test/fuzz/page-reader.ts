import { load } from 'cheerio'

/** Form of a page that is submitted by POST. */
export interface FoundForm {
  readonly to: string
  readonly fields: Readonly<Record<string, string>>
}

/** Links within the hub and forms of a page. */
export function readPage(
  text: string,
  path: string,
): { readonly links: readonly string[]; readonly forms: readonly FoundForm[] } {
  const $ = load(text)
  const resolve = (link: string) => {
    const url = new URL(link, `http://hub${path}`)
    return url.host === 'hub' ? `${url.pathname}${url.search}` : undefined
  }
  const links = $('a[href]')
    .toArray()
    .map((each) => resolve($(each).attr('href')!))
    .filter((link) => link !== undefined && !/^\/(?:assets|v1|proxy|downloads)\//.test(link))
  const gets = $('form:not([method=post])')
    .toArray()
    .map((each) => {
      const query = new URLSearchParams()
      for (const field of $(each).find('[name]').toArray()) {
        query.append($(field).attr('name')!, valueOf($(field)))
      }
      return resolve(`${$(each).attr('action') ?? path}?${query.toString()}`)
    })
  const forms = $('form[method=post]')
    .toArray()
    .map((each) => ({
      to: resolve($(each).attr('action') ?? path) ?? path,
      fields: Object.fromEntries(
        $(each)
          .find('[name]')
          .toArray()
          .map((field) => [$(field).attr('name')!, valueOf($(field))]),
      ),
    }))
  return { links: [...new Set([...links, ...gets])].filter((link) => link !== undefined), forms }
}

interface Field {
  attr(name: string): string | undefined
  text(): string
  find(selector: string): { attr(name: string): string | undefined }
  is(selector: string): boolean
}

function valueOf(field: Field): string {
  if (field.is('select')) return field.find('option').attr('value') ?? ''
  if (field.is('textarea')) return field.text()
  return field.attr('value') ?? ''
}
