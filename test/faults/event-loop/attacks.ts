import { CONTAINERS_MAX, MEMBERS_MAX } from '../../../server/http/body.ts'
import type { Document, Operation } from '../../fuzz/response-checker.ts'
import type { Schema } from '../../fuzz/values.ts'

export interface Attack {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent without a key. */
  readonly isAnonymous?: boolean
  /** Text of a JSON body. */
  readonly body?: string
}

/** Texts that, repeated, make patterns and parsers backtrack. */
const PIECES: readonly string[] = [
  ...Array.from(' \t\n\r-.,;:/\\"\'`<>&=%@([{}])#_*+?!|$~aA0é😀\u0301\u200b١'),
  ...(
    'a.·a-·a,·a ·a=·0.·1,·0-· a· 0·-a·--·..·//·://·http://·x@x.·<a ·<a><b>·<!--·</a·&#·%2·0x·' +
    'ahk_·Ab. ·\r\n·"a":·$1·EUR ·1 ·January ·not ·a\'·(a·a)·**·[a](·| ·1e'
  ).split('·'),
]
const STRING_LENGTH = 65_536
const BODY_LENGTH = 500_000
/** Room in 32 KiB of headers. */
const QUERY_LENGTH = 12_000
const HEADER_LENGTH = 24_000

const fill = (piece: string, length: number): string =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length)

interface Sizes {
  /** Maximum length of a string that the schema does not limit, or of any string. */
  readonly length: number
  /** True if the limits of the schema apply. */
  readonly permitted: boolean
}

/** Returns the worst value of a schema: all members, all strings filled with a piece. */
function worstValue(schema: Schema & LengthLimits, piece: string, sizes: Sizes): unknown {
  const { enum: allowed, anyOf, oneOf, properties, items } = schema
  if (schema.const !== undefined) return schema.const
  if (allowed) return allowed[0]
  const [choice] = anyOf ?? oneOf ?? []
  if (choice) return worstValue(choice, piece, sizes)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  if (type === 'integer' || type === 'number') return schema.maximum ?? 1e308
  if (type === 'boolean') return true
  if (type === 'array') {
    const count = Math.min(schema.maxItems ?? 100, 100)
    const inner = { ...sizes, length: Math.ceil(sizes.length / count) }
    return Array.from({ length: count }, () => worstValue(items ?? {}, piece, inner))
  }
  if (type === 'object' || properties) {
    const members = Object.entries(properties ?? { a: {} })
    return Object.fromEntries(members.map(([name, each]) => [name, worstValue(each, piece, sizes)]))
  }
  const limit = sizes.permitted ? (schema['x-maxBytes'] ?? schema.maxLength) : undefined
  return fill(piece, Math.min(limit ?? sizes.length, sizes.length))
}

interface LengthLimits {
  readonly 'x-maxBytes'?: number
}

const list = (item: string, count = Math.floor(BODY_LENGTH / (item.length + 1))): string =>
  `[${Array<string>(count).fill(item).join()}]`
/** An object of unordered names. */
const names = (count: number, ending = ''): string =>
  `{${Array.from({ length: count }, (_, n) => `"n${(n * 7_919) % count}${ending}":0`).join()}}`
const distinctObjects = (count: number): string =>
  `[${Array.from({ length: count }, (_, n) => `{"n${n}":0}`).join()}]`
const numbers = (count: number): string =>
  `{${Array.from({ length: count }, (_, n) => `"${(n * 100_003) % 4_294_967_291}":0`).join()}}`

/** JSON texts of the permitted size that are deep, wide or repetitive. */
const STRUCTURES: Readonly<Record<string, string>> = {
  zeros: list('0'),
  'too many empty objects': list('{}'),
  'empty objects': list('{}', CONTAINERS_MAX - 16),
  'empty lists': list('[]', CONTAINERS_MAX - 16),
  'equal objects': list('{"a":{"b":[1,2,3]}}', MEMBERS_MAX / 2 - 16),
  'objects of one name each': distinctObjects(MEMBERS_MAX - 16),
  'empty texts': list('""'),
  'deep lists': list(`${'['.repeat(56)}${']'.repeat(56)}`, Math.floor(CONTAINERS_MAX / 56) - 1),
  'deep objects': list(`${'{"a":'.repeat(56)}0${'}'.repeat(56)}`, Math.floor(MEMBERS_MAX / 56) - 1),
  'too many names': names(40_000),
  'many names': names(MEMBERS_MAX - 16),
  'many long names': names(MEMBERS_MAX - 16, 'x'.repeat(36)),
  'many escaped names': names(MEMBERS_MAX - 16, '\\u0041'.repeat(6)),
  'many numbers as names': numbers(MEMBERS_MAX - 16),
  'a member twice': `{${fill('"a":1,', MEMBERS_MAX * 6).slice(0, -1)}}`,
  'a long number': `[${'9'.repeat(BODY_LENGTH)}]`,
  'small numbers': list('1e-999'),
  'a long text': JSON.stringify('x'.repeat(BODY_LENGTH)),
  'escaped text': `"${'\\u0041'.repeat(BODY_LENGTH / 6)}"`,
  'an endless list': '['.repeat(BODY_LENGTH),
  quotes: '"'.repeat(BODY_LENGTH),
}

/** Forms of the permitted size. */
const FORMS: Readonly<Record<string, string>> = {
  'too many fields': Array.from({ length: 60_000 }, (_, n) => `n${n}=1`).join('&'),
  'many fields': Array.from({ length: 1_000 }, (_, n) => `n${n}${'x'.repeat(490)}=1`).join('&'),
  'one field often': fill('a=1&', BODY_LENGTH),
  escapes: `a=${fill('%41', BODY_LENGTH)}`,
  separators: fill('&', BODY_LENGTH),
}

