import type { Random } from '../conservation/random.ts'
import type { FoundForm } from './page-reader.ts'

export interface OddRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly body?: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** True for a link of a page, which must lead to a page. */
  readonly expected?: true
}

const FORM = 'application/x-www-form-urlencoded'

/** Values that people, programs and attackers send in place of what a page expects. */
const ODD_VALUES: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '1.5',
  '0.0000001',
  '1e3',
  '1,000',
  '99999999999999999999999999',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  'Infinity',
  '0x10',
  'true',
  'null',
  '__proto__',
  'constructor',
  '2026-02-30',
  '2026-13',
  '2026-00-00',
  '0000-01-01',
  '9999-12-31',
  '10000-01-01',
  '2026-11-21T25:00:00Z',
  '275760-09-13T00:00:00.001Z',
  '2026-Q5',
  '٣',
  'Ünïcode — 東京 \u{1F6A2}',
  '\u202egnp.exe',
  '\u0000',
  '\u0007',
  '\uFFFD',
  "'; DROP TABLE journal; --",
  '<script>alert(1)</script>',
  '%',
  '_%_',
  '../../etc/passwd',
  '//evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  '{"a":1}',
  '[1]',
  'a\r\nSet-Cookie: x=1',
  '019e0000-0000-7000-8000-000000000000',
  `0x${'0'.repeat(64)}`,
  `0x${'0'.repeat(40)}`,
  'x'.repeat(10_000),
]

/** Parameters of lists, which pages may or may not have. */
const COMMON = [
  'cursor',
  'limit',
  'page',
  'from',
  'to',
  'month',
  'edit',
  'done',
  'q',
  'state',
  'id',
]

const withQuery = (path: string, query: string): string => `${path.split('?')[0]}?${query}`

/** Requests for a page with odd query parameters: changed, repeated, added. */
export function oddQueries(path: string, random: Random): readonly OddRequest[] {
  const { searchParams } = new URL(path, 'http://hub')
  const names = [...new Set([...searchParams.keys(), ...COMMON])]
  return names.flatMap((name) => {
    const own = new URLSearchParams(searchParams)
    const values = ODD_VALUES.map((value) => {
      own.set(name, value)
      return own.toString()
    })
    const value = own.get(name) ?? ''
    const repeated = [`${name}=${encodeURIComponent(searchParams.get(name) ?? '1')}&${name}=2`]
    const raw = [`${name}=%`, `${name}=%ff`, name, `${name}[]=1`, `${name}[a]=1`]
    // Known parameters are sent each odd value, unknown ones some.
    const some = searchParams.has(name) ? values : values.filter(() => random.chance(0.2))
    return [...some, ...repeated, ...raw, `${value}&&&`]
      .filter((query) => query.length < 12_000)
      .map((query) => ({ method: 'GET', path: withQuery(path, query) }))
  })
}

/** Requests with wrong methods, and paths with ids of others or odd ones in place of its ids. */
export function oddRequests(path: string, ids: readonly string[]): readonly OddRequest[] {
  const [place = ''] = path.split('?')
  const parts = place.split('/')
  const last = parts.length - 1
  const replaced = (value: string): OddRequest => ({
    method: 'GET',
    path: [...parts.slice(0, last), value].join('/') || '/',
  })
  const paths =
    parts.length < 4
      ? []
      : [...ids, ...ODD_VALUES.filter((value) => value !== '' && value !== ' ')].map((value) =>
          replaced(encodeURIComponent(value.toWellFormed())),
        )
  return [
    ...['POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'].map((method) => ({ method, path })),
    ...paths,
    { method: 'GET', path: `${place}/` },
    { method: 'GET', path: `${place}/%ff` },
    { method: 'POST', path, body: '', type: FORM },
    { method: 'POST', path, body: 'act=no_such_form', type: FORM },
    { method: 'POST', path, body: 'act=__proto__', type: FORM },
    { method: 'POST', path, body: '{"act":1}', type: 'application/json' },
    { method: 'POST', path, body: '[', type: 'application/json' },
    { method: 'POST', path, body: 'a=1', type: 'text/plain' },
    { method: 'POST', path, body: 'a=1', type: 'application/xml' },
    { method: 'POST', path, body: '--x', type: 'multipart/form-data; boundary=x' },
    { method: 'POST', path, body: 'a', type: 'multipart/form-data' },
  ]
}

interface FormOptions {
  readonly ids: readonly string[]
  readonly random: Random
}

/** Submissions of the forms of a page with odd values, missing and repeated fields. */
export const oddForms = (
  path: string,
  forms: readonly FoundForm[],
  { ids, random }: FormOptions,
): readonly OddRequest[] =>
  forms
    .filter(({ fields }) => !isSkipped(fields['act']))
    .flatMap(({ to, fields }) => {
      const send = (body: URLSearchParams | string, headers?: OddRequest['headers']) => ({
        method: 'POST',
        path: to.split('#')[0] || path,
        body: String(body),
        type: FORM,
        ...(headers && { headers }),
      })
      const names = Object.keys(fields).filter((name) => name !== 'act')
      const withValue = (name: string, value: string) =>
        send(new URLSearchParams({ ...plausible(fields), [name]: value.toWellFormed() }))
      const all = new URLSearchParams(plausible(fields)).toString()
      return [
        ...names.flatMap((name) => [
          ...[...ODD_VALUES, ...ids]
            .filter(() => random.chance(0.5))
            .map((value) => withValue(name, value)),
          send(new URLSearchParams(Object.entries(plausible(fields)).filter(([n]) => n !== name))),
          send(`${all}&${name}=again`),
        ]),
        send(`${all}&no_such_field=1`),
        send(all, { origin: 'https://evil.example' }),
        send(all, { origin: 'null' }),
        send(`act=${fields['act'] ?? ''}`),
      ]
    })

/** Forms that end the session of the fuzzer itself. */
const isSkipped = (act = ''): boolean => /sign.?out|end|close/.test(act)

/** Fills empty fields, so that one odd value among good ones reaches the handler. */
const plausible = (fields: FoundForm['fields']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value || guessValue(name)]),
  )

function guessValue(name: string): string {
  if (/amount|usd|dollars|price|max_|limit/.test(name)) return '0.01'
  if (/email/.test(name)) return 'someone@example.test'
  if (/url/.test(name)) return 'http://agent.test/hook'
  if (/day|date|until|from|to$|expires/.test(name)) return '2027-01-31'
  if (/transaction|hash/.test(name)) return `0x${'1'.repeat(64)}`
  if (/wallet|address/.test(name)) return `0x${'1'.repeat(40)}`
  return 'A plausible text.'
}