/** Attacks on a path that accepts forms. */
export const formAttacks = (path: string): readonly Attack[] =>
  Object.entries(FORMS).map(([what, body]) => ({
    what: `a form of ${what}`,
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  }))

/** Every eighth text attacks one operation or member; its name determines which. */
const STRIDE = 8
const rotate = <T>(all: readonly T[], seed: string): readonly T[] =>
  all.filter((_, n) => n % STRIDE === seed.length % STRIDE)

const within = (text: string): boolean => Buffer.byteLength(text) <= 524_288

/** Bodies of an operation: structures as a whole and in members, and the worst values. */
function worstBodies(
  schema: Schema,
  seed: string,
): readonly (readonly [what: string, body: string])[] {
  const all = Object.entries(STRUCTURES)
  const members = Object.keys(schema.properties ?? {}).flatMap((name) =>
    rotate(all, seed + name).map(
      ([what, text]) => [`${what} as ${name}`, `{${JSON.stringify(name)}:${text}}`] as const,
    ),
  )
  const texts = rotate(PIECES, seed).flatMap((piece) =>
    [true, false].map((permitted) => {
      const value = worstValue(schema, piece, { length: STRING_LENGTH, permitted })
      return [`${JSON.stringify(piece)} repeated`, JSON.stringify(value)] as const
    }),
  )
  return [...all, ...members, ...texts].filter(([, text]) => within(text))
}

/** Attacks on an operation by its body, query and path. */
function attacksOn(path: string, method: string, operation: Operation): readonly Attack[] {
  const plain = { method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, 'x') }
  const [media] = Object.values(operation.requestBody?.content ?? {})
  const bodies = media ? worstBodies(media.schema, path) : []
  const query = (operation.parameters ?? []).filter((each) => each.in === 'query')
  const texts = (seed: string) =>
    rotate(PIECES, seed).map((piece) => ({
      piece,
      what: JSON.stringify(piece),
      encoded: encodeURIComponent(piece).repeat(
        Math.floor(QUERY_LENGTH / encodeURIComponent(piece).length),
      ),
    }))
  return [
    ...bodies.map(([what, body]) => ({ ...plain, what, body })),
    ...query.flatMap(({ name }) =>
      texts(path + name).map(({ what, encoded }) => ({
        ...plain,
        what: `${what} repeated in ?${name}`,
        path: `${plain.path}?${name}=${encoded}`,
      })),
    ),
    ...(query.length > 0
      ? [{ ...plain, what: 'many parameters', path: `${plain.path}?${'a=1&'.repeat(5_000)}` }]
      : []),
    ...(path.includes('{')
      ? texts(path).map(({ what, encoded }) => ({
          ...plain,
          what: `${what} repeated in the path`,
          path: path.replaceAll(/\{\w+\}/g, () => encoded),
        }))
      : []),
  ]
}

/** Headers that the hub interprets. */
const HEADERS = (
  'accept accept-encoding authorization x-api-key cookie content-type origin host ' +
  'idempotency-key x-quote-id x-max-price x-dry-run crawler-max-price payment-signature ' +
  'traceparent tracestate ' +
  'x-request-id x-forwarded-for prefer if-none-match if-modified-since range user-agent ' +
  'sec-fetch-site via'
).split(' ')

const HEADER_PIECES = PIECES.filter((piece) => /^[\t\x20-\x7e]+$/.test(piece))

const headerAttack = (method: string, path: string, name: string, piece: string): Attack => ({
  what: `${JSON.stringify(piece)} repeated in ${name}`,
  method,
  path,
  headers: { [name]: `a${fill(piece, HEADER_LENGTH)}b` },
})

/** Attacks by each header on all operations of the API document, with a text that changes. */
export const documentHeaderAttacks = ({ paths }: Document): readonly Attack[] =>
  Object.entries(paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ path, method })))
    .flatMap(({ path, method }, n) =>
      HEADERS.map((name, i) => {
        const piece = HEADER_PIECES[(n + i) % HEADER_PIECES.length]!
        return headerAttack(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), name, piece)
      }),
    )

/** Attacks by headers on one path, with all texts. */
export const headerAttacks = (path: string, method = 'GET'): readonly Attack[] => [
  ...HEADERS.flatMap((name) =>
    HEADER_PIECES.map((piece) => headerAttack(method, path, name, piece)),
  ),
  ...['[', '{"a":', '0,'].map((piece) => ({
    what: `${piece} as payment`,
    method,
    path,
    headers: { 'payment-signature': Buffer.from(fill(piece, 18_000)).toString('base64') },
  })),
  {
    what: 'many headers',
    method,
    path,
    headers: Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`x-${n}`, 'a'])),
  },
]

/** Attacks on all operations of the API document. */
export const documentAttacks = ({ paths }: Document): readonly (readonly Attack[])[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => attacksOn(path, method, operation)),
  )

const paramsOf = (name: string, text: string): string =>
  `"params":{"name":"${name}","arguments":${text}}`

/** Attacks on the tools of MCP by their arguments. */
export const toolAttacks = (
  tools: readonly { readonly name: string; readonly inputSchema: Schema }[],
): readonly (readonly Attack[])[] =>
  tools.map(({ name, inputSchema }) =>
    worstBodies(inputSchema, name).map(([what, text]) => ({
      what: `${what} for ${name}`,
      method: 'POST',
      path: '/mcp',
      headers: { accept: 'application/json, text/event-stream' },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call",${paramsOf(name, text)}}`,
    })),
  )
